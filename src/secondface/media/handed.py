"""Files that were opened by someone else and handed over as a descriptor, so that no path has to be opened again.

Decides how such a file is named among paths: /dev/fd/NUMBER/NAME, where NAME is what messages say. Inside the cage
no path can be opened at all, so every reader of `media` comes here. Must not know formats.
"""

from __future__ import annotations

import errno
import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

_FOLDER = Path("/dev/fd")
_PLACE = re.compile(rf"{_FOLDER}/[0-9]+/")


def handed_path(descriptor: int, name: str) -> Path:
    """A path that stands for the open file `descriptor`; its last part is `name`."""
    return _FOLDER / str(descriptor) / name


def shown(path: Path) -> str:
    """What a message calls `path`: a handed file goes by its name, for its place means nothing to anybody."""
    return path.name if descriptor_of(path) is not None else str(path)


def without_places(text: str) -> str:
    """A text in which handed files go by their names, whoever wrote it."""
    return _PLACE.sub("", text)


def descriptor_of(path: Path) -> int | None:
    """The descriptor that `path` stands for, or None for an ordinary path."""
    number = path.parent.name
    return int(number) if path.parent.parent == _FOLDER and number.isascii() and number.isdigit() else None


def open_bytes(path: Path) -> BinaryIO:
    """`path` opened for reading from its first byte, whether it is an ordinary or a handed one. Raises OSError."""
    descriptor = descriptor_of(path)
    if descriptor is None:
        return path.open("rb")
    return io.BufferedReader(_Handed(descriptor))


class _Handed(io.RawIOBase):
    """Reads an open file from a place of its own: whoever else reads it by the same descriptor moves the shared one."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        content = os.pread(self._descriptor, len(view), self._at)
        view[: len(content)] = content
        self._at += len(content)
        return len(content)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence)
        if start is None:
            start = os.fstat(self._descriptor).st_size
        if start + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._at = start + offset
        return self._at


def size_of(path: Path) -> int:
    """The length of `path` in bytes. Raises OSError."""
    descriptor = descriptor_of(path)
    return path.stat().st_size if descriptor is None else os.fstat(descriptor).st_size
