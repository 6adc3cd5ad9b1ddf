"""Units of work over SQL: one connection in one transaction, seen through the stores of the ports."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import Connection, select

from secondface.domain.ports import UnitOfWork
from secondface.storage.database import Database
from secondface.storage.sql_accounts import SqlAccounts
from secondface.storage.sql_jobs import SqlJobs
from secondface.storage.sql_journal import SqlJournal
from secondface.storage.sql_ledger import SqlLedger
from secondface.storage.sql_outbox import SqlCache, SqlOutbox, SqlReplays
from secondface.storage.sql_protected import SqlProtected
from secondface.storage.sql_trust import SqlCodes, SqlRemains
from secondface.storage.sql_uploads import SqlUploads


class SqlUnitOfWork:
    """All stores on one connection."""

    def __init__(self, connection: Connection, database: Database, *, read_only: bool = False) -> None:
        self._connection, self._database = connection, database
        self._now_ms: int | None = None
        self.jobs = SqlJobs(connection, database)
        self.ledger = SqlLedger(connection, read_only=read_only)
        self.accounts = SqlAccounts(connection)
        self.journal = SqlJournal(connection)
        self.outbox = SqlOutbox(connection, database)
        self.protected = SqlProtected(connection)
        self.replays = SqlReplays(connection, database)
        self.cache = SqlCache(connection, database)
        self.codes, self.remains = SqlCodes(connection), SqlRemains(connection)
        self.uploads = SqlUploads(connection)

    def now_ms(self) -> int:
        if self._now_ms is None:
            self._now_ms = self._connection.scalars(select(self._database.now())).one()
        return self._now_ms


class SqlTransactions:
    """Transactions of one database, whose schema is there already (`migrations.upgrade`)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def begin(self) -> Generator[UnitOfWork, None, None]:
        with self._database.transaction() as connection:
            yield SqlUnitOfWork(connection, self._database)

    @contextmanager
    def view(self) -> Generator[UnitOfWork, None, None]:
        with self._database.transaction(read_only=True) as connection:
            yield SqlUnitOfWork(connection, self._database, read_only=True)

    def sole(self, task: str) -> AbstractContextManager[bool]:
        return self._database.sole(task)
