"""One-time codes and what is left of ended jobs, in SQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, literal_column, or_, select, update

from secondface.domain.accounts import Actor
from secondface.domain.one_time_codes import CodeBook
from secondface.domain.retention import HOUR_MS, HeldFile, Remains
from secondface.storage.rows import Row
from secondface.storage.sql_ledger import insert_or_ignore
from secondface.storage.tables import CODES, REMAINS

_LOCKED_BOOK = select(CODES).where(CODES.c.key_id == bindparam("key_id")).with_for_update()
_FOUND = select(REMAINS).where(REMAINS.c.job_id.in_(bindparam("ids", expanding=True)))
_SOMETHING_LEFT: ColumnElement[bool] = literal_column(
    "(inputs IN ('kept', 'deleting') OR output IN ('kept', 'deleting'))"
)
"""Written into the statement, so that the partial index can be chosen."""


class SqlCodes:
    """Codes inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def save(self, book: CodeBook) -> None:
        row = asdict(book)
        if not insert_or_ignore(self._connection, CODES, row):
            self._connection.execute(update(CODES).where(CODES.c.key_id == book.key_id).values(row))

    def lock(self, key_id: str) -> CodeBook | None:
        row = self._connection.execute(_LOCKED_BOOK, {"key_id": key_id}).mappings().one_or_none()
        return CodeBook(**row) if row else None

    def drop(self, key_id: str) -> bool:
        return self._connection.execute(delete(CODES).where(CODES.c.key_id == key_id)).rowcount == 1


class SqlRemains:
    """What is left, inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def save(self, remains: Remains) -> None:
        row = _row(remains)
        if not insert_or_ignore(self._connection, REMAINS, row):
            mine = REMAINS.c.job_id == remains.job_id
            self._connection.execute(update(REMAINS).where(mine).values(row))

    def find(self, job_ids: Iterable[str]) -> Mapping[str, Remains]:
        ids = list(job_ids)
        if not ids:
            return {}
        found = self._connection.execute(_FOUND, {"ids": ids}).mappings()
        return {row["job_id"]: _remains(row) for row in found}

    def due(self, at_ms: int, inputs_h: int, output_h: int, limit: int = 100) -> Sequence[Remains]:
        columns = REMAINS.c
        inputs_until = columns.ended_ms + func.coalesce(columns.inputs_h, inputs_h) * HOUR_MS
        output_until = columns.ended_ms + func.coalesce(columns.output_h, output_h) * HOUR_MS
        query = select(REMAINS).where(
            _SOMETHING_LEFT,
            or_(
                columns.inputs == "deleting",
                columns.output == "deleting",
                (columns.inputs == "kept") & (inputs_until <= at_ms),
                (columns.output == "kept") & (output_until <= at_ms),
            ),
        )
        rows = self._connection.execute(query.order_by(columns.ended_ms, columns.job_id).limit(limit)).mappings()
        return [_remains(row) for row in rows]

    def set_hours(self, account: str, inputs_h: int | None, output_h: int | None) -> None:
        mine = (_SOMETHING_LEFT, REMAINS.c.account == account)
        self._connection.execute(update(REMAINS).where(*mine).values(inputs_h=inputs_h, output_h=output_h))


def _row(remains: Remains) -> dict[str, Any]:
    plain = {name: value for name, value in asdict(remains).items() if name not in ("files", "actor")}
    return plain | {
        "files": json.dumps([asdict(each) for each in remains.files], ensure_ascii=False),
        "actor": remains.actor.name,
        "address": remains.actor.address,
    }


def _remains(row: Row) -> Remains:
    plain = ("job_id", "account", "ended_ms", "inputs", "output", "inputs_h", "output_h", "reason")
    return Remains(
        **{name: row[name] for name in plain}, actor=Actor(row["actor"], row["address"]),
        files=tuple(HeldFile(**each) for each in json.loads(row["files"])),
    )  # fmt: skip
