"""What must be true of jobs and money whatever happened, at any moment."""

from __future__ import annotations

from collections.abc import Sequence

from secondface.domain.billing import bill
from secondface.domain.jobs import Job
from secondface.domain.ports import UnitOfWork
from tests.unit.fleet.workshop import check_usage

_ENDS = ("job.succeeded", "job.failed", "job.cancelled", "job.expired")


def check_books(work: UnitOfWork, jobs: Sequence[Job]) -> None:
    """All jobs of a service: each ends once, with one charge at most, and the ledger agrees with the receipts."""
    assert work.ledger.imbalance() == 0
    for job in jobs:
        ends = [each.event.kind for each in work.journal.since(job.id) if each.event.kind in _ENDS]
        assert ends == ([f"job.{job.state}"] if job.ended else [])
        entries = [entry.kind for entry in work.ledger.entries(job.id)]
        assert len(entries) == len(set(entries))
        receipt = bill(job)
        assert ("capture" in entries) == (job.ended and receipt.total_micros > 0)
        if not any(attempt.usage.device_active_ms for attempt in job.attempts):
            assert receipt.total_micros == 0, "a charge without usage"
        for attempt in job.attempts:
            check_usage(attempt.usage)
    for account, currency in {(job.account, job.currency) for job in jobs}:
        mine = [job for job in jobs if job.account == account]
        charged = sum(bill(job).total_micros for job in mine if job.ended)
        assert work.ledger.balance(f"revenue:{account}", currency) == charged
        held = sum(job.hold_micros for job in mine if not job.ended)
        assert work.ledger.balance(f"held:{account}", currency) == held
        for name in (f"{kind}:{account}" for kind in ("funding", "wallet", "held", "revenue")):
            moved = [posting for entry in work.ledger.entries(accounts=[name]) for posting in entry.postings]
            assert work.ledger.balance(name, currency) == sum(each.micros for each in moved if each.account == name)
