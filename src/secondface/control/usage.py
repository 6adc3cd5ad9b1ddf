"""What an account's jobs of a stretch of time consumed and cost, summed up."""

from __future__ import annotations

from collections import Counter

from secondface.domain.billing import bill
from secondface.domain.ports import UnitOfWork
from secondface.spec.views import UsageView

_PAGE = 200
_MOST_JOBS = 20_000


def usage_of(work: UnitOfWork, account: str, from_ms: int, until_ms: int) -> UsageView:
    """The sum over jobs that were created from `from_ms` on and before `until_ms`."""
    states: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    after, read, currency = None, 0, "CNY"
    complete = True
    while page := work.jobs.page(account, after=after, limit=_PAGE):
        for job in page:
            if not from_ms <= job.created_ms < until_ms:
                continue
            receipt, currency = bill(job), job.currency
            states[job.state] += 1
            sums.update(attempts=len(job.attempts), charged_s=receipt.charged_s, total_micros=receipt.total_micros)
            for attempt in job.attempts:
                usage = attempt.usage
                sums.update(wall_ms=usage.wall_ms, device_active_ms=usage.device_active_ms, frames=usage.frames)
        after, read = page[-1].id, read + len(page)
        if page[-1].created_ms < from_ms:  # newest first: everything after this one is older
            break
        if read >= _MOST_JOBS:
            complete = False
            break
    return UsageView(
        from_ms=from_ms, until_ms=until_ms, jobs=dict(states), attempts=sums["attempts"], wall_ms=sums["wall_ms"],
        device_active_ms=sums["device_active_ms"], frames=sums["frames"], charged_s=sums["charged_s"],
        total_micros=sums["total_micros"], currency=currency, complete=complete,
    )  # fmt: skip
