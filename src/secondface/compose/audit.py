"""From settings to the audit of this machine's service, for who sits at it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from secondface.compose.stores import open_stores, secrets_folder, signer_of
from secondface.control.audit import AuditTrail
from secondface.domain.audit import Finding
from secondface.domain.audit_file import check
from secondface.errors import InvalidSetting
from secondface.settings import Settings
from secondface.storage import migrations
from secondface.storage.signing import AUDIT_KEY, holds


@contextmanager
def opened_audit(settings: Settings) -> Generator[AuditTrail]:
    """The audit in the database of the settings; nothing is made where there is none. Raises InvalidSetting."""
    if not settings.database and not (Path(settings.data_dir) / "service.db").exists():
        raise InvalidSetting(
            f"data_dir: there is no service's database in {settings.data_dir}. Name its folder in SECONDFACE_DATA_DIR, "
            "or the service by --server."
        )
    stores = open_stores(settings)
    try:
        if migrations.current(stores.database) != migrations.newest():
            raise InvalidSetting("The database is of another version; `secondface serve` brings it up to date.")
        yield AuditTrail(stores.transactions, signer_of(settings), settings.audit_retain_days)
    finally:
        stores.close()


def checked_file(settings: Settings, lines: Iterable[str], public_key: str | None) -> Finding:
    """What an exported audit says, signed by the given key, else by that of this machine's service where it has one."""
    if public_key is None and (secrets_folder(settings) / AUDIT_KEY).exists():
        public_key = signer_of(settings).public_key
    return check(lines, holds, public_key)
