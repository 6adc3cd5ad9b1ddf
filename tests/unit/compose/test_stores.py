"""The stores of a service: where they lie, and the secret that outlives a restart."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from secondface.compose.stores import open_stores
from secondface.errors import InvalidSetting, StorageUnavailable
from secondface.settings import load_settings
from secondface.storage import migrations


def test_a_fresh_folder_becomes_a_service_that_can_be_opened_again(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path / "new" / "data")
    first = open_stores(settings, "http://here/files")
    migrations.upgrade(first.database)
    first.objects.put("a/b.png", [b"bytes"], "image/png")
    link = first.objects.link("a/b.png", "GET", 60)
    first.close()
    second = open_stores(settings, "http://here/files")
    with second.transactions.view() as work:
        assert work.jobs.queues() == []
    assert b"".join(second.objects.read("a/b.png")) == b"bytes"
    expires, signature = link.split("expires=")[1].split("&signature=")
    second.links.check("a/b.png", "GET", expires, signature)
    second.close()


def test_the_secret_is_for_its_owner_only_and_the_first_one_stays(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path)
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: open_stores(settings), range(8)))
    secret = tmp_path / "links.key"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert len(secret.read_bytes()) == 32
    assert len({stores.links.sign("a/b.png", "GET", 10**9).split("signature=")[1] for stores in opened}) <= 2
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("links")] == ["links.key"]
    for stores in opened:
        stores.close()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageUnavailable):
        open_stores(load_settings(data_dir=tmp_path / "file" / "data"))


def test_a_database_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting):
        open_stores(load_settings(data_dir=tmp_path, database="mysql://x/y"))
