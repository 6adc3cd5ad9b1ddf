"""An output that appears under its name only when it is whole.

Decides the name of the unfinished file, how it becomes the finished one, and that nothing is left of a failed one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from secondface.errors import OutputNotWritable
from secondface.media.containers import writing_failures

_LONGEST_NAME = 255
"""Bytes; the same on all file systems in use."""


class PartFile:
    """NAME.part beside NAME: written by its owner, then renamed by commit() or removed by discard()."""

    def __init__(self, target: Path) -> None:
        _require_place(target)
        self.target = target
        self.path = target.with_name(_part_name(target.name))
        with writing_failures(target):
            self.path.unlink(missing_ok=True)
            # a new file, so that a link planted under this name is not followed
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))

    def commit(self) -> None:
        """Make the part the finished file, on the disk before under its name."""
        with writing_failures(self.target):
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self.path.replace(self.target)

    def discard(self) -> None:
        """Remove the part; no error when it is gone."""
        self.path.unlink(missing_ok=True)


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


def _part_name(name: str) -> str:
    """`name` with .part; a name that is as long as file systems allow loses its end."""
    while len(os.fsencode(name)) > _LONGEST_NAME - len(".part"):
        name = name[:-1]
    return name + ".part"
