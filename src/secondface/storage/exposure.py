"""Who else could reach the database: what the connection itself tells, not what somebody meant to set up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from secondface.storage.database import Database


@dataclass(frozen=True, slots=True)
class Exposure:
    """What was seen of a database."""

    file: Path | None = None
    """SQLite's; a server has none."""
    on_this_machine: bool = True
    """Whether the connection leaves this machine."""
    encrypted: bool = False
    """Whether the connection is."""
    listens: str = ""
    """Addresses on which the server itself waits for connections."""


def exposure_of(database: Database) -> Exposure:
    """Ask the database how it is reached. Raises StorageUnavailable."""
    if database.file is not None:
        return Exposure(file=database.file)
    with database.transaction(read_only=True) as connection:
        local = connection.scalar(
            text("SELECT inet_server_addr() IS NULL OR inet_server_addr() <<= ANY (ARRAY['127.0.0.0/8'::inet, '::1'])")
        )
        encrypted = connection.scalar(text("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
        listens = connection.scalar(text("SELECT current_setting('listen_addresses')"))
    return Exposure(on_this_machine=bool(local), encrypted=bool(encrypted), listens=str(listens or ""))
