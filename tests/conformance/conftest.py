"""The adapters that each suite runs on: memory, SQLite and PostgreSQL, all on one clock that the test moves."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from secondface.domain import jobs
from secondface.domain.accounts import Account, Plan
from secondface.domain.jobs import Job
from secondface.domain.ports import Transactions
from secondface.domain.pricing import PriceRow
from secondface.storage import migrations
from secondface.storage.database import Database
from secondface.storage.memory import MemoryTransactions
from secondface.storage.sql import SqlTransactions
from secondface.storage.tables import METADATA
from tests.conformance import postgres
from tests.hand_clock import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    if postgres.binaries() is None:
        pytest.skip(postgres.INSTALL)
    with postgres.running() as url:
        yield url


@pytest.fixture(scope="session")
def migrated_postgres(postgres_url: str) -> str:
    """A database with the schema; each test empties its tables."""
    database = Database(postgres_url)
    migrations.upgrade(database)
    database.close()
    return postgres_url


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema; each test takes a copy."""
    path = tmp_path_factory.mktemp("template") / "service.db"
    database = Database(f"sqlite:///{path}")
    migrations.upgrade(database)
    database.close()
    return path


@dataclass(frozen=True)
class Place:
    """Where a suite's stores are: more connections to the same service can be opened on it."""

    open: Callable[[], Transactions]
    name: str
    database: Database | None = None


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, clock: HandClock, tmp_path: Path) -> Iterator[Place]:
    """Each adapter in turn, migrated and empty."""
    if request.param == "memory":
        transactions = MemoryTransactions(clock)
        yield Place(lambda: transactions, "memory")
        return
    if request.param == "sqlite":
        copy = shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "service.db")
        database = Database(f"sqlite:///{copy}", clock)
    else:
        database = Database(request.getfixturevalue("migrated_postgres"), clock)
        empty(database)
    yield Place(lambda: SqlTransactions(database), request.param, database)
    database.close()


def empty(database: Database) -> None:
    """Empty every table, and count from one again."""
    with database.transaction() as connection:
        names = ", ".join(f'"{table.name}"' for table in METADATA.sorted_tables)
        connection.exec_driver_sql(f"TRUNCATE {names} RESTART IDENTITY CASCADE")


@pytest.fixture
def store(place: Place) -> Transactions:
    """The stores of one adapter, with two accounts."""
    transactions = place.open()
    with transactions.begin() as work:
        for name in ("a", "b"):
            work.accounts.save(Account(id=name, name=name.upper(), plan=Plan(max_running=3)))
    return transactions


def new_job(number: int | str, account: str = "a", **fields: object) -> Job:
    """A job that is not stored yet."""
    plain = Job(
        id=f"job_{number:>04}", account=account, tier="cpu", price=PriceRow(tier="cpu", price_micros=300),
        created_ms=1_790_000_000_000, expected_ms=1000,
    )  # fmt: skip
    return replace(plain, **fields)  # type: ignore[arg-type]


def submitted(store: Transactions, *new: Job, approval: bool = False) -> list[Job]:
    """Store some jobs as accepted, each in a transaction of its own."""
    stored: list[Job] = []
    for job in new:
        with store.begin() as work:
            stored.append(work.jobs.add(jobs.submit(job, approval=approval)[0]))
    return stored
