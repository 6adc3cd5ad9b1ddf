"""What can be looked at of a service's guards on its machine: books, files, scanner. Looking changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from secondface.compose.service import scanner_of
from secondface.compose.stores import CODES_KEY, secrets_folder
from secondface.control.accounts import accounts_of
from secondface.domain.accounts import Account, Key
from secondface.settings import Settings
from secondface.storage.database import Database
from secondface.storage.exposure import Exposure, exposure_of
from secondface.storage.signing import AUDIT_KEY
from secondface.storage.sql import SqlTransactions

TRIAL = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
"""The text by which scanners are tried out everywhere (EICAR); it does nothing."""


@dataclass(frozen=True, slots=True)
class Books:
    """Accounts with their keys that hold, as the database has them now."""

    accounts: tuple[Account, ...]
    keys: tuple[Key, ...]


def books_of(settings: Settings) -> Books | None:
    """The books; None where no service has begun yet. Raises StorageUnavailable."""
    database = _opened(settings)
    if database is None:
        return None
    try:
        with SqlTransactions(database).view() as work:
            accounts, now_ms = tuple(accounts_of(work)), work.now_ms()
            keys = tuple(key for each in accounts for key in work.accounts.keys(each.id) if key.holds(now_ms))
        return Books(accounts, keys)
    finally:
        database.close()


def database_exposure(settings: Settings) -> Exposure | None:
    """How the database is reached; None where no service has begun yet. Raises StorageUnavailable."""
    database = _opened(settings)
    if database is None:
        return None
    try:
        return exposure_of(database)
    finally:
        database.close()


def scanner_finds(settings: Settings) -> str | None:
    """What the scanner calls the trial text; None where it finds nothing in it. Raises ScannerUnavailable."""
    scanner = scanner_of(settings)
    return None if scanner is None else scanner.scan([TRIAL])


def service_files(settings: Settings) -> dict[Path, tuple[Path, ...]]:
    """The folders of the service and what in each must stay with its owner, as far as they exist."""
    data, keys = settings.data_dir.absolute(), secrets_folder(settings)
    files = (data / "links.key", data / "service.db", keys / AUDIT_KEY, keys / CODES_KEY)
    return {
        folder: tuple(path for path in files if path.parent == folder and path.exists())
        for folder in (data, keys) if folder.exists()
    }  # fmt: skip


def _opened(settings: Settings) -> Database | None:
    """The database, unless looking would make it."""
    url = settings.database.get_secret_value() or f"sqlite:///{settings.data_dir.absolute() / 'service.db'}"
    file = Database.file_of(url)
    return None if file is not None and not file.exists() else Database(url)
