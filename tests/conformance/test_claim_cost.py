"""A claim looks at live rows only, however long the history is; and the database's own clock grants the lease."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import event, insert, text

from secondface.domain import jobs
from secondface.domain.accounts import Account
from secondface.domain.ports import Offer, UnitOfWork
from secondface.storage.database import Database
from secondface.storage.rows import job_row
from secondface.storage.sql import SqlTransactions
from secondface.storage.tables import JOBS
from tests.conformance.conftest import empty, new_job, submitted

HISTORY = 20_000


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with its own clock, an account, and a long history."""
    if request.param == "sqlite":
        copy = shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "service.db")
        made = Database(f"sqlite:///{copy}")
    else:
        made = Database(request.getfixturevalue("migrated_postgres"))
        empty(made)
    with SqlTransactions(made).begin() as work:
        work.accounts.save(Account(id="a", name="A"))
    yield made
    made.close()


def with_history(database: Database) -> None:
    old = replace(new_job(0), state="succeeded", ended_ms=1, cause="done")
    row = job_row(old)
    with database.transaction() as connection:
        connection.execute(insert(JOBS), [row | {"id": f"old_{number}"} for number in range(HISTORY)])
    if not database.is_sqlite:
        with database.transaction() as connection:
            connection.execute(text("ANALYZE jobs"))


def sent_by(database: Database, use: Callable[[UnitOfWork], object]) -> list[tuple[str, object]]:
    """The statements that a use of the stores sends, taken from the driver."""
    sent: list[tuple[str, object]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        if statement.startswith(("UPDATE", "SELECT", "DELETE")):
            sent.append((statement, parameters))

    with SqlTransactions(database).begin() as work:
        event.listen(database.engine, "before_cursor_execute", note)
        use(work)
        event.remove(database.engine, "before_cursor_execute", note)
    return sent


def plans(database: Database, sent: list[tuple[str, object]]) -> list[str]:
    """How the database would go about some statements."""
    explain = "EXPLAIN QUERY PLAN " if database.is_sqlite else "EXPLAIN "
    with database.transaction() as connection:
        return [
            "\n".join(str(row) for row in connection.exec_driver_sql(explain + statement, parameters))  # type: ignore[arg-type]
            for statement, parameters in sent
        ]


def claim(work: UnitOfWork) -> None:
    assert work.jobs.claim(Offer(worker="w1", tiers=("cpu",))) is not None


def test_a_claim_goes_along_the_queue(database: Database) -> None:
    with_history(database)
    submitted(SqlTransactions(database), new_job(1), new_job(2))
    [plan] = plans(database, [each for each in sent_by(database, claim) if "RETURNING" in each[0]])
    assert "ix_jobs_queue" in plan
    assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize(
    "use",
    [
        claim,
        lambda work: work.jobs.lock("job_0001"),
        lambda work: work.jobs.add(jobs.submit(new_job(3))[0]),
        lambda work: work.jobs.overdue(9),
        lambda work: work.jobs.queues(),
        lambda work: work.jobs.page("a", ["running"]),
        lambda work: work.jobs.page(None, ["queued", "running"]),
        lambda work: work.jobs.page("a", limit=3),
    ],
    ids=["claim", "lock", "add", "overdue", "queues", "running of one", "live of all", "page"],
)
def test_nothing_that_is_done_often_reads_the_history(database: Database, use: Callable[[UnitOfWork], object]) -> None:
    with_history(database)
    submitted(SqlTransactions(database), new_job(1), new_job(2))
    sent = sent_by(database, use)
    assert sent
    for plan in plans(database, sent):
        assert "Seq Scan on jobs" not in plan, plan
        assert not re.search(
            r"SCAN jobs(?! USING INDEX ix_jobs_(queue|turns|running|leases|deadlines|live)\b)", plan
        ), plan


def test_the_lease_is_granted_on_the_clock_of_the_database(database: Database) -> None:
    submitted(SqlTransactions(database), new_job(1))
    before_ms = time.time_ns() // 10**6
    with SqlTransactions(database).begin() as work:
        found = work.jobs.claim(Offer(worker="w1", tiers=("cpu",), lease_ms=5_000))
    after_ms = time.time_ns() // 10**6
    assert found is not None
    assert before_ms - 2 <= found[0].attempts[0].leased_ms <= after_ms + 2
    assert jobs.lease_of(found[0]).until_ms == found[0].attempts[0].leased_ms + 5_000


def test_a_lease_runs_out_by_itself(database: Database) -> None:
    transactions = SqlTransactions(database)
    submitted(transactions, new_job(1), new_job(2))
    with transactions.begin() as work:
        for lease_ms in (1, 600_000):
            assert work.jobs.claim(Offer(worker="w1", tiers=("cpu",), lease_ms=lease_ms)) is not None
    time.sleep(0.01)
    with transactions.view() as work:
        assert work.jobs.overdue(9) == ["job_0001"]


def test_the_moment_of_a_transaction_stands_still(database: Database) -> None:
    before_ms = time.time_ns() // 10**6
    with SqlTransactions(database).begin() as work:
        first = work.now_ms()
        time.sleep(0.01)
        assert work.now_ms() == first
    assert before_ms - 2 <= first <= time.time_ns() // 10**6 + 2


def test_skip_locked_is_said_where_it_means_something(database: Database) -> None:
    submitted(SqlTransactions(database), new_job(1))
    taken = next(statement for statement, _ in sent_by(database, claim) if "RETURNING" in statement)
    assert ("FOR UPDATE OF jobs SKIP LOCKED" in taken) == (not database.is_sqlite)
