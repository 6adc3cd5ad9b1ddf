"""The schema's history: `upgrade` brings a database to the tables of this version, keeping what is in it."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, inspect, select

from secondface.storage.database import Database, translated

_LOCK = 0x5EC0DFACE
"""Number of PostgreSQL's advisory lock: two processes that start at once must not both migrate."""


def upgrade(database: Database, to: str = "head") -> None:
    """Apply what is missing up to a revision, in one transaction. Raises StorageUnavailable."""
    with database.transaction() as connection:
        if not database.is_sqlite:
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        with translated():
            command.upgrade(_config(connection), to)


def newest() -> str:
    """The revision that this version of secondface wants."""
    head = ScriptDirectory.from_config(_config(None)).get_current_head()
    assert head is not None
    return head


def current(database: Database) -> str | None:
    """The revision that a database is at; None where it is empty. Raises StorageUnavailable."""
    with database.transaction(read_only=True) as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
