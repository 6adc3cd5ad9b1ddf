"""Jobs in SQL: the claim, the queue's order, and transitions as rows.

The same statements on both databases. SKIP LOCKED is where PostgreSQL lets claims pass each other; SQLite, with one
writer at a time, has no need of it and does not render it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

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
_LIVE: ColumnElement[bool] = literal_column("jobs.state IN ('awaiting_approval', 'queued', 'running', 'held')")
_ONE: ColumnElement[int] = literal_column("1")

# What every job passes is put together once: that takes longer than SQLite needs to answer.
_JOB = select(JOBS).where(JOBS.c.id == bindparam("id"))
_LOCKED_JOB = _JOB.with_for_update()
_ATTEMPTS = select(ATTEMPTS).where(ATTEMPTS.c.job_id.in_(bindparam("ids", expanding=True))).order_by(ATTEMPTS.c.number)
_SEGMENTS = select(SEGMENTS).where(SEGMENTS.c.job_id.in_(bindparam("ids", expanding=True))).order_by(SEGMENTS.c.index)
_ADD_JOB, _ADD_ATTEMPT = insert(JOBS), insert(ATTEMPTS)
_SAVE_JOB = update(JOBS).where(
    JOBS.c.id == bindparam("of_id"),
    JOBS.c.state == bindparam("of_state"),
    JOBS.c.last_attempt == bindparam("of_attempt"),
)
_SAVE_ATTEMPT = update(ATTEMPTS).where(
    ATTEMPTS.c.job_id == bindparam("of_job"), ATTEMPTS.c.number == bindparam("of_number")
)
_COUNT = (
    update(LOADS).where(LOADS.c.account == bindparam("of_account")).values(running=LOADS.c.running + bindparam("step"))
)
_COUNT_BELOW = _COUNT.where(LOADS.c.running < LOADS.c.max_running)
_SHARE = select(SHARES.c.turn).where(SHARES.c.account == bindparam("account"), SHARES.c.tier == bindparam("tier"))
_LOCKED_SHARE = _SHARE.with_for_update()
_ADVANCE = (
    update(SHARES)
    .where(SHARES.c.account == bindparam("of_account"), SHARES.c.tier == bindparam("of_tier"))
    .values(turn=bindparam("to"))
)
_LEVELS = (
    select(func.min(JOBS.c.turn)).where(_QUEUED, JOBS.c.tier == bindparam("tier")),
    select(func.max(JOBS.c.turn)).where(_RUNNING, JOBS.c.tier == bindparam("tier")),
    select(func.max(SHARES.c.turn)).where(SHARES.c.tier == bindparam("tier")),
)


class SqlJobs:
    """Jobs inside one transaction."""

    def __init__(self, connection: Connection, database: Database) -> None:
        self._connection, self._database = connection, database

    def add(self, job: Job) -> Job:
        stored = replace(job, turn=self._turn(job)) if job.state == "queued" else job
        self._connection.execute(_ADD_JOB, job_row(stored))
        self._write_parts(None, stored)
        return stored

    def get(self, job_id: str) -> Job:
        return self._read(_JOB, job_id)

    def lock(self, job_id: str) -> Job:
        return self._read(_LOCKED_JOB, job_id)

    def save(self, before: Job, after: Job) -> None:
        if before.state == "awaiting_approval" and after.state == "queued":
            after = replace(after, turn=self._turn(after))
        unchanged = {"of_id": before.id, "of_state": before.state, "of_attempt": _last_attempt(before)}
        saved = self._connection.execute(_SAVE_JOB, unchanged | _changes(job_row(before), job_row(after)))
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

    def marked(self, watermark: str) -> Job | None:
        found = self._connection.scalar(select(JOBS.c.id).where(JOBS.c.watermark == watermark))
        return None if found is None else self.get(found)

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
        taking = _taking(self._database.now(), offer.alone, tuple(full))
        return self._connection.execute(taking, {"of_tier": tier, "lease_ms": offer.lease_ms}).mappings().one_or_none()

    def _lease(self, row: Row, offer: Offer) -> tuple[Job, tuple[Event, ...]]:
        """The row says what was granted; the machine says what that means, and both must agree on the token."""
        # Nobody had it before the first attempt, so there is nothing of others to read.
        taken = job_of(row, (), ()) if row["last_attempt"] == 1 else self._whole([row])[0]
        queued = replace(taken, state="queued")
        at_ms = row["lease_until_ms"] - offer.lease_ms
        job, events = machine.claim(queued, offer.worker, at_ms, offer.lease_ms)
        if job.attempts[-1].number != row["last_attempt"]:
            raise InternalFault("the attempts of a job do not count up", job=job.id)
        self._connection.execute(_ADD_ATTEMPT, attempt_row(job.id, job.attempts[-1]))
        return job, events

    def _count(self, account: str, step: int, *, only_below_limit: bool = False) -> bool:
        counted = _COUNT_BELOW if only_below_limit else _COUNT
        return self._connection.execute(counted, {"of_account": account, "step": step}).rowcount == 1

    def _turn(self, job: Job) -> int:
        """Start-time fair queueing: an account's jobs follow each other by their size, beginning where others are."""
        mine = {"account": job.account, "tier": job.tier}
        share = self._connection.scalar(_LOCKED_SHARE, mine)
        turn = max(share or 0, self._level(job.tier))
        after = turn + max(1, job.expected_ms)
        if share is None:
            self._connection.execute(insert(SHARES), {**mine, "turn": after})
        else:
            self._connection.execute(_ADVANCE, {"of_account": job.account, "of_tier": job.tier, "to": after})
        return turn

    def _level(self, tier: str) -> int:
        """Where a newcomer begins: level with the next in line, or with what runs, or with who went furthest."""
        for level in _LEVELS:
            if (found := self._connection.scalar(level, {"tier": tier})) is not None:
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
        row = self._connection.execute(query, {"id": job_id}).mappings().one_or_none()
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
        for query, found in ((_ATTEMPTS, attempts), (_SEGMENTS, segments)):
            for part in self._connection.execute(query, {"ids": ids}).mappings():
                found[part["job_id"]].append(part)
        return [job_of(row, attempts[row["id"]], segments[row["id"]]) for row in rows]

    def _write_parts(self, before: Job | None, after: Job) -> None:
        old_attempts = {each.number: each for each in before.attempts} if before else {}
        for attempt in after.attempts:
            row = attempt_row(after.id, attempt)
            if attempt.number not in old_attempts:
                self._connection.execute(_ADD_ATTEMPT, row)
            elif attempt != old_attempts[attempt.number]:
                self._connection.execute(_SAVE_ATTEMPT, {"of_job": after.id, "of_number": attempt.number, **row})
        old_segments = {each.index: each for each in before.segments} if before else {}
        for segment in after.segments:
            row = segment_row(after.id, segment)
            if segment.index not in old_segments:
                self._connection.execute(insert(SEGMENTS), row)
            elif segment != old_segments[segment.index]:
                mine = (SEGMENTS.c.job_id == after.id, SEGMENTS.c["index"] == segment.index)
                self._connection.execute(update(SEGMENTS).where(*mine).values(row))


