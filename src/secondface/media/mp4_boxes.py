"""The index of a finished MP4 file as boxes: read, changed, and put back with everything after it in its new place.

Decides how a file whose index grows stays whole; must not know what the boxes mean.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_CONTAINERS = (b"trak", b"mdia", b"minf", b"stbl")
"""The way to the tables of chunk offsets."""
_BLOCK = 1 << 22
_LARGEST_INDEX = 1 << 30


@dataclass(frozen=True, slots=True)
class Box:
    """One box: four letters and what is inside."""

    kind: bytes
    body: bytes

    @property
    def whole(self) -> bytes:
        return box(self.kind, self.body)


def box(kind: bytes, *parts: bytes) -> bytes:
    """The bytes of a box that holds `parts`."""
    size = 8 + sum(map(len, parts))
    return b"".join([struct.pack(">I4s", size, kind), *parts])


def boxes(body: bytes) -> list[Box]:
    """The boxes of which `body` consists. ValueError where it is cut off."""
    found: list[Box] = []
    at = 0
    while at + 8 <= len(body):
        size, kind = struct.unpack_from(">I4s", body, at)
        if size < 8 or at + size > len(body):
            raise ValueError(f"box {kind!r} of {size} bytes is cut off")
        found.append(Box(kind, body[at + 8 : at + size]))
        at += size
    return found


def replace_index(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Give the file's `moov` box the body that `change` makes of its body; chunk offsets follow. Raises OSError."""
    with path.open("r+b") as file:
        at, size = _place_of_index(file)
        file.seek(at + 8)
        body = change(file.read(size - 8))
        growth = len(body) + 8 - size
        end = file.seek(0, 2)
        if at + size < end:
            body = moved_chunks(body, at, growth)
            _move_tail(file, at + size, end, growth)
        file.seek(at)
        file.write(box(b"moov", body))
        if growth < 0:
            file.truncate(end + growth)


def moved_chunks(body: bytes, after: int, by: int) -> bytes:
    """`body` of an index in which every chunk that lies behind byte `after` of the file is `by` bytes further on."""
    moved: list[bytes] = []
    for child in boxes(body):
        if child.kind in _CONTAINERS:
            moved.append(box(child.kind, moved_chunks(child.body, after, by)))
        elif child.kind in (b"stco", b"co64"):
            width = "I" if child.kind == b"stco" else "Q"
            count = int.from_bytes(child.body[4:8], "big")
            offsets = struct.unpack_from(f">{count}{width}", child.body, 8)
            shifted = [offset + by if offset > after else offset for offset in offsets]
            if width == "I" and any(offset >= 1 << 32 for offset in shifted):
                raise ValueError("the chunks of this file would need wider offsets")
            moved.append(box(child.kind, child.body[:8], struct.pack(f">{count}{width}", *shifted)))
        else:
            moved.append(child.whole)
    return b"".join(moved)


def _place_of_index(file: BinaryIO) -> tuple[int, int]:
    at, end = 0, file.seek(0, 2)
    while at + 8 <= end:
        file.seek(at)
        size, kind = struct.unpack(">I4s", file.read(8))
        if size == 1:
            size = int.from_bytes(file.read(8), "big")
        if kind == b"moov" and 8 <= size <= _LARGEST_INDEX:
            return at, size
        if size < 8:
            break
        at += size
    raise ValueError("no index was found")


def _move_tail(file: BinaryIO, start: int, end: int, by: int) -> None:
    """Move the bytes from `start` to `end`, block by block, the last first, so that none is overwritten unread."""
    if by == 0:
        return
    places = range(start, end, _BLOCK)
    for at in reversed(places) if by > 0 else places:
        file.seek(at)
        block = file.read(min(_BLOCK, end - at))
        file.seek(at + by)
        file.write(block)
