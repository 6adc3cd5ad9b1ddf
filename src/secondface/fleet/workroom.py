"""Where a worker keeps the files of its attempts: private folders that are gone with the attempt.

Decides what happens to those of workers that died: the next worker that starts removes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from secondface.confidential import make_private
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
            make_private(self._root)
            with _one_at_a_time(self._root):
                self._folder.mkdir(mode=0o700)
                self._lock = os.open(self._folder / _ALIVE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise InternalFault(f"{self._folder}: {error.strerror}") from error
        tidy(self._root)
        return self

    def __exit__(self, *exception: object) -> None:
        remove_tree(self._folder)
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
            remove_tree(folder)


def tidy(root: Path) -> int:
    """Remove the folders of workers that are dead; returns how many."""
    removed = 0
    with contextlib.suppress(OSError), _one_at_a_time(root):
        for folder in root.iterdir():
            if folder.is_dir() and _abandoned(folder):
                remove_tree(folder)
                removed += 1
    return removed


def remove_tree(folder: Path) -> None:
    """Remove a folder, as far as that can be done, whatever a caged run made in it.

    Folders may lie deeper in each other than a path or a recursion reaches, and be closed to their own owner.
    """
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        _flatten(folder)
        folder.rmdir()


def _flatten(folder: Path) -> None:
    """Empty a folder: what lies in those within it is moved up into it, so that nothing is deep. Raises OSError."""
    free = (place for number in itertools.count() if not os.path.lexists(place := folder / f"moved-{number}"))
    while entries := list(folder.iterdir()):
        for entry in entries:
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink()
                continue
            entry.chmod(0o700)
            for inner in list(entry.iterdir()):
                if inner.is_dir() and not inner.is_symlink():
                    inner.chmod(0o700)  # or it could not be moved
                inner.rename(next(free))
            entry.rmdir()


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
