"""The schema that migrations make is the schema that the statements expect, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, inspect, select

from secondface.domain.accounts import Actor
from secondface.domain.jobs import Event
from secondface.errors import InvalidSetting, StorageUnavailable
from secondface.spec.marks import watermark_text_of_job
from secondface.storage import migrations
from secondface.storage.database import Database
from secondface.storage.sql_journal import SqlJournal
from secondface.storage.sql_trust import SqlRemains
from secondface.storage.tables import JOBS, METADATA


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        made = Database(f"sqlite:///{tmp_path / 'folder' / 'new.db'}")
    else:
        made = Database(request.getfixturevalue("postgres_url"))
        with made.transaction() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
    yield made
    if request.param == "postgres":
        migrations.upgrade(made)
    made.close()


def test_migrations_make_the_tables_of_this_version(database: Database) -> None:
    assert migrations.current(database) is None
    migrations.upgrade(database)
    assert migrations.current(database) == migrations.newest()
    with database.transaction() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_upgrading_again_changes_nothing(database: Database) -> None:
    migrations.upgrade(database)
    migrations.upgrade(database)
    assert migrations.current(database) == migrations.newest()


def test_partial_indexes_and_keys_are_those_of_the_tables(database: Database) -> None:
    """What the comparison above does not look at: conditions, orders and primary keys, made both ways."""
    migrations.upgrade(database)
    by_migration = shape(database)
    with database.transaction() as connection:
        found = MetaData()
        found.reflect(connection)
        found.drop_all(connection)
        METADATA.create_all(connection)
    by_tables = shape(database)
    assert by_migration == by_tables
    with database.transaction() as connection:
        METADATA.drop_all(connection)


def shape(database: Database) -> dict[str, object]:
    """What a database says of itself, by name."""
    with database.transaction() as connection:
        if database.is_sqlite:
            rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql <> ''")
            indexes: dict[str, object] = {name: " ".join(sql.split()) for name, sql in rows}
        else:
            rows = connection.exec_driver_sql("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'")
            indexes = {name: definition for name, definition in rows if name != "alembic_version_pkc"}
        seen = inspect(connection)
        names = [name for name in seen.get_table_names() if name != "alembic_version"]
        keys = {f"{name} key": seen.get_pk_constraint(name)["constrained_columns"] for name in names}
        foreign = {
            f"{name} refers": sorted((each["constrained_columns"], each["referred_table"]) for each in found)
            for name in names
            if (found := seen.get_foreign_keys(name))
        }
        columns = {
            f"{name} columns": [(each["name"], str(each["type"]), each["nullable"]) for each in seen.get_columns(name)]
            for name in names
        }
    return indexes | keys | foreign | columns


def test_a_journal_from_before_there_were_addresses_stays_whole(database: Database) -> None:
    """The digest was made by the first version of the schema, so the chain's rule is held to what it was."""
    migrations.upgrade(database, "0001")
    with database.transaction() as connection:
        connection.exec_driver_sql(_OLD_ROW)
    migrations.upgrade(database)
    with database.transaction() as connection:
        journal = SqlJournal(connection)
        journal.record("a", Actor("key:k", "192.0.2.7"), [Event("job_2", "job.accepted", 2)])
        assert journal.seal() == 1
        assert journal.broken() is None
        assert [each.actor.address for each in journal.audit(None)] == [None, "192.0.2.7"]


_OLD_ROW = """INSERT INTO events (account, actor, subject, kind, at_ms, facts, position, digest) VALUES
('a', 'key:k', 'job_1', 'job.accepted', 1, '{"state": "queued"}', 1,
'861a9dda5668b750a62a580b2a429d99d88214e938d27680a46a2f94399ee868')"""


@pytest.mark.parametrize("url", ["", "nonsense", "sqlite://", "sqlite:///:memory:", "mysql://x/y"])
def test_a_database_that_we_do_not_serve_is_refused(url: str) -> None:
    with pytest.raises(InvalidSetting):
        Database(url)


def test_a_database_that_does_not_answer_has_our_name_for_it() -> None:
    database = Database("postgresql://app@127.0.0.1:1/none")
    with pytest.raises(StorageUnavailable), database.transaction():
        pass
    database.close()


def test_a_file_that_is_no_database_has_our_name_for_it(tmp_path: Path) -> None:
    (tmp_path / "service.db").write_bytes(b"this is not a database, not at all, whatever its name says" * 99)
    database = Database(f"sqlite:///{tmp_path / 'service.db'}")
    with pytest.raises(StorageUnavailable), database.transaction():
        pass
    database.close()


def test_jobs_that_ended_before_leave_behind_what_they_have(database: Database) -> None:
    migrations.upgrade(database, "0002")
    with database.transaction() as connection:
        for name, state, ended_ms, result in _OLD_JOBS:
            connection.exec_driver_sql(_OLD_JOB.format(name=name, state=state, ended_ms=ended_ms, result=result))
    migrations.upgrade(database)
    with database.transaction() as connection:
        found = SqlRemains(connection).find([name for name, *_ in _OLD_JOBS])
    assert {name: (each.ended_ms, each.inputs, each.output) for name, each in found.items()} == {
        "job_good": (5, "kept", "kept"), "job_bad": (6, "kept", "none"),
    }  # fmt: skip


def test_jobs_from_before_are_found_by_their_watermarks(database: Database) -> None:
    migrations.upgrade(database, "0002")
    names = [f"job_{number:04}" for number in range(2001)]
    with database.transaction() as connection:
        for name in names:
            connection.exec_driver_sql(_OLD_JOB.format(name=name, state="queued", ended_ms="NULL", result="NULL"))
    migrations.upgrade(database)
    with database.transaction() as connection:
        found = connection.execute(select(JOBS.c.id, JOBS.c.watermark)).all()
    assert dict(tuple(each) for each in found) == {name: watermark_text_of_job(name) for name in names}


_OLD_JOBS = (
    ("job_good", "succeeded", "5", "'jobs/job_good/1/out.png'"), ("job_bad", "failed", "6", "NULL"),
    ("job_live", "queued", "NULL", "NULL"),
)  # fmt: skip
_OLD_JOB = """INSERT INTO jobs (id, account, key_id, tier, priority, state, spec, price, currency, hold_micros,
expected_ms, turn, created_ms, queued_ms, not_before_ms, ended_ms, result, done_frames, total_frames, suspect,
last_attempt) VALUES ('{name}', 'a', 'k', 'cpu', 0, '{state}', '{{}}', '{{}}', 'CNY', 0, 1, 0, 1, 1, 0, {ended_ms},
{result}, 0, 0, false, 0)"""
