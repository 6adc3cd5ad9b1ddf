"""How long each frame of an animation is shown and how often all of them are, read without decoding.

Decides what stored delays and loop counts mean; must not know pixels.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, BinaryIO

from secondface.errors import MediaCorrupt
from secondface.media.handed import open_bytes
from secondface.media.png_chunks import chunks
from secondface.media.still_files import OpenedStill

_MILLISECOND = Fraction(1, 1000)
_HASTY, _HASTY_SHOWN = Fraction(1, 100), Fraction(1, 10)
"""Browsers show a frame of a GIF that asks for a hundredth of a second or none for a tenth."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that each frame is shown, as stored, and how often all are: 0 is for ever."""

    delays: tuple[Fraction, ...]
    plays: int

    is_gif: bool = False

    def shown(self, index: int) -> Fraction:
        """Seconds that frame `index` is really on the screen."""
        delay = self.delays[index]
        return _HASTY_SHOWN if self.is_gif and delay <= _HASTY else delay or _MILLISECOND


def timing_of(source: OpenedStill, first: int) -> Timing:
    """The timing of an opened animation whose first frame is number `first` of the file. Raises MediaCorrupt."""
    count = int(getattr(source.picture, "n_frames", 1)) - first
    with open_bytes(source.path) as file:
        match source.format_name:
            case "GIF":
                delays, plays = _of_gif(file)
            case "WEBP":
                delays, plays = _of_webp(file)
            case "PNG":
                delays, plays = _of_apng(file)
            case _:
                delays, plays = _by_decoding(source.picture, count), 0
    if len(delays) < count:
        raise MediaCorrupt(f"{source.path.name}: {count} frames, but {len(delays)} delays")
    return Timing(tuple(delays[:count]), plays, source.format_name == "GIF")


def _of_gif(file: BinaryIO) -> tuple[list[Fraction], int]:
    delays: list[Fraction] = []
    delay, plays = 0, 1
    flags = file.read(13)[10:11]
    _skip_palette(file, flags)
    while (kind := file.read(1)) in (b"!", b","):
        if kind == b",":
            _skip_palette(file, file.read(9)[8:9])
            file.read(1)
            _blocks(file)
            delays.append(Fraction(delay, 100))
            delay = 0
            continue
        label, blocks = file.read(1), _blocks(file)
        if label == b"\xf9" and blocks and len(blocks[0]) >= 4:
            delay = int.from_bytes(blocks[0][1:3], "little")
        elif label == b"\xff" and len(blocks) > 1 and blocks[0] == b"NETSCAPE2.0" and len(blocks[1]) >= 3:
            loops = int.from_bytes(blocks[1][1:3], "little")
            # the count is of repetitions, after the first time
            plays = 0 if loops == 0 else loops + 1
    return delays, plays


def _skip_palette(file: BinaryIO, flags: bytes) -> None:
    if flags and flags[0] & 0x80:
        file.seek(3 << ((flags[0] & 7) + 1), 1)


def _blocks(file: BinaryIO) -> list[bytes]:
    """The first two sub-blocks; the others are passed over."""
    found: list[bytes] = []
    while (size := file.read(1)) not in (b"", b"\0"):
        content = file.read(size[0])
        if len(found) < 2:
            found.append(content)
    return found


def _of_webp(file: BinaryIO) -> tuple[list[Fraction], int]:
    delays: list[Fraction] = []
    plays = 0
    file.seek(12)
    while len(head := file.read(8)) == 8:
        kind, size = struct.unpack("<4sI", head)
        content = file.read(min(size, 16))
        file.seek(size + size % 2 - len(content), 1)
        if kind == b"ANMF" and len(content) == 16:
            delays.append(int.from_bytes(content[12:15], "little") * _MILLISECOND)
        elif kind == b"ANIM" and len(content) >= 6:
            plays = int.from_bytes(content[4:6], "little")
    return delays, plays


def _of_apng(file: BinaryIO) -> tuple[list[Fraction], int]:
    delays: list[Fraction] = []
    plays = 0
    for found in chunks(file):
        if found.kind == b"acTL" and len(found.body) == 8:
            plays = int.from_bytes(found.body[4:8], "big")
        elif found.kind == b"fcTL" and len(found.body) == 26:
            part, whole = struct.unpack_from(">HH", found.body, 20)
            # a denominator of 0 stands for hundredths
            delays.append(Fraction(part, whole or 100))
    return delays, plays


def _by_decoding(picture: Any, count: int) -> list[Fraction]:
    delays: list[Fraction] = []
    for index in range(count):
        picture.seek(index)
        picture.load()
        delays.append(Fraction(int(picture.info.get("duration", 100))) * _MILLISECOND)
    picture.seek(0)
    return delays
