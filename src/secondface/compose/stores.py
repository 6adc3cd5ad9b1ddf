"""From settings to the stores of a service: its database, its files, and the secret that signs links to them."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from secondface.domain.ports import Clock, Transactions
from secondface.errors import StorageUnavailable
from secondface.settings import Settings
from secondface.storage.database import Database
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock
from secondface.storage.objects import FolderStore
from secondface.storage.sql import SqlTransactions

_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Stores:
    """What every process of a service opens."""

    database: Database
    transactions: Transactions
    objects: FolderStore
    links: Links
    clock: Clock

    def close(self) -> None:
        """Close the database's connections."""
        self.database.close()


def open_stores(settings: Settings, base_url: str = "http://localhost") -> Stores:
    """The stores that the settings name; whoever serves brings the tables up to date. Raises StorageUnavailable."""
    folder = settings.data_dir.absolute()
    clock = MachineClock()
    links = Links(base_url, (_link_secret(folder),), clock)
    database = Database(settings.database.get_secret_value() or f"sqlite:///{folder / 'service.db'}")
    return Stores(database, SqlTransactions(database), FolderStore(folder / "objects", links), links, clock)


def _link_secret(folder: Path) -> bytes:
    """The secret of this service, made at its first start; links stay good when it is started again."""
    path = folder / "links.key"
    try:
        # Faces, secrets of webhooks, the journal: nobody else on this machine has business there.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = folder / f"links.{secrets.token_hex(8)}.new"
        if not path.exists():
            descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_SECRET_BYTES))
            try:
                os.link(fresh, path)  # of several processes that start at once, the first one's secret stays
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
        return path.read_bytes()
    except OSError as error:
        raise StorageUnavailable(f"{error.filename}: {error.strerror}") from error
