"""Where a worker keeps the files of its attempts: private folders that are gone with the attempt.

Decides what happens to those of workers that died: the next worker that starts removes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from secondface.errors import DiskFull, InternalFault

_ALIVE = "alive.lock"
_CHANGES = "changes.lock"


class Workroom:
    """One worker's folder under `root`; others of this machine lie beside it. Locked as long as its worker lives."""

    def __init__(self, root: Path, worker: str) -> None:
        self._root, self._folder = root, root / worker
        self._lock: int | None = None

    def __enter__(self) -> Self:
        """Make the folder, and remove those of dead workers. Raises InternalFault where it cannot be made."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with _one_at_a_time(self._root):
                self._folder.mkdir(mode=0o700)
                self._lock = os.open(self._folder / _ALIVE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise InternalFault(f"{self._folder}: {error.strerror}") from error
        tidy(self._root)
        return self

    def __exit__(self, *exception: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def attempt(self, name: str) -> Generator[Path]:
        """A private folder for one attempt, gone at the end of the block. Raises DiskFull."""
        folder = self._folder / name
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise DiskFull(f"No folder for the attempt: {error.strerror}.") from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def tidy(root: Path) -> int:
    """Remove the folders of workers that are dead; returns how many."""
    removed = 0
    with contextlib.suppress(OSError), _one_at_a_time(root):
        for folder in root.iterdir():
            if folder.is_dir() and _abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


@contextmanager
def _one_at_a_time(root: Path) -> Generator[None]:
    """A folder that is just being made, and not locked yet, must not be taken for one that was left."""
    with (root / _CHANGES).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _abandoned(folder: Path) -> bool:
    """Whether nobody holds the folder's lock. Without a lock in it, its worker died while it was made."""
    try:
        with (folder / _ALIVE).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
