"""From settings to the stores of a service: its database, its files, and the secret that signs links to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from secondface.domain.ports import Clock, Transactions
from secondface.settings import Settings
from secondface.storage.database import Database
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock
from secondface.storage.objects import FolderStore
from secondface.storage.sealing import AesSealer
from secondface.storage.secret_files import secret_file
from secondface.storage.signing import AuditKey, audit_key
from secondface.storage.sql import SqlTransactions

CODES_KEY = "codes.key"
"""The file of the key that encrypts one-time codes."""


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


def secrets_folder(settings: Settings) -> Path:
    """Where the service's own keys lie."""
    return Path(settings.secrets_dir or settings.data_dir).absolute()


def signer_of(settings: Settings) -> AuditKey:
    """The key that vouches for the audit. Raises StorageUnavailable."""
    return audit_key(secrets_folder(settings))


def sealer_of(settings: Settings) -> AesSealer:
    """What encrypts the secrets of one-time codes. Raises StorageUnavailable."""
    return AesSealer(secret_file(secrets_folder(settings) / CODES_KEY))


def open_stores(settings: Settings, base_url: str = "http://localhost") -> Stores:
    """The stores that the settings name; whoever serves brings the tables up to date. Raises StorageUnavailable."""
    folder = settings.data_dir.absolute()
    clock = MachineClock()
    links = Links(base_url, (secret_file(folder / "links.key"),), clock)
    database = Database(settings.database.get_secret_value() or f"sqlite:///{folder / 'service.db'}")
    return Stores(database, SqlTransactions(database), FolderStore(folder / "objects", links), links, clock)
