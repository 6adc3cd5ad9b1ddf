"""Uploads whose time is over: what callers sent is kept for a while, and for as long as a job may still read it."""

from __future__ import annotations

from secondface.domain.jobs import LIVE_JOBS
from secondface.domain.ports import Clock, Ids, ObjectStore, Transactions, UnitOfWork

_PAGE = 200
PLACE = "uploads/"
"""Where uploads lie in the object store: `uploads/<account>/<id>`."""


def account_of(key: str) -> str:
    """Whose upload it is."""
    return key.removeprefix(PLACE).partition("/")[0]


class Uploads:
    """The sweep of uploads."""

    def __init__(
        self, transactions: Transactions, objects: ObjectStore, clock: Clock, ids: Ids, keep_s: int
    ) -> None:  # fmt: skip
        self._transactions, self._objects, self._clock, self._ids = transactions, objects, clock, ids
        self._keep_ms = keep_s * 1000

    def step(self) -> int:
        """Remove what is too old and needed by no job that has not ended; returns how many files."""
        before_ms = self._clock.now_ms() - self._keep_ms
        old = [key for key in self._objects.keys(PLACE) if self._made_ms(key) < before_ms]
        if not old:
            return 0
        with self._transactions.view() as work:
            needed = "\n".join(live_orders(work).values())
        gone = [key for key in old if f'"{key}"' not in needed]
        for key in gone:
            self._objects.delete(key)
        return len(gone)

    def _made_ms(self, key: str) -> int:
        made_ms = self._ids.made_ms(key.rpartition("/")[2])
        return self._clock.now_ms() if made_ms is None else made_ms


def live_orders(work: UnitOfWork) -> dict[str, str]:
    """The orders of all jobs that have not ended, by their ids."""
    found: dict[str, str] = {}
    after = None
    while page := work.jobs.page(None, LIVE_JOBS, after, _PAGE):
        found |= {job.id: job.spec for job in page}
        after = page[-1].id
    return found
