"""Jobs in memory: the order of the queue as plain sorting, which says what the SQL means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from secondface.domain import jobs as machine
from secondface.domain.accounts import Account
from secondface.domain.jobs import Event, Job, JobState
from secondface.domain.ports import Offer, QueueView
from secondface.errors import InternalFault, JobMissing
from secondface.spec.marks import watermark_text_of_job


class MemoryJobs:
    """Jobs inside one transaction."""

    def __init__(
        self, jobs: dict[str, Job], shares: dict[tuple[str, str], int], accounts: dict[str, Account], now_ms: int
    ) -> None:
        self._jobs, self._shares, self._accounts, self._now_ms = jobs, shares, accounts, now_ms

    def add(self, job: Job) -> Job:
        stored = replace(job, turn=self._turn(job)) if job.state == "queued" else job
        self._jobs[job.id] = stored
        return stored

    def get(self, job_id: str) -> Job:
        if job_id not in self._jobs:
            raise JobMissing(job=job_id)
        return self._jobs[job_id]

    def lock(self, job_id: str) -> Job:
        return self.get(job_id)

    def save(self, before: Job, after: Job) -> None:
        stored = self.get(before.id)
        if (stored.state, len(stored.attempts)) != (before.state, len(before.attempts)):
            raise InternalFault("a job changed while it was locked", job=before.id)
        if before.state == "awaiting_approval" and after.state == "queued":
            after = replace(after, turn=self._turn(after))
        self._jobs[after.id] = after

    def claim(self, offer: Offer) -> tuple[Job, tuple[Event, ...]] | None:
        for tier in offer.tiers:
            ready = [job for job in self._in("queued", tier) if self._may_run(job, offer)]
            if ready:
                following = min(ready, key=lambda job: (-job.priority, job.turn, job.id))
                job, events = machine.claim(following, offer.worker, self._now_ms, offer.lease_ms)
                self._jobs[job.id] = job
                return job, events
        return None

    def marked(self, watermark: str) -> Job | None:
        return next((job for job in self._jobs.values() if watermark_text_of_job(job.id) == watermark), None)

    def overdue(self, limit: int) -> Sequence[str]:
        leases = [
            (job.current.lease_until_ms, job.id)
            for job in self._jobs.values()
            if job.current and job.current.lease_until_ms <= self._now_ms
        ]
        deadlines = [
            (job.deadline_ms, job.id)
            for job in self._jobs.values()
            if not job.ended and not job.stop_asked and job.deadline_ms is not None and job.deadline_ms <= self._now_ms
        ]
        found = [job_id for due in (leases, deadlines) for _, job_id in sorted(due)]
        return list(dict.fromkeys(found))[:limit]

    def page(
        self, account: str | None, states: Iterable[JobState] = (), after: str | None = None, limit: int = 50
    ) -> Sequence[Job]:
        wanted = set(states)
        fitting = [
            job
            for job in self._jobs.values()
            if (account is None or job.account == account)
            and (not wanted or job.state in wanted)
            and (after is None or job.id < after)
        ]
        return sorted(fitting, key=lambda job: job.id, reverse=True)[:limit]

    def queues(self) -> Sequence[QueueView]:
        live = [job for job in self._jobs.values() if job.state in ("queued", "running")]
        return [self._view(tier) for tier in sorted({job.tier for job in live})]

    def _view(self, tier: str) -> QueueView:
        queued, running = self._in("queued", tier), self._in("running", tier)
        return QueueView(
            tier=tier, queued_jobs=len(queued), queued_ms=sum(job.expected_ms for job in queued),
            oldest_queued_ms=min((job.queued_ms for job in queued), default=None),
            running_jobs=len(running), running_ms=sum(job.expected_ms for job in running),
        )  # fmt: skip

    def _in(self, state: JobState, tier: str) -> list[Job]:
        return [job for job in self._jobs.values() if (job.state, job.tier) == (state, tier)]

    def _may_run(self, job: Job, offer: Offer) -> bool:
        running = sum(each.state == "running" and each.account == job.account for each in self._jobs.values())
        return (
            job.not_before_ms <= self._now_ms
            and running < self._accounts[job.account].plan.max_running
            and (offer.alone or not job.suspect)
        )

    def _turn(self, job: Job) -> int:
        mine = (job.account, job.tier)
        turn = max(self._shares.get(mine, 0), self._level(job.tier))
        self._shares[mine] = turn + max(1, job.expected_ms)
        return turn

    def _level(self, tier: str) -> int:
        queued = [job.turn for job in self._in("queued", tier)]
        running = [job.turn for job in self._in("running", tier)]
        furthest = [turn for (_, where), turn in self._shares.items() if where == tier]
        return min(queued) if queued else max(running) if running else max(furthest, default=0)
