"""What an account's people do with its jobs: look, cancel, approve, reject.

Decides who may: an account sees its own jobs only, and nobody approves what was submitted with their own key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from secondface.control.auth import Caller
from secondface.control.settlement import Settlement
from secondface.domain import jobs
from secondface.domain.billing import bill
from secondface.domain.jobs import Change, Job, JobState
from secondface.domain.ports import Doorbell, Recorded, Transactions, worker_bell
from secondface.domain.pricing import Receipt
from secondface.errors import JobMissing, ScopeMissing


class JobRequests:
    """Jobs as the people of an account see them. Raises JobMissing for those of others, ScopeMissing."""

    def __init__(self, transactions: Transactions, settlement: Settlement, doorbell: Doorbell) -> None:
        self._transactions, self._settlement, self._doorbell = transactions, settlement, doorbell

    def get(self, caller: Caller, job_id: str) -> Job:
        caller.require("jobs:read")
        with self._transactions.view() as work:
            return _own(caller, work.jobs.get(job_id))

    def page(
        self, caller: Caller, states: Iterable[JobState] = (), after: str | None = None, limit: int = 50
    ) -> Sequence[Job]:
        """The account's jobs, newest first."""
        caller.require("jobs:read")
        with self._transactions.view() as work:
            return work.jobs.page(caller.account.id, states, after, min(limit, 200))

    def events(self, caller: Caller, job_id: str, after: int = 0) -> Sequence[Recorded]:
        """What happened to a job after a number, for streams that resume."""
        caller.require("jobs:read")
        with self._transactions.view() as work:
            _own(caller, work.jobs.get(job_id))
            return work.journal.since(job_id, after)

    def receipt(self, caller: Caller, job_id: str) -> tuple[Job, Receipt]:
        """The bill so far, with the job as it was billed: final once that has ended."""
        caller.require("billing:read")
        with self._transactions.view() as work:
            job = _own(caller, work.jobs.get(job_id))
        return job, bill(job)

    def cancel(self, caller: Caller, job_id: str) -> Job:
        """End what waits, ask what runs to stop; a job that ended stays as it is."""
        caller.require("jobs:write")
        job = self._change(caller, job_id, lambda job, at_ms: jobs.cancel(job, at_ms, caller.actor.name))
        if job.current is not None:
            self._doorbell.ring(worker_bell(job.current.worker))  # so that it need not wait for its next heartbeat
        return job

    def approve(self, caller: Caller, job_id: str) -> Job:
        """Let a waiting job run. Raises JobSettled; ScopeMissing also for the key that submitted it."""
        caller.require("approve")
        job = self._change(
            caller, job_id, lambda job, at_ms: jobs.approve(_of_another(caller, job), caller.key_id, at_ms)
        )
        self._doorbell.ring(job.tier)
        return job

    def reject(self, caller: Caller, job_id: str) -> Job:
        """Refuse a waiting job; it ends cancelled and costs nothing."""
        caller.require("approve")
        return self._change(caller, job_id, lambda job, at_ms: jobs.reject(job, caller.key_id, at_ms))

    def _change(self, caller: Caller, job_id: str, change: Callable[[Job, int], Change]) -> Job:
        with self._transactions.begin() as work:
            job = _own(caller, work.jobs.lock(job_id))
            return self._settlement.apply(work, job, change(job, work.now_ms()), caller.actor)


def _own(caller: Caller, job: Job) -> Job:
    if job.account != caller.account.id and "admin" not in caller.scopes:
        raise JobMissing(job=job.id)  # not "forbidden": that would say that it is there
    return job


def _of_another(caller: Caller, job: Job) -> Job:
    if job.key_id == caller.key_id:
        raise ScopeMissing("The key that submitted a job cannot approve it.", scope="approve")
    return job
