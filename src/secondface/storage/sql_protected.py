"""The list of protected people in SQL: numbers of faces and a note, never a picture."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select, update

from secondface.domain.protected import Protected
from secondface.storage.chain import version_of
from secondface.storage.rows import protected_of, protected_row
from secondface.storage.sql_ledger import insert_or_ignore
from secondface.storage.tables import PROTECTED

_ALL = select(PROTECTED).order_by(PROTECTED.c.id)
_CHANGES = select(PROTECTED.c.id, PROTECTED.c.changed_ms).order_by(PROTECTED.c.id)


class SqlProtected:
    """The list inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def save(self, person: Protected) -> None:
        row = protected_row(person)
        if not insert_or_ignore(self._connection, PROTECTED, row):
            self._connection.execute(update(PROTECTED).where(PROTECTED.c.id == person.id).values(row))

    def get(self, entry_id: str) -> Protected | None:
        query = select(PROTECTED).where(PROTECTED.c.id == entry_id)
        row = self._connection.execute(query).mappings().one_or_none()
        return protected_of(row) if row else None

    def all(self) -> Sequence[Protected]:
        return [protected_of(row) for row in self._connection.execute(_ALL).mappings()]

    def remove(self, entry_id: str) -> bool:
        return self._connection.execute(delete(PROTECTED).where(PROTECTED.c.id == entry_id)).rowcount == 1

    def version(self) -> str:
        return version_of((row.id, row.changed_ms) for row in self._connection.execute(_CHANGES))
