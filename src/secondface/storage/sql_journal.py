"""The journal in SQL: written with the state that it tells of, sealed into a chain a moment later.

Sealing is apart from writing because a chain has one end: were it moved by every transaction, all would wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from sqlalchemy import Connection, bindparam, delete, func, insert, literal_column, select, update

from secondface.domain.accounts import Actor
from secondface.domain.audit import FIRST, HeadKind, SignedHead
from secondface.domain.chain import first_broken, link
from secondface.domain.jobs import Event
from secondface.domain.ports import Recorded
from secondface.storage.rows import event_row, recorded_of
from secondface.storage.sql_ledger import insert_or_ignore
from secondface.storage.tables import EVENTS, HEADS

_SEALING = 0x5EC0DFACA
"""Number of PostgreSQL's advisory lock: a chain has one end, and one sealer at a time is at it."""
_RECORD = insert(EVENTS)
_SEAL = (
    update(EVENTS)
    .where(EVENTS.c.number == bindparam("of_number"))
    .values(position=bindparam("at"), digest=bindparam("with_digest"))
)


class SqlJournal:
    """Events inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def record(self, account: str, actor: Actor, events: Iterable[Event]) -> None:
        rows = [event_row(account, actor, event) for event in events]
        if rows:
            self._connection.execute(_RECORD, rows)

    def since(self, subject: str, number: int = 0, limit: int = 1000) -> Sequence[Recorded]:
        query = select(EVENTS).where(EVENTS.c.subject == subject, EVENTS.c.number > number)
        found = self._connection.execute(query.order_by(EVENTS.c.number).limit(limit)).mappings()
        return [recorded_of(row) for row in found]

    def audit(self, account: str | None, after: int = 0, limit: int = 100) -> Sequence[Recorded]:
        query = select(EVENTS).where(EVENTS.c.position > after).order_by(EVENTS.c.position).limit(limit)
        if account is not None:
            query = query.where(EVENTS.c.account == account)
        return [recorded_of(row) for row in self._connection.execute(query).mappings()]

    def seal(self, limit: int = 1000) -> int:
        if self._connection.dialect.name == "postgresql":
            self._connection.execute(select(func.pg_advisory_xact_lock(_SEALING)))
        last = self._connection.execute(
            select(EVENTS.c.position, EVENTS.c.digest)
            .where(EVENTS.c.position.is_not(None))
            .order_by(EVENTS.c.position.desc())
            .limit(1)
        ).one_or_none()
        position, digest = (last.position, last.digest) if last else (0, FIRST)
        loose = select(EVENTS).where(literal_column("position IS NULL")).order_by(EVENTS.c.number).limit(limit)
        rows = self._connection.execute(loose).mappings().all()
        sealed: list[dict[str, object]] = []
        for position, row in enumerate(rows, position + 1):  # noqa: B020 - it goes on where the chain ends
            digest = link(digest, position, recorded_of(row))
            sealed.append({"of_number": row["number"], "at": position, "with_digest": digest})
        if sealed:
            # At once: row by row, a thousand of them would keep all other writers waiting for half a second.
            self._connection.execute(_SEAL, sealed)
        return len(sealed)

    def broken(self) -> int | None:
        pruned = self.heads("checkpoint", 1)
        after, before = (pruned[-1].position, pruned[-1].digest) if pruned else (0, FIRST)
        query = select(EVENTS).where(EVENTS.c.position > after).order_by(EVENTS.c.position)
        rows = self._connection.execute(query, execution_options={"yield_per": 1000}).mappings()
        return first_broken((recorded_of(row) for row in rows), after, before)

    def save_head(self, head: SignedHead) -> None:
        insert_or_ignore(self._connection, HEADS, asdict(head))

    def heads(self, kind: HeadKind, newest: int | None = None) -> Sequence[SignedHead]:
        query = select(HEADS).where(HEADS.c.kind == kind).order_by(HEADS.c.position.desc()).limit(newest)
        return [SignedHead(**row) for row in self._connection.execute(query).mappings()][::-1]

    def prune(self, checkpoint: SignedHead, keep_subject: str) -> int:
        old = EVENTS.c.position <= checkpoint.position
        gone = self._connection.execute(delete(EVENTS).where(old, EVENTS.c.subject != keep_subject)).rowcount
        self._connection.execute(update(EVENTS).where(old, EVENTS.c.address.is_not(None)).values(address=None))
        self._connection.execute(delete(HEADS).where(HEADS.c.position <= checkpoint.position))
        self.save_head(checkpoint)
        return gone