@lru_cache(maxsize=16)
def _taking(now: ColumnElement[int], alone: bool, full: tuple[str, ...]) -> ReturningUpdate[Any]:
    """The claim: the row that is next in line becomes a running one. `full` are accounts that run all they may."""
    following = (
        select(JOBS.c.id)
        .join(LOADS, LOADS.c.account == JOBS.c.account)
        .where(_QUEUED, JOBS.c.tier == bindparam("of_tier"), JOBS.c.not_before_ms <= now)
        .where(LOADS.c.running < LOADS.c.max_running)
        .order_by(JOBS.c.priority.desc(), JOBS.c.turn, JOBS.c.id)
        .limit(_ONE)
        .with_for_update(of=JOBS, skip_locked=True)
    )
    if not alone:
        following = following.where(JOBS.c.suspect.is_(False))
    if full:
        following = following.where(JOBS.c.account.not_in(full))
    return (
        update(JOBS)
        .where(JOBS.c.id == following.scalar_subquery(), _QUEUED)
        .values(
            state="running",
            last_attempt=JOBS.c.last_attempt + 1,
            lease_until_ms=now + bindparam("lease_ms", type_=BigInteger),
        )
        .returning(JOBS)
    )


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The columns that are to be written; the order, the longest of them, never is."""
    return {name: value for name, value in after.items() if value != before[name]} or {"id": after["id"]}


def _last_attempt(job: Job) -> int:
    return job.attempts[-1].number if job.attempts else 0
