"""What a claim costs while history grows from a thousand to a million jobs, in SQLite and PostgreSQL if it is there.

Usage: python -m bench.service_claims [MOST_ROWS]

Beside it the other statements of a job's life. The ledger and the journal grow with the jobs.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, Table, Text, cast, create_engine, insert, literal, select

from bench.tables import machine, told
from secondface.control.admission import Admission, Probed, Rate, Submission
from secondface.control.auth import Caller, Keyring
from secondface.control.scheduler import LeaseDesk
from secondface.control.settlement import Settlement
from secondface.domain import ledger
from secondface.domain.accounts import Account, Plan
from secondface.domain.ports import Offer, Usage
from secondface.storage import migrations
from secondface.storage.database import Database
from secondface.storage.doorbell import LocalDoorbell
from secondface.storage.machine import RandomIds
from secondface.storage.sql import SqlTransactions
from secondface.storage.tables import ATTEMPTS, ENTRIES, EVENTS, JOBS, POSTINGS
from tests.conformance import postgres

HISTORY = (1_000, 10_000, 100_000, 1_000_000)
ACCOUNTS = 30
QUEUE = 300
"""Jobs that wait while claims are timed."""
ROUNDS, WARM = 100, 10
FLAT = 1.5
"""How many times the cost at the shortest history a claim may cost at the longest."""
_SPEC = '{"sources":[[{"key":"uploads/a/upl_01","name":"source-0.jpg"}]],"target":{"key":"uploads/a/upl_02"}}' * 6
_OFFER = Offer(worker="bench", tiers=("cpu",))


@dataclass
class Desk:
    """The use cases over one database, and who calls."""

    database: Database
    callers: list[Caller] = field(default_factory=list[Caller])

    def __post_init__(self) -> None:
        migrations.upgrade(self.database)
        self.transactions = SqlTransactions(self.database)
        settlement, bell, ids = Settlement(RandomIds()), LocalDoorbell(), RandomIds()
        self.admission = Admission(self.transactions, settlement, bell, ids)
        self.leases = LeaseDesk(self.transactions, settlement, bell)
        self.keyring = Keyring(self.transactions, ids)
        for number in range(ACCOUNTS):
            name = f"a{number}"
            with self.transactions.begin() as work:
                work.accounts.save(Account(id=name, name=name, plan=Plan(max_running=10**6)))
                work.ledger.post(ledger.deposit(name, 10**15, f"pay_{name}", work.now_ms(), "CNY"))
            self.callers.append(self.keyring.caller(self.keyring.issue(name, "owner")[1]))

    def submit(self, number: int) -> None:
        """One job of an account whose turn it is."""
        submission = Submission(
            spec=_SPEC, digest="d", tier="cpu", probed=Probed(), rate=Rate(active_us=400_000)
        )  # fmt: skip
        self.admission.submit(self.callers[number % ACCOUNTS], submission)


def timed(spent: dict[str, list[float]], name: str, step: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    result = step()
    spent.setdefault(name, []).append((time.perf_counter() - began) * 1000)
    return result


def life(desk: Desk, number: int, spent: dict[str, list[float]]) -> None:
    """One job from its submission to its end, and what is asked beside it, with QUEUE others waiting."""
    usage = Usage(run_ms=400, device_active_ms=300, frames=1)
    timed(spent, "submit", lambda: desk.submit(number))
    grant = timed(spent, "claim", lambda: desk.leases.claim(_OFFER))
    timed(spent, "beat", lambda: desk.leases.beat(grant.lease, usage))
    timed(spent, "succeed", lambda: desk.leases.succeed(grant.lease, usage, "jobs/x/1/out.png"))
    timed(spent, "sweep", desk.leases.sweep)
    with desk.transactions.view() as work:
        timed(spent, "queues", work.jobs.queues)
        timed(spent, "newest 50", lambda: work.jobs.page("a1", limit=50))
        timed(spent, "running", lambda: work.jobs.page("a1", ["running"], limit=8))


def grow(database: Database, count: int) -> None:
    """Write `count` jobs that have ended, each a copy of one that really did."""
    with database.transaction(read_only=True) as connection:
        first = connection.scalars(select(JOBS.c.id).where(JOBS.c.state == "succeeded")).first()
    series = select(literal(1, BigInteger).label("n")).cte("series", recursive=True)
    series = series.union_all(select(series.c.n + 1).where(series.c.n < count))
    name = literal("job_0") + cast(series.c.n, Text)
    account = literal("a") + cast(series.c.n % ACCOUNTS, Text)
    number = -series.c.n  # what is written later counts up from zero as before
    event = select(EVENTS.c.number).where(EVENTS.c.subject == first).limit(1).scalar_subquery()
    entry = select(ENTRIES.c.number).where(ENTRIES.c.subject == first).limit(1).scalar_subquery()
    copies: tuple[tuple[Table, Any, dict[str, Any]], ...] = (
        (JOBS, JOBS.c.id == first, {"id": name, "account": account}),
        (ATTEMPTS, ATTEMPTS.c.job_id == first, {"job_id": name}),
        (
            EVENTS, EVENTS.c.number == event,
            {"number": number, "subject": name, "account": account, "position": number},
        ),
        (ENTRIES, ENTRIES.c.number == entry, {"number": number, "subject": name}),
        (POSTINGS, POSTINGS.c.entry == entry, {"entry": number}),
    )  # fmt: skip
    for table, which, changed in copies:
        columns = [changed.get(column.name, column) for column in table.columns]
        rows = select(*columns).select_from(table.join(series, literal(value=True))).where(which)
        with database.transaction() as connection:
            connection.execute(insert(table).from_select([column.name for column in table.columns], rows))
        settle(database)  # PostgreSQL checks the keys of the next table by what it knows of this one


def settle(database: Database) -> None:
    """Let the database finish what so many rows at once have left it to do, as it would have in the years between."""
    if database.is_sqlite:
        with closing(sqlite3.connect(str(database.engine.url.database))) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for words in ("VACUUM ANALYZE", "CHECKPOINT"):
            connection.exec_driver_sql(words)


@contextmanager
def sqlite() -> Generator[Callable[[str], str]]:
    """Makes databases by name."""
    with tempfile.TemporaryDirectory() as folder:
        yield lambda name: f"sqlite:///{Path(folder) / name}.db"


@contextmanager
def postgresql() -> Generator[Callable[[str], str]]:
    """The same on a server of its own, which does not wait for its disk."""
    with postgres.running() as url:

        def made(name: str) -> str:
            server = create_engine(url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
            with server.connect() as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name}")
            server.dispose()
            return f"{url.rpartition('/')[0]}/{name}"

        yield made


def measured(make: Callable[[str], str], histories: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each length of history: medians in ms, and the 99th percentile of a claim.

    The databases take turns, job by job, so that whatever else the machine does falls on all of them alike.
    """
    desks: dict[int, Desk] = {}
    spent: dict[int, dict[str, list[float]]] = {length: {} for length in histories}
    for length in histories:
        desk = desks[length] = Desk(Database(make(f"h{length}")))
        for number in range(QUEUE):
            desk.submit(number)
        life(desk, 0, {})
        grow(desk.database, length)
    for number in range(WARM + ROUNDS):
        for length, desk in desks.items():
            life(desk, number, spent[length] if number >= WARM else {})
    for desk in desks.values():
        desk.database.close()
    return [_row(length, spent[length]) for length in histories]


def _row(length: int, spent: dict[str, list[float]]) -> dict[str, Any]:
    medians = {name: statistics.median(times) for name, times in spent.items()}
    p99 = statistics.quantiles(spent["claim"], n=100)[-1]
    return {"ended jobs": length, "claim": medians.pop("claim"), "claim p99": p99, **medians}


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else HISTORY[-1]
    before = machine()
    histories = [each for each in HISTORY if each <= most]
    databases = {"SQLite": sqlite()}
    if postgres.binaries() is not None:
        databases["PostgreSQL"] = postgresql()
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, opened in databases.items():
        with opened as make:
            tables[f"{name}: ms, medians of {ROUNDS}, {QUEUE} jobs waiting"] = measured(make, histories)
    told("service_claims", tables, before)
    steep = {name: rows[-1]["claim"] / rows[0]["claim"] for name, rows in tables.items()}
    print(
        ", ".join(f"{name.partition(':')[0]}: a claim costs {ratio:.2f} times as much" for name, ratio in steep.items())
    )
    if max(steep.values()) > FLAT:
        raise SystemExit(f"At most {FLAT} times is called flat.")


if __name__ == "__main__":
    main()
