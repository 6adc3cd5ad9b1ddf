"""Files that were opened by someone else and handed over as a descriptor, so that no path has to be opened again.

Decides how such a file is named among paths: /dev/fd/NUMBER/NAME, where NAME is what messages say. Inside the cage
no path can be opened at all, so every reader of `media` comes here. Must not know formats.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO

_FOLDER = Path("/dev/fd")


def handed_path(descriptor: int, name: str) -> Path:
    """A path that stands for the open file `descriptor`; its last part is `name`."""
    return _FOLDER / str(descriptor) / name


def descriptor_of(path: Path) -> int | None:
    """The descriptor that `path` stands for, or None for an ordinary path."""
    number = path.parent.name
    return int(number) if path.parent.parent == _FOLDER and number.isascii() and number.isdigit() else None


def open_bytes(path: Path) -> BinaryIO:
    """`path` opened for reading from its first byte, whether it is an ordinary or a handed one. Raises OSError."""
    descriptor = descriptor_of(path)
    if descriptor is None:
        return path.open("rb")
    os.lseek(descriptor, 0, os.SEEK_SET)
    return io.BufferedReader(io.FileIO(descriptor, closefd=False))


def size_of(path: Path) -> int:
    """The length of `path` in bytes. Raises OSError."""
    descriptor = descriptor_of(path)
    return path.stat().st_size if descriptor is None else os.fstat(descriptor).st_size
