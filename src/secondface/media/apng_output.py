"""Animated PNG, written frame by frame: each frame holds the part that changed, exactly.

Decides how the frames lie in the file; the compression is Pillow's. Must not know where frames come from.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from secondface.frames import RGB8, Box
from secondface.media.gif_output import bounds
from secondface.media.png_chunks import SIGNATURE, chunk, text_chunk, xmp_chunk

_EIGHT_BIT_RGBA = b"\x08\x06\0\0\0"
_LARGEST = 65_535


class ApngWriter:
    """Writes into `file` frames of `size` (width, height), shown `plays` times over; 0 is for ever."""

    def __init__(
        self, file: BinaryIO, size: tuple[int, int], plays: int, *,
        xmp: bytes | None = None, exif: bytes | None = None, texts: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        self._file = file
        self._plays = plays
        self._frames = 0
        self._number = 0
        self._before: npt.NDArray[np.uint8] | None = None
        file.write(SIGNATURE + chunk(b"IHDR", struct.pack(">II", *size) + _EIGHT_BIT_RGBA))
        self._count_at = file.tell()
        file.write(self._count())
        if xmp:
            file.write(xmp_chunk(xmp))
        if exif:
            file.write(chunk(b"eXIf", exif))
        file.write(b"".join(text_chunk(key, text) for key, text in texts))

    def add(self, rgb: RGB8, alpha: npt.NDArray[np.uint8] | None, delay: Fraction) -> None:
        """The next frame [h,w,3], shown for `delay` seconds."""
        opaque = np.full(rgb.shape[:2], 255, np.uint8)
        layers = np.dstack([rgb, opaque if alpha is None else alpha])
        height, width = layers.shape[:2]
        box = Box(0, 0, width, height) if self._before is None else bounds((layers != self._before).any(axis=2))
        part = np.ascontiguousarray(layers[box.y0 : box.y1, box.x0 : box.x1])
        short = delay.limit_denominator(_LARGEST)
        if short.numerator > _LARGEST:
            short = Fraction(min(_LARGEST, round(delay)))
        # disposal 0 and blending 0: the frame replaces what it covers, and stays
        control = struct.pack(
            ">IIIIIHHBB", self._next(), box.width, box.height, box.x0, box.y0, short.numerator, short.denominator, 0, 0
        )
        self._file.write(chunk(b"fcTL", control))
        for data in _compressed(part):
            if self._before is None:
                self._file.write(chunk(b"IDAT", data))
            else:
                self._file.write(chunk(b"fdAT", struct.pack(">I", self._next()) + data))
        self._before = layers
        self._frames += 1

    def finish(self) -> None:
        """Write the end, and the number of frames that was left open."""
        self._file.write(chunk(b"IEND", b""))
        end = self._file.tell()
        self._file.seek(self._count_at)
        self._file.write(self._count())
        self._file.seek(end)

    def _count(self) -> bytes:
        return chunk(b"acTL", struct.pack(">II", max(1, self._frames), self._plays))

    def _next(self) -> int:
        self._number += 1
        return self._number - 1


def _compressed(part: npt.NDArray[np.uint8]) -> list[bytes]:
    """The pixel data of `part` [h,w,4] as PNG stores it."""
    encoded = io.BytesIO()
    Image.fromarray(part).save(encoded, "PNG", compress_level=4)
    png, at, found = encoded.getvalue(), len(SIGNATURE), list[bytes]()
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        if kind == b"IDAT":
            found.append(png[at + 8 : at + 8 + size])
        at += 12 + size
    return found
