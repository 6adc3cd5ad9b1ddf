"""What uploads take of their accounts' room, in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, select, true, update

from secondface.domain.uploads import UploadShare
from secondface.storage.sql_ledger import insert_or_ignore
from secondface.storage.tables import UPLOADS

_HELD = select(func.coalesce(func.sum(UPLOADS.c.size_bytes), 0)).where(
    UPLOADS.c.account == bindparam("account"), UPLOADS.c.id != bindparam("besides")
)
_AT_ONCE = 500
"""Names in one statement."""


class SqlUploads:
    """Shares inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def save(self, share: UploadShare) -> None:
        row = asdict(share)
        if not insert_or_ignore(self._connection, UPLOADS, row):
            self._connection.execute(update(UPLOADS).where(UPLOADS.c.id == share.id).values(row))

    def held_bytes(self, account: str, besides: str = "") -> int:
        return int(self._connection.scalars(_HELD, {"account": account, "besides": besides}).one())

    def of_key(self, key: str) -> Sequence[UploadShare]:
        return self._found(UPLOADS.c.key == key)

    def all(self, account: str | None = None) -> Sequence[UploadShare]:
        return self._found(true() if account is None else UPLOADS.c.account == account)

    def drop(self, share_ids: Iterable[str]) -> None:
        ids = list(share_ids)
        for first in range(0, len(ids), _AT_ONCE):
            some = ids[first : first + _AT_ONCE]
            self._connection.execute(delete(UPLOADS).where(UPLOADS.c.id.in_(some)))

    def _found(self, which: ColumnElement[bool]) -> Sequence[UploadShare]:
        rows = self._connection.execute(select(UPLOADS).where(which).order_by(UPLOADS.c.id)).mappings()
        return [UploadShare(**row) for row in rows]
