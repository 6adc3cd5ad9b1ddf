"""Room on the disk is looked at before work is done, and only a sure lack is refused."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from secondface.errors import DiskFull
from secondface.pipeline.room import require_room
from secondface.spec.schemas import RunRequest

Usage = namedtuple("Usage", "total used free")
MP4 = b"\0\0\0\x18ftypisom" + bytes(999_976)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the disk says is free; a list, so that a test can change it."""
    left = [0]
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(10**9, 0, left[0]))
    return left


def request(target: Path, **video: object) -> RunRequest:
    return RunRequest.of_files([], target, target.parent / "out.mp4", restore=0.5, video=video)


def test_the_sum_of_all_outputs_counts(tmp_path: Path, free: list[int]) -> None:
    target = tmp_path / "t.mp4"
    target.write_bytes(MP4)
    free[0] = 1_900_000
    require_room([request(target)])
    with pytest.raises(DiskFull, match=r"about 2\.0 MB are needed, 1\.9 MB are free"):
        require_room([request(target), request(target)])


def test_a_part_and_a_file_that_is_not_there_are_tried(tmp_path: Path, free: list[int]) -> None:
    target = tmp_path / "t.mp4"
    target.write_bytes(MP4)
    require_room([request(target, end="1"), request(tmp_path / "gone.mp4")])
    with pytest.raises(DiskFull):
        require_room([request(target)])
