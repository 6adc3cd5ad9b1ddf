"""The last steps of an output: signed in place, read back, or not handed out."""

from __future__ import annotations

import errno
import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import pytest

from secondface.errors import DiskFull, MarkMissing
from secondface.media.images import write_still
from secondface.media.marks import read_stored_marks
from secondface.pipeline import sealing
from secondface.pipeline.sealing import Seal, sign_in_place, statement_of
from secondface.pipeline.verification import verify_file
from secondface.provenance.metadata import metadata_marks, read_marks
from secondface.provenance.signing import ContentSigner
from secondface.spec.schemas import RunRequest
from tests.signed_files import PRODUCE_ID, SAID, STILLS, VIDEOS, key_in, marked, picture, plain_clip


@pytest.fixture
def signer(tmp_path: Path) -> ContentSigner:
    return ContentSigner(key_in(tmp_path / "data"))


@pytest.mark.parametrize("suffix", [*STILLS, *VIDEOS])
def test_a_signed_output_keeps_its_one_label(tmp_path: Path, signer: ContentSigner, suffix: str) -> None:
    path = marked(tmp_path / f"out.{suffix}", signer)
    stored = read_stored_marks(path)
    found = read_marks(stored.xmp, stored.tags)
    assert found.label is not None
    assert (found.label.produce_id, found.problems) == (PRODUCE_ID, ())
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", path.name]


def test_it_is_signed_in_the_file_that_its_owner_holds(tmp_path: Path, signer: ContentSigner) -> None:
    path = marked(tmp_path / "out.jpg", None)
    before = path.stat()
    assert sign_in_place(path, signer, SAID) == ()
    assert (path.stat().st_ino, path.stat().st_size > before.st_size) == (before.st_ino, True)


def test_a_large_file_goes_by_the_disk(tmp_path: Path, signer: ContentSigner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "_IN_MEMORY_BYTES", 10)
    path = marked(tmp_path / "out.mp4", signer)
    assert verify_file(path, key_in(tmp_path / "data").roots).signed == "trusted"


class Full(io.BytesIO):
    def write(self, content: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_told_as_such(tmp_path: Path, signer: ContentSigner, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: Path) -> IO[bytes]:
        return Full()

    monkeypatch.setattr(sealing, "_scratch", full)
    with pytest.raises(DiskFull):
        marked(tmp_path / "out.png", signer)
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


def test_an_output_that_cannot_be_signed_is_not_handed_out(
    tmp_path: Path, signer: ContentSigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read back is another statement, as if somebody had changed the file meanwhile."""
    honest = signer.require_signed
    monkeypatch.setattr(
        signer, "require_signed", lambda kind, file, said: honest(kind, file, replace(said, produce_id="other"))
    )
    with pytest.raises(MarkMissing):
        marked(tmp_path / "out.png", signer)
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


def test_a_statement_knows_inputs_by_their_part_and_their_own_label_alone(tmp_path: Path) -> None:
    target, source = tmp_path / "a name.png", tmp_path / "me.jpg"
    write_still(target, picture(), xmp=metadata_marks("old-run", "somebody-else").xmp)
    write_still(source, picture())
    request = RunRequest.of_files([source], target, tmp_path / "out.png")
    said = statement_of(request, request.plan(), "run-1", lambda: datetime(2026, 11, 30, 4, tzinfo=UTC))
    assert said.made_at == "2026-11-30T04:00:00Z"
    assert [(each.role, each.media_type) for each in said.inputs] == [("target", "image/png"), ("source", "image/jpeg")]
    assert [each.label and each.label.produce_id for each in said.inputs] == ["old-run", None]
    assert "face_swap" in said.steps
    assert "name" not in repr(said)
    clip = plain_clip(tmp_path / "clip.mkv")
    of_clip = statement_of(RunRequest.of_files([], clip, tmp_path / "out.mp4", pipeline="upscale:scale=2"),
                           request.plan(), "run-1")  # fmt: skip
    assert [(each.role, each.media_type) for each in of_clip.inputs] == [("target", "video/x-matroska")]


def test_without_a_signer_only_the_metadata_is_written(tmp_path: Path) -> None:
    path = marked(tmp_path / "out.png", None)
    assert verify_file(path, b"").layers == {"watermark": "absent", "metadata": "present", "signature": "absent"}
    assert Seal(metadata_marks("run-1"), SAID).notes == []
