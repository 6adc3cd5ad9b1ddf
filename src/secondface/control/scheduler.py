"""Who works on what: leases for workers, and the sweep that takes them back.

`LeaseDesk` is the port that workers see. Every answer of theirs is one transaction: a zombie's changes no row, so it
brings no result, no bill and no webhook. Must not know how workers are made or how they are reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from secondface.control.settlement import Settlement
from secondface.domain import jobs
from secondface.domain.accounts import Actor
from secondface.domain.billing import passes_limit
from secondface.domain.findings import Finding
from secondface.domain.jobs import Change, Job, Lease, Retries, Segment
from secondface.domain.ports import NO_FACTS, Doorbell, Facts, Grant, Offer, Orders, Transactions
from secondface.domain.pricing import Usage

_SWEPT_AT_ONCE = 100
_SWEEP, _FLEET = Actor("sweep"), Actor("fleet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How often a worker is to be heard of, in ms."""

    lease_ms: int = 15_000
    heartbeat_ms: int = 1_000


class LeaseDesk:
    """What workers may ask (`domain.ports.Leases`)."""

    def __init__(
        self, transactions: Transactions, settlement: Settlement, doorbell: Doorbell,
        retries: Retries | None = None, times: Times | None = None,
    ) -> None:  # fmt: skip
        self._transactions, self._settlement, self._doorbell = transactions, settlement, doorbell
        self._retries, self._times = retries or Retries(), times or Times()

    def claim(self, offer: Offer) -> Grant | None:
        with self._transactions.begin() as work:
            found = work.jobs.claim(offer)
            if found is None:
                return None
            job, events = found
            work.journal.record(job.account, Actor(f"worker:{offer.worker}"), events)
        return Grant(
            lease=jobs.lease_of(job), account=job.account, tier=job.tier, spec=job.spec, segments=job.segments,
            deadline_ms=job.deadline_ms, alone=job.suspect,
        )  # fmt: skip

    def beat(self, lease: Lease, usage: Usage, done_frames: int = 0, total_frames: int = 0) -> Orders:
        def change(job: Job, at_ms: int) -> Change:
            started, events = jobs.start(job, lease, at_ms)
            alive, more = jobs.beat(
                started, lease, at_ms, self._times.lease_ms, usage, done=done_frames, total=total_frames
            )  # fmt: skip
            late, reasons = jobs.expire(alive, at_ms)
            if not late.stop_asked and passes_limit(late, self._times.heartbeat_ms):
                late, reasons = jobs.limit_cost(late, at_ms)
            return late, (*events, *more, *reasons)

        job = self._change(lease, change)
        return Orders(until_ms=jobs.lease_of(job).until_ms, stop=job.stop_asked)

    def cut(self, lease: Lease, count: int) -> tuple[Segment, ...]:
        return self._change(lease, lambda job, _: jobs.cut(job, lease, count)).segments

    def finish_segment(self, lease: Lease, usage: Usage, *, index: int, active_ms: int, result: str) -> None:
        self._change(
            lease,
            lambda job, at_ms: jobs.finish_segment(
                job, lease, at_ms, usage, index=index, active_ms=active_ms, result=result
            ),
        )

    def succeed(
        self, lease: Lease, usage: Usage, result: str, findings: tuple[Finding, ...] = (), *, facts: Facts = NO_FACTS
    ) -> None:
        def change(job: Job, at_ms: int) -> Change:
            if findings:
                return jobs.hold(job, lease, at_ms, usage, result, findings, facts=facts)
            return jobs.succeed(job, lease, at_ms, usage, result, facts=facts)

        self._change(lease, change)

    def fail(
        self, lease: Lease, usage: Usage, *, error: str, fault: Literal["caller", "provider"], retryable: bool,
        findings: tuple[Finding, ...] = (),
    ) -> None:  # fmt: skip
        self._change(
            lease,
            lambda job, at_ms: jobs.fail(
                jobs.found(job, findings), lease, at_ms, usage, error, fault, retryable=retryable,
                retries=self._retries,
            ),
        )  # fmt: skip

    def crash(self, lease: Lease, usage: Usage) -> None:
        job = self._change(lease, lambda job, at_ms: jobs.crash(job, lease, at_ms, usage, self._retries))
        self._ring(job)

    def preempt(self, lease: Lease, usage: Usage) -> None:
        job = self._change(lease, lambda job, at_ms: jobs.preempt(job, lease, at_ms, usage, self._retries))
        self._ring(job)

    def stop(self, lease: Lease, usage: Usage) -> None:
        self._change(lease, lambda job, at_ms: jobs.stop(job, lease, at_ms, usage))

    # ---- what is taken from workers ----------------------------------------------------------------------------------

    def sweep(self) -> int:
        """Take jobs from workers that went silent, and end those that are too late; returns how many changed."""
        with self._transactions.sole("sweep") as mine:
            if not mine:
                return 0
            with self._transactions.view() as work:
                due = work.jobs.overdue(_SWEPT_AT_ONCE)
            return sum(self._judge(job_id) for job_id in due)

    def worker_crashed(self, worker: str) -> int:
        """Take everything from a worker that was seen to die, without waiting for its leases; returns how many."""
        with self._transactions.view() as work:
            held = [job for job in work.jobs.page(None, ["running"], limit=10_000) if _worker(job) == worker]
        return sum(self._take_back(job.id, worker) for job in held)

    def _judge(self, job_id: str) -> bool:
        """One transaction a job: a sweep that dies halfway has ended half of them, and none in part."""
        with self._transactions.begin() as work:
            job, now_ms = work.jobs.lock(job_id), work.now_ms()
            change = jobs.expire(job, now_ms)
            if job.current is not None and job.current.lease_until_ms <= now_ms:
                late, events = change
                lost, more = jobs.lose(late, job.current.number, now_ms, "silent", self._retries)
                change = lost, (*events, *more)
            after = self._settlement.apply(work, job, change, _SWEEP)
        self._ring(after)
        return after != job

    def _take_back(self, job_id: str, worker: str) -> bool:
        with self._transactions.begin() as work:
            job = work.jobs.lock(job_id)
            if job.current is None or _worker(job) != worker:
                return False
            change = jobs.lose(job, job.current.number, work.now_ms(), "crashed", self._retries)
            after = self._settlement.apply(work, job, change, _FLEET)
        self._ring(after)
        return True

    def _change(self, lease: Lease, change: Callable[[Job, int], Change]) -> Job:
        with self._transactions.begin() as work:
            job = work.jobs.lock(lease.job_id)
            return self._settlement.apply(work, job, change(job, work.now_ms()), Actor(f"worker:{lease.worker}"))

    def _ring(self, job: Job) -> None:
        if job.state == "queued":
            self._doorbell.ring(job.tier)


def _worker(job: Job) -> str | None:
    return job.current.worker if job.current else None
