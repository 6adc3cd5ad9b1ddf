"""Jobs in SQL: the claim, the queue's order, and transitions as rows.

The same statements on both databases. SKIP LOCKED is where PostgreSQL lets claims pass each other; SQLite, with one
writer at a time, has no need of it and does not render it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, Select, func, insert, literal_column, select, update

from secondface.domain import jobs as machine
from secondface.domain.jobs import LIVE_JOBS, Event, Job, JobState
from secondface.domain.ports import Offer, QueueView
from secondface.errors import InternalFault, JobMissing
from secondface.storage.database import Database
from secondface.storage.rows import Row, attempt_row, job_of, job_row, segment_row
from secondface.storage.tables import ATTEMPTS, JOBS, LOADS, SEGMENTS, SHARES

_TRIES = 8
"""Accounts that may fill up between choosing and counting, before a claim gives up until the next call."""

# Written into the statement, not bound: only then can a partial index be chosen.
_QUEUED: ColumnElement[bool] = literal_column("jobs.state = 'queued'")
_RUNNING: ColumnElement[bool] = literal_column("jobs.state = 'running'")
_LIVE: ColumnElement[bool] = literal_column("jobs.state IN ('awaiting_approval', 'queued', 'running')")
_ONE: ColumnElement[int] = literal_column("1")


class SqlJobs:
    """Jobs inside one transaction."""

    def __init__(self, connection: Connection, database: Database) -> None:
        self._connection, self._database = connection, database

    def add(self, job: Job) -> Job:
        stored = replace(job, turn=self._turn(job)) if job.state == "queued" else job
        self._connection.execute(insert(JOBS), job_row(stored))
        self._write_parts(None, stored)
        return stored

    def get(self, job_id: str) -> Job:
        return self._read(select(JOBS).where(JOBS.c.id == job_id), job_id)

    def lock(self, job_id: str) -> Job:
        return self._read(select(JOBS).where(JOBS.c.id == job_id).with_for_update(), job_id)

    def save(self, before: Job, after: Job) -> None:
        if before.state == "awaiting_approval" and after.state == "queued":
            after = replace(after, turn=self._turn(after))
        unchanged = (JOBS.c.id == before.id, JOBS.c.state == before.state, JOBS.c.last_attempt == _last_attempt(before))
        saved = self._connection.execute(update(JOBS).where(*unchanged).values(job_row(after)))
        if saved.rowcount != 1:
            raise InternalFault("a job changed while it was locked", job=before.id)
        self._write_parts(before, after)
        if step := (after.state == "running") - (before.state == "running"):
            self._count(after.account, step)

    def claim(self, offer: Offer) -> tuple[Job, tuple[Event, ...]] | None:
        full: list[str] = []
        for tier in offer.tiers:
            for _ in range(_TRIES):
                savepoint = self._connection.begin_nested()
                row = self._take(offer, tier, full)
                if row is None:
                    savepoint.rollback()
                    break
                if not self._count(row["account"], 1, only_below_limit=True):
                    savepoint.rollback()
                    full.append(row["account"])
                    continue
                savepoint.commit()
                return self._lease(row, offer)
        return None

    def overdue(self, limit: int) -> Sequence[str]:
        now = self._database.now()
        leases = select(JOBS.c.id).where(_RUNNING, JOBS.c.lease_until_ms <= now).order_by(JOBS.c.lease_until_ms)
        deadlines = (
            select(JOBS.c.id)
            .where(_LIVE, JOBS.c.deadline_ms.is_not(None), JOBS.c.deadline_ms <= now, JOBS.c.stop_asked.is_(None))
            .order_by(JOBS.c.deadline_ms)
        )
        found = [self._connection.scalars(query.limit(limit)).all() for query in (leases, deadlines)]
        return list(dict.fromkeys(job_id for ids in found for job_id in ids))[:limit]

    def page(
        self, account: str | None, states: Iterable[JobState] = (), after: str | None = None, limit: int = 50
    ) -> Sequence[Job]:
        wanted = set(states)
        if wanted and wanted <= LIVE_JOBS:
            # Said twice, and ordered by what is not quite the key, so that the index of live jobs is chosen.
            query = select(JOBS).where(_LIVE).order_by(func.coalesce(JOBS.c.id, "").desc())
        else:
            query = select(JOBS).order_by(JOBS.c.id.desc())
        if wanted:
            query = query.where(JOBS.c.state.in_(sorted(wanted)))
        if account is not None:
            query = query.where(JOBS.c.account == account)
        if after is not None:
            query = query.where(JOBS.c.id < after)
        return self._whole(self._connection.execute(query.limit(limit)).mappings().all())

    def queues(self) -> Sequence[QueueView]:
        queued = {row["tier"]: row for row in self._sums(_QUEUED)}
        running = {row["tier"]: row for row in self._sums(_RUNNING)}
        return [
            QueueView(
                tier=tier, queued_jobs=queued[tier]["jobs"] if tier in queued else 0,
                queued_ms=int(queued[tier]["work_ms"]) if tier in queued else 0,
                oldest_queued_ms=queued[tier]["oldest_ms"] if tier in queued else None,
                running_jobs=running[tier]["jobs"] if tier in running else 0,
                running_ms=int(running[tier]["work_ms"]) if tier in running else 0,
            )
            for tier in sorted(queued.keys() | running.keys())
        ]  # fmt: skip

    # ---- parts -------------------------------------------------------------------------------------------------------

    def _take(self, offer: Offer, tier: str, full: Sequence[str]) -> Row | None:
        """Turn the next queued row into a running one, in one statement; nobody else can take the same."""
        now = self._database.now()
        following = (
            select(JOBS.c.id)
            .join(LOADS, LOADS.c.account == JOBS.c.account)
            .where(_QUEUED, JOBS.c.tier == tier, JOBS.c.not_before_ms <= now, LOADS.c.running < LOADS.c.max_running)
            .order_by(JOBS.c.priority.desc(), JOBS.c.turn, JOBS.c.id)
            .limit(_ONE)
            .with_for_update(of=JOBS, skip_locked=True)
        )
        if not offer.alone:
            following = following.where(JOBS.c.suspect.is_(False))
        if full:
            following = following.where(JOBS.c.account.not_in(full))
        taken = (
            update(JOBS)
            .where(JOBS.c.id == following.scalar_subquery(), _QUEUED)
            .values(
                state="running",
                last_attempt=JOBS.c.last_attempt + 1,
                lease_until_ms=now + offer.lease_ms,
            )
            .returning(JOBS)
        )
        return self._connection.execute(taken).mappings().one_or_none()

    def _lease(self, row: Row, offer: Offer) -> tuple[Job, tuple[Event, ...]]:
        """The row says what was granted; the machine says what that means, and both must agree on the token."""
        queued = replace(self._whole([row])[0], state="queued")
        at_ms = row["lease_until_ms"] - offer.lease_ms
        job, events = machine.claim(queued, offer.worker, at_ms, offer.lease_ms)
        if job.attempts[-1].number != row["last_attempt"]:
            raise InternalFault("the attempts of a job do not count up", job=job.id)
        self._connection.execute(insert(ATTEMPTS), attempt_row(job.id, job.attempts[-1]))
        return job, events

    def _count(self, account: str, step: int, *, only_below_limit: bool = False) -> bool:
        counted = update(LOADS).where(LOADS.c.account == account).values(running=LOADS.c.running + step)
        if only_below_limit:
            counted = counted.where(LOADS.c.running < LOADS.c.max_running)
        return self._connection.execute(counted).rowcount == 1

    def _turn(self, job: Job) -> int:
        """Start-time fair queueing: an account's jobs follow each other by their size, beginning where others are."""
        share = self._connection.scalar(
            select(SHARES.c.turn).where(SHARES.c.account == job.account, SHARES.c.tier == job.tier).with_for_update()
        )
        turn = max(share or 0, self._level(job.tier))
        after = turn + max(1, job.expected_ms)
        if share is None:
            self._connection.execute(insert(SHARES), {"account": job.account, "tier": job.tier, "turn": after})
        else:
            mine = (SHARES.c.account == job.account, SHARES.c.tier == job.tier)
            self._connection.execute(update(SHARES).where(*mine).values(turn=after))
        return turn

    def _level(self, tier: str) -> int:
        """Where a newcomer begins: level with the next in line, or with what runs, or with who went furthest."""
        for level in (
            select(func.min(JOBS.c.turn)).where(_QUEUED, JOBS.c.tier == tier),
            select(func.max(JOBS.c.turn)).where(_RUNNING, JOBS.c.tier == tier),
            select(func.max(SHARES.c.turn)).where(SHARES.c.tier == tier),
        ):
            if (found := self._connection.scalar(level)) is not None:
                return found
        return 0

    def _sums(self, condition: ColumnElement[bool]) -> Sequence[Row]:
        query = (
            select(
                JOBS.c.tier,
                func.count().label("jobs"),
                func.sum(JOBS.c.expected_ms).label("work_ms"),
                func.min(JOBS.c.queued_ms).label("oldest_ms"),
            )
            .where(condition)
            .group_by(JOBS.c.tier)
        )
        return self._connection.execute(query).mappings().all()

    def _read(self, query: Select[*tuple[object, ...]], job_id: str) -> Job:
        row = self._connection.execute(query).mappings().one_or_none()
        if row is None:
            raise JobMissing(job=job_id)
        return self._whole([row])[0]

    def _whole(self, rows: Sequence[Row]) -> list[Job]:
        """Jobs with their attempts and segments, in two more statements however many there are."""
        if not rows:
            return []
        ids = [row["id"] for row in rows]
        attempts: dict[str, list[Row]] = {job_id: [] for job_id in ids}
        segments: dict[str, list[Row]] = {job_id: [] for job_id in ids}
        for table, order, found in ((ATTEMPTS, "number", attempts), (SEGMENTS, "index", segments)):
            query = select(table).where(table.c.job_id.in_(ids)).order_by(table.c[order])
            for part in self._connection.execute(query).mappings():
                found[part["job_id"]].append(part)
        return [job_of(row, attempts[row["id"]], segments[row["id"]]) for row in rows]

    def _write_parts(self, before: Job | None, after: Job) -> None:
        old_attempts = {each.number: each for each in before.attempts} if before else {}
        for attempt in after.attempts:
            row = attempt_row(after.id, attempt)
            if attempt.number not in old_attempts:
                self._connection.execute(insert(ATTEMPTS), row)
            elif attempt != old_attempts[attempt.number]:
                mine = (ATTEMPTS.c.job_id == after.id, ATTEMPTS.c.number == attempt.number)
                self._connection.execute(update(ATTEMPTS).where(*mine).values(row))
        old_segments = {each.index: each for each in before.segments} if before else {}
        for segment in after.segments:
            row = segment_row(after.id, segment)
            if segment.index not in old_segments:
                self._connection.execute(insert(SEGMENTS), row)
            elif segment != old_segments[segment.index]:
                mine = (SEGMENTS.c.job_id == after.id, SEGMENTS.c["index"] == segment.index)
                self._connection.execute(update(SEGMENTS).where(*mine).values(row))


def _last_attempt(job: Job) -> int:
    return job.attempts[-1].number if job.attempts else 0
