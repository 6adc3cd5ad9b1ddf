"""What an account's people do with its jobs: look, cancel, approve, reject.

Decides who may: an account sees its own jobs only, and nobody approves their own, neither with the key that submitted
it nor with another one of the same person. Who has no second person gives a fresh one-time code instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from secondface.control.auth import Caller, holder_of
from secondface.control.one_time_codes import OneTimeCodes
from secondface.control.settlement import Settlement
from secondface.domain import jobs
from secondface.domain.billing import bill
from secondface.domain.jobs import Change, Job, JobState
from secondface.domain.ports import Doorbell, Recorded, Transactions, UnitOfWork, worker_bell
from secondface.domain.pricing import Receipt
from secondface.errors import CodesMissing, JobMissing, JobSettled, ScopeMissing


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits for approval."""

    job: Job
    holder: str
    """Who submitted it."""
    faces: int | None
    own: bool
    """Whether the caller is the same person, and so cannot approve it."""


class JobRequests:
    """Jobs as the people of an account see them. Raises JobMissing for those of others, ScopeMissing."""

    def __init__(
        self, transactions: Transactions, settlement: Settlement, doorbell: Doorbell, codes: OneTimeCodes | None = None
    ) -> None:
        self._transactions, self._settlement, self._doorbell = transactions, settlement, doorbell
        self._codes = codes

    def get(self, caller: Caller, job_id: str) -> Job:
        caller.require("jobs:read")
        with self._transactions.view() as work:
            return own(caller, work.jobs.get(job_id))

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
            own(caller, work.jobs.get(job_id))
            return work.journal.since(job_id, after)

    def marked(self, caller: Caller, watermark: str) -> Job | None:
        """The job whose output has this watermark; None where there is none that the caller may see."""
        caller.require("jobs:read")
        with self._transactions.view() as work:
            job = work.jobs.marked(watermark)
        return job if job is not None and _may_see(caller, job) else None

    def receipt(self, caller: Caller, job_id: str) -> tuple[Job, Receipt]:
        """The bill so far, with the job as it was billed: final once that has ended."""
        caller.require("billing:read")
        with self._transactions.view() as work:
            job = own(caller, work.jobs.get(job_id))
        return job, bill(job)

    def cancel(self, caller: Caller, job_id: str) -> Job:
        """End what waits, ask what runs to stop; a job that ended stays as it is."""
        caller.require("jobs:write")
        job = self._change(caller, job_id, lambda job, at_ms: jobs.cancel(job, at_ms, caller.actor.name))
        if job.current is not None:
            self._doorbell.ring(worker_bell(job.current.worker))  # so that it need not wait for its next heartbeat
        return job

    def waiting(self, caller: Caller, after: str | None = None, limit: int = 50) -> Sequence[Waiting]:
        """Jobs that wait for approval, newest first: the account's, or everybody's for operators."""
        caller.require("approve")
        everybody = "admin" in caller.scopes
        with self._transactions.view() as work:
            found = work.jobs.page(
                None if everybody else caller.account.id, ["awaiting_approval"], after, min(limit, 200)
            )
            mine = holder_of(work, caller.account.id, caller.key_id)
            return [
                Waiting(job, holder := holder_of(work, job.account, job.key_id), _faces(work, job.id), holder == mine)
                for job in found
            ]

    def approve(self, caller: Caller, job_id: str) -> Job:
        """Let a waiting job run. Raises JobSettled; ScopeMissing also for whoever submitted it."""
        caller.require("approve")
        with self._transactions.begin() as work:
            job = own(caller, work.jobs.lock(job_id))
            require_another(work, caller, job, "approve")
            job = self._settlement.apply(work, job, jobs.approve(job, caller.key_id, work.now_ms()), caller.actor)
        self._doorbell.ring(job.tier)
        return job

    def confirm(self, caller: Caller, job_id: str, code: str) -> Job:
        """Let a waiting job run by a fresh one-time code of the key that submitted it.

        Raises JobSettled, ScopeMissing for another key, CodesMissing, CodeRefused, RateLimited.
        """
        caller.require("jobs:write")
        with self._transactions.view() as work:
            job = own(caller, work.jobs.get(job_id))
        if job.key_id != caller.key_id:
            raise ScopeMissing("A code counts for jobs of its own key.", scope="jobs:write")
        if job.state != "awaiting_approval":  # before the code is spent
            raise JobSettled(f"It is {job.state}, not awaiting_approval.", job=job.id, state=job.state)
        if self._codes is None:
            raise CodesMissing
        self._codes.spend(caller, code, f"confirm {job_id}")
        job = self._change(
            caller, job_id, lambda job, at_ms: jobs.approve(job, caller.key_id, at_ms, "one_time_code")
        )  # fmt: skip
        self._doorbell.ring(job.tier)
        return job

    def reject(self, caller: Caller, job_id: str, why: str | None = None) -> Job:
        """Refuse a waiting job; it ends cancelled and costs nothing."""
        caller.require("approve")
        return self._change(caller, job_id, lambda job, at_ms: jobs.reject(job, caller.key_id, at_ms, why))

    def _change(self, caller: Caller, job_id: str, change: Callable[[Job, int], Change]) -> Job:
        with self._transactions.begin() as work:
            job = own(caller, work.jobs.lock(job_id))
            return self._settlement.apply(work, job, change(job, work.now_ms()), caller.actor)


def own(caller: Caller, job: Job) -> Job:
    """The job, if it is one of the caller's account or the caller an operator. Raises JobMissing."""
    if not _may_see(caller, job):
        raise JobMissing(job=job.id)  # not "forbidden": that would say that it is there
    return job


def _may_see(caller: Caller, job: Job) -> bool:
    return job.account == caller.account.id or "admin" in caller.scopes


def require_another(work: UnitOfWork, caller: Caller, job: Job, deed: Literal["approve", "review"]) -> None:
    """Let pass who did not submit the job. Raises ScopeMissing."""
    if job.key_id == caller.key_id:
        raise ScopeMissing("The key that submitted a job cannot let it pass.", scope=deed)
    if holder_of(work, job.account, job.key_id) == holder_of(work, caller.account.id, caller.key_id):
        raise ScopeMissing("Who submitted a job cannot let it pass with another key.", scope=deed)


def _faces(work: UnitOfWork, job_id: str) -> int | None:
    """How many faces at once were counted when the job was accepted."""
    accepted = work.journal.since(job_id, limit=1)
    faces = accepted[0].event.facts.get("faces") if accepted else None
    return faces if isinstance(faces, int) else None
