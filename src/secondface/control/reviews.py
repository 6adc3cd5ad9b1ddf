"""Results that a reviewer looks at before anybody gets them: the queue, and what is decided.

Decides who may: whoever has the scope, of whatever account, but never with the key that submitted the job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from secondface.control.auth import Caller
from secondface.control.settlement import Settlement
from secondface.domain import jobs
from secondface.domain.jobs import Change, Job
from secondface.domain.ports import Transactions
from secondface.errors import JobMissing, JobSettled, ScopeMissing


class Reviews:
    """The queue of held jobs. All of it needs the scope review."""

    def __init__(self, transactions: Transactions, settlement: Settlement) -> None:
        self._transactions, self._settlement = transactions, settlement

    def page(self, caller: Caller, after: str | None = None, limit: int = 50) -> Sequence[Job]:
        """Held jobs of all accounts, newest first."""
        caller.require("review")
        with self._transactions.view() as work:
            return work.jobs.page(None, ["held"], after, min(limit, 200))

    def get(self, caller: Caller, job_id: str) -> Job:
        """A job that is or was held. Raises JobMissing for any other."""
        caller.require("review")
        with self._transactions.view() as work:
            return _reviewable(work.jobs.get(job_id))

    def result(self, caller: Caller, job_id: str) -> str:
        """The key of the result that waits, for the reviewer's own eyes. Raises JobSettled where none does."""
        job = self.get(caller, job_id)
        if job.pending is None:
            raise JobSettled(f"It is {job.state}, not held.", job=job.id, state=job.state)
        return job.pending

    def approve(self, caller: Caller, job_id: str, reason: str) -> Job:
        """Hand the result out. Raises JobMissing, JobSettled; ScopeMissing also for the key that submitted it."""
        return self._decide(caller, job_id, lambda job, at_ms: jobs.release(job, caller.key_id, reason, at_ms))

    def refuse(self, caller: Caller, job_id: str, reason: str) -> Job:
        """Keep the result back for good. Raises as `approve`."""
        return self._decide(caller, job_id, lambda job, at_ms: jobs.refuse(job, caller.key_id, reason, at_ms))

    def _decide(self, caller: Caller, job_id: str, change: Callable[[Job, int], Change]) -> Job:
        caller.require("review")
        with self._transactions.begin() as work:
            job = _reviewable(work.jobs.lock(job_id))
            if job.key_id == caller.key_id:
                raise ScopeMissing("The key that submitted a job cannot review it.", scope="review")
            return self._settlement.apply(work, job, change(job, work.now_ms()), caller.actor)


def _reviewable(job: Job) -> Job:
    if job.state != "held" and not job.reason:
        raise JobMissing(job=job.id)  # a reviewer sees what is for review and no other jobs of strangers
    return job
