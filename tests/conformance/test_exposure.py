"""What a database tells of how it is reached."""

from __future__ import annotations

from pathlib import Path

from secondface.storage.database import Database
from secondface.storage.exposure import Exposure, exposure_of


def test_a_file_is_named(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")
    assert exposure_of(database) == Exposure(file=tmp_path / "x.db")
    assert Database.file_of(f"sqlite:///{tmp_path / 'x.db'}") == tmp_path / "x.db"
    assert Database.file_of("postgresql://app@db/x") is None
    database.close()


def test_a_server_tells_how_it_was_reached(postgres_url: str) -> None:
    database = Database(postgres_url)
    found = exposure_of(database)
    database.close()
    assert found == Exposure(on_this_machine=True, encrypted=False, listens="127.0.0.1")
