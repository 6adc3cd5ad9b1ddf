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

_LOCK = "alive.lock"


class Workroom:
    """One worker's folder under `root`; others of this machine lie beside it. Locked as long as its worker lives."""

    def __init__(self, root: Path, worker: str) -> None:
        self._root, self._folder = root, root / worker
        self._lock: int | None = None

    def __enter__(self) -> Self:
        """Make the folder, and remove those of dead workers. Raises InternalFault where it cannot be made."""
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700)
            self._lock = os.open(self._folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InternalFault(f"{self._folder}: {error.strerror}") from error
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.tidy()
        return self

    def __exit__(self, *exception: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def tidy(self) -> int:
        """Remove folders whose worker is dead; returns how many."""
        removed = 0
        for other in self._root.iterdir():
            if other != self._folder and other.is_dir() and _abandoned(other):
                shutil.rmtree(other, ignore_errors=True)
                removed += 1
        return removed

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


def _abandoned(folder: Path) -> bool:
    """Whether nobody holds the folder's lock; one that is just being made has none yet, and is left alone."""
    with contextlib.suppress(OSError), (folder / _LOCK).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
