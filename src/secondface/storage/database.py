"""The engine and its transactions, for SQLite (WAL) on one machine and PostgreSQL beyond it.

Decides how a transaction begins, what time it is, who alone may do a task, and what a failure of the database is
called here. Must not know what is stored.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import zlib
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    create_engine,
    event,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from secondface.confidential import make_private
from secondface.domain.ports import Clock
from secondface.errors import DiskFull, InvalidSetting, StorageUnavailable

_BUSY_MS = 30_000
_SQLITE_NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
_POSTGRES_NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"


class Database:
    """One database. Its own clock says what time it is, unless another is given."""

    def __init__(self, url: str, clock: Clock | None = None, connections: int = 8) -> None:
        self._url = _parsed(url)
        self._clock = clock
        self.engine = _engine(self._url, connections)
        # SQLite lets writers wait by sleeping ever longer, which starves some of them; threads of one process can
        # take turns without it. Between processes its own way remains.
        self._turn = threading.Lock() if self.is_sqlite else nullcontext()
        self._now: ColumnElement[int] = literal_column(_SQLITE_NOW if self.is_sqlite else _POSTGRES_NOW, BigInteger)

    @property
    def is_sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    @property
    def file(self) -> Path | None:
        """Where SQLite's lies; a server has none."""
        return Path(self._url.database) if self.is_sqlite and self._url.database else None

    @staticmethod
    def file_of(url: str) -> Path | None:
        """The same of an address, without opening it. Raises InvalidSetting."""
        parsed = _parsed(url)
        return Path(parsed.database) if parsed.get_backend_name() == "sqlite" and parsed.database else None

    def now(self) -> ColumnElement[int]:
        """The moment in ms, as an expression inside a statement."""
        if self._clock is not None:
            return literal(self._clock.now_ms(), BigInteger)
        return self._now

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Generator[Connection, None, None]:
        """A connection in a transaction that is committed at the end, or rolled back. Raises StorageUnavailable."""
        engine = self.engine.execution_options(read_only=read_only, postgresql_readonly=read_only)
        with nullcontext() if read_only else self._turn, translated(), engine.begin() as connection:
            yield connection

    @contextmanager
    def sole(self, task: str) -> Generator[bool, None, None]:
        """Whether this caller alone does a task now. A process that dies gives its task back at once."""
        if self.is_sqlite:
            with _file_lock(Path(f"{self._url.database}.{task}.lock")) as mine:
                yield mine
            return
        number = zlib.crc32(task.encode())
        with translated(), self.engine.connect() as connection, connection.begin():
            yield bool(connection.scalar(select(func.pg_try_advisory_xact_lock(number))))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@contextmanager
def translated() -> Generator[None, None, None]:
    """Failures of the database under our names."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.errors.DiskFull) or "disk is full" in str(error.orig):
            raise DiskFull(str(error.orig)) from error
        raise StorageUnavailable(_first_line(error.orig), lost_race=_lost_race(error.orig)) from error
    except SQLAlchemyError as error:
        raise StorageUnavailable(_first_line(error)) from error


def _first_line(error: BaseException | None) -> str:
    return str(error).strip().split("\n")[0]


def _lost_race(error: BaseException | None) -> bool:
    """Whether the same transaction can be expected to pass if it is begun again."""
    races = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
    return isinstance(error, races) or (isinstance(error, sqlite3.OperationalError) and "locked" in str(error))


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidSetting("The database is a URL: sqlite:///FILE or postgresql://USER@HOST/NAME.") from error
    match parsed.get_backend_name():
        case "sqlite" if parsed.database and parsed.database != ":memory:":
            return parsed
        case "postgresql":
            return parsed.set(drivername="postgresql+psycopg")
        case _:
            raise InvalidSetting("The database is sqlite:///FILE or postgresql://USER@HOST/NAME.")


def _engine(url: URL, connections: int) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_size=connections, max_overflow=connections, pool_pre_ping=True)
    assert url.database is not None
    _make_private_file(Path(url.database))
    engine = create_engine(
        url, pool_size=connections, max_overflow=connections, connect_args={"timeout": _BUSY_MS / 1000}
    )
    event.listen(engine, "connect", _on_sqlite_connect)
    event.listen(engine, "begin", _on_sqlite_begin)
    return engine


def _make_private_file(path: Path) -> None:
    """An empty database, if there is none: what SQLite writes beside it takes its mode. Raises OSError."""
    make_private(path.parent)
    with suppress(OSError):  # whoever connects is told what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _on_sqlite_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver's own BEGIN would come late, after a read, and deadlock writers
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")  # a commit that was answered survives a power cut: it may be money
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _on_sqlite_begin(connection: Connection) -> None:
    read_only = connection.get_execution_options().get("read_only", False)
    connection.exec_driver_sql(f"PRAGMA query_only = {int(read_only)}")
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


@contextmanager
def _file_lock(path: Path) -> Generator[bool, None, None]:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
