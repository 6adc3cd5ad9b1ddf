"""Folders of attempts are private and go with the attempt; those of dead workers go with the next worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from secondface.errors import DiskFull, InternalFault
from secondface.fleet.workroom import Workroom, remove_tree, tidy

_DYING = """
import os, signal, sys
from pathlib import Path
from secondface.fleet.workroom import Workroom
with Workroom(Path(sys.argv[1]), "dead") as room, room.attempt("job-1") as place:
    (place / "out.mp4.part").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_attempts_folder_is_private_and_goes_with_it(tmp_path: Path) -> None:
    with Workroom(tmp_path, "w1") as room:
        with room.attempt("job-1") as place:
            assert place.stat().st_mode & 0o777 == 0o700
            (place / "deep").mkdir()
            (place / "deep" / "file").write_text("x")
        assert not place.exists()
        with pytest.raises(ZeroDivisionError), room.attempt("job-2") as place:
            raise ZeroDivisionError
        assert not place.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["changes.lock"]


def test_what_a_killed_worker_left_is_removed_by_the_next(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", _DYING, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert (tmp_path / "dead" / "job-1" / "out.mp4.part").exists()
    with Workroom(tmp_path, "w1"):
        assert not (tmp_path / "dead").exists()


def test_what_a_living_worker_has_stays(tmp_path: Path) -> None:
    with Workroom(tmp_path, "w1") as first, first.attempt("job-1") as place, Workroom(tmp_path, "w2"):
        assert tidy(tmp_path) == 0
        assert place.exists()


def test_two_workers_of_one_name_are_refused(tmp_path: Path) -> None:
    with Workroom(tmp_path, "w1"), pytest.raises(InternalFault), Workroom(tmp_path, "w1"):
        pass


def test_an_attempt_without_room_is_a_full_disk(tmp_path: Path) -> None:
    with Workroom(tmp_path, "w1") as room, room.attempt("a"), pytest.raises(DiskFull), room.attempt("a"):
        pass


def test_there_may_be_nothing_to_tidy(tmp_path: Path) -> None:
    assert tidy(tmp_path / "nowhere") == 0


def test_folders_deeper_than_any_path_go_too(tmp_path: Path) -> None:
    with Workroom(tmp_path, "w1") as room:
        with room.attempt("job-1") as place:
            _dig(place)
            (place / "file").write_text("x")
        assert not place.exists()
        _dig(tmp_path / "left")
    with Workroom(tmp_path, "w2"):
        assert sorted(path.name for path in tmp_path.iterdir()) == ["changes.lock", "w2"]


def test_folders_that_are_closed_go_too() -> None:
    with TemporaryDirectory() as name, somebody(Path(name)):
        place = Path(name, "job")
        for folder in (place, place / "a", place / "a" / "b"):
            folder.mkdir()
            (folder / "link").symlink_to(name)
        for folder in (place / "a" / "b", place / "a"):
            folder.chmod(0)
        remove_tree(place)
        assert list(Path(name).iterdir()) == []


@contextmanager
def somebody(folder: Path) -> Generator[None]:
    """Be somebody whom closed folders stop, with a folder of their own."""
    if os.geteuid() != 0:
        yield
        return
    nobody = 65534
    os.chown(folder, nobody, nobody)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)


def _dig(place: Path) -> None:
    """Folders in each other, as one makes them who stands in the last."""
    place.mkdir(exist_ok=True)
    here = os.open(place, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=here)
        deeper = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
