"""Jobs that nobody approved in time: they end, and what was set aside for them goes back."""

from __future__ import annotations

from secondface.control.settlement import Settlement
from secondface.domain import jobs
from secondface.domain.accounts import Actor
from secondface.domain.jobs import Job
from secondface.domain.ports import Transactions

_PAGE = 200
_CLOCK = Actor("approval-clock")


class WaitingRoom:
    """The sweep of jobs that wait for approval."""

    def __init__(self, transactions: Transactions, settlement: Settlement, wait_s: int) -> None:
        self._transactions, self._settlement = transactions, settlement
        self._wait_ms = wait_s * 1000

    def until_ms(self, job: Job) -> int:
        """When a waiting job will end by itself."""
        return job.created_ms + self._wait_ms

    def step(self) -> int:
        """End those that waited too long; returns how many. One that is approved meanwhile goes on."""
        with self._transactions.view() as work:
            late, after = list[str](), None
            while page := work.jobs.page(None, ["awaiting_approval"], after, _PAGE):
                late += [job.id for job in page if self.until_ms(job) <= work.now_ms()]
                after = page[-1].id
        return sum(self._end(job_id) for job_id in late)

    def _end(self, job_id: str) -> bool:
        with self._transactions.begin() as work:
            job = work.jobs.lock(job_id)
            return self._settlement.apply(work, job, jobs.lapse(job, work.now_ms(), self._wait_ms), _CLOCK) != job
