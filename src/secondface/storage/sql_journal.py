"""The journal in SQL: written with the state that it tells of, sealed into a chain a moment later.

Sealing is apart from writing because a chain has one end: were it moved by every transaction, all would wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, bindparam, insert, literal_column, select, update

from secondface.domain.accounts import Actor
from secondface.domain.jobs import Event
from secondface.domain.ports import Recorded
from secondface.storage.chain import FIRST, first_broken, link
from secondface.storage.rows import event_row, recorded_of
from secondface.storage.tables import EVENTS

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
        query = select(EVENTS).where(EVENTS.c.position.is_not(None)).order_by(EVENTS.c.position)
        rows = self._connection.execution_options(yield_per=1000).execute(query).mappings()
        return first_broken(recorded_of(row) for row in rows)
