"""From a job to its bill: which attempt ended how, who pays for it, and what it would cost to go on.

Decides how states of `jobs` read as words of `pricing`. Must not know ledgers or stores.
"""

from __future__ import annotations

from secondface.domain import pricing
from secondface.domain.jobs import Attempt, Job
from secondface.domain.pricing import Ended, Receipt, receipt


def ended_as(attempt: Attempt) -> Ended:
    """How an attempt ended, as the bill sees it; one that still runs reads as if the caller stopped it now."""
    match attempt.state:
        case "succeeded":
            return "succeeded"
        case "failed":
            return "failed_by_caller" if attempt.fault == "caller" else "failed_by_provider"
        case "lost":
            return "lost"
        case "preempted":
            return "preempted"
        case "cancelled" if attempt.cause == "deadline":
            return "failed_by_provider"  # too late is ours to carry: the caller has nothing to show for it
        case _:
            return "cancelled_by_caller"


def billable(job: Job) -> tuple[pricing.Attempt, ...]:
    """All attempts for the receipt. Segments of earlier attempts count where the last one, which reuses them, does."""
    if not job.attempts:
        return ()
    last = job.attempts[-1]
    # Nobody looked at a held result before its deadline: as late as any other, and ours to carry.
    too_late = job.state == "expired"
    reuses = not too_late and ended_as(last) in pricing.CALLER_PAYS
    return tuple(
        pricing.Attempt(
            attempt.number, attempt.usage, "failed_by_provider" if too_late else ended_as(attempt),
            _segments_ms(job, attempt) if reuses and attempt is not last else 0,
        )
        for attempt in job.attempts
    )  # fmt: skip


def bill(job: Job) -> Receipt:
    """The receipt so far; final once the job has ended. Never above what was held for it or its max_cost_micros."""
    bounds = [job.hold_micros] if job.max_cost_micros is None else [job.hold_micros, job.max_cost_micros]
    return receipt(billable(job), job.price, job.currency, bound_micros=min(bounds))


def passes_limit(job: Job, ahead_ms: int) -> bool:
    """Whether going on for `ahead_ms` device-active ms could cost more than max_cost_micros."""
    if job.max_cost_micros is None:
        return False
    affordable_ms = job.price.affordable_ms(job.max_cost_micros)
    return affordable_ms is not None and receipt(billable(job), job.price).charged_ms + ahead_ms > affordable_ms


def _segments_ms(job: Job, attempt: Attempt) -> int:
    return sum(each.active_ms for each in job.segments if each.state == "done" and each.attempt == attempt.number)
