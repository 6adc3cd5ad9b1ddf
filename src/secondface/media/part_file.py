"""An output that appears under its name only when it is whole.

Decides the name of the unfinished file, how it becomes the finished one, that nothing is left of a failed one, and
which file of a run that was killed may be cleared away.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from secondface.errors import OutputNotWritable
from secondface.media.containers import writing_failures

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed anyway
    fcntl = None

_SUFFIX = ".secondface.part"
"""Nobody else's files end like this, so that what a killed run left can be told from a download of the same name."""
_LONGEST_NAME = 255
"""Bytes; the same on all file systems in use."""
_ATTEMPTS = 20


class PartFile:
    """NAME.secondface.part beside NAME: written by its owner, then renamed by commit() or removed by discard().

    It is locked for as long as its owner lives: the system lets go of the lock of a process that was killed, and the
    next run to the same output clears its part away. Raises OutputNotWritable or DiskFull.
    """

    def __init__(self, target: Path) -> None:
        _require_place(target)
        self.target = target
        self.path = target.with_name(_part_name(target.name))
        with writing_failures(target):
            self._lock: int | None = self._claimed()

    def commit(self, check: Callable[[Path], None] | None = None) -> None:
        """Make the part the finished file, on the disk before under its name; `check` may refuse it by raising."""
        if check is not None:
            check(self.path)
        with writing_failures(self.target):
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self.path.replace(self.target)
        self._let_go()

    def discard(self) -> None:
        """Remove the part; no error when it is gone or was committed."""
        if self._lock is not None:
            self.path.unlink(missing_ok=True)
            self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _claimed(self) -> int:
        """A new file of our own under the part's name, locked."""
        for _ in range(_ATTEMPTS):
            try:
                # a new file, so that a link planted under this name is not followed
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                self._clear_stale()
                continue
            # between the two calls another run may have taken it for a stale one
            if _locked(descriptor) and _is_at(descriptor, self.path):
                return descriptor
            os.close(descriptor)
        raise OutputNotWritable(f"{self.target}: another run is writing it")

    def _clear_stale(self) -> None:
        """Remove the part of a run that is no more; OutputNotWritable while it lives, or when it is no plain file."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return
        except OSError as cause:
            raise OutputNotWritable(f"{self.path}: {cause.strerror}; remove it") from cause
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutputNotWritable(f"{self.path}: not a plain file; remove it")
            if not _locked(descriptor):
                raise OutputNotWritable(f"{self.target}: another run is writing it")
            if _is_at(descriptor, self.path):
                self.path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def require_writable(target: Path) -> None:
    """Whether `target` can be made, without a touch to any file that is there. Raises OutputNotWritable or DiskFull."""
    _require_place(target)
    with writing_failures(target):
        # Permissions lie on network disks and for root; a file that was really made does not.
        descriptor, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=target.parent)
        os.close(descriptor)
        Path(name).unlink()


def _require_place(target: Path) -> None:
    with writing_failures(target):
        if target.is_dir():
            raise OutputNotWritable(f"{target}: this is a folder")
        if not target.parent.is_dir():
            raise OutputNotWritable(f"{target.parent}: no such folder")
        if target.exists() and not os.access(target, os.W_OK):
            raise OutputNotWritable(f"{target}: the file there may not be replaced")


def _locked(descriptor: int) -> bool:
    """Whether the file is ours alone from now on; file systems without locks leave it to the name."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether `path` still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _part_name(name: str) -> str:
    """`name` with the suffix; a name that is as long as file systems allow loses its end."""
    while len(os.fsencode(name)) > _LONGEST_NAME - len(_SUFFIX):
        name = name[:-1]
    return name + _SUFFIX
