"""Animated WebP, written frame by frame: each frame is a still WebP of the part that changed.

Decides how the frames lie in the container; the codec is Pillow's. Must not know where frames come from.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from secondface.frames import RGB8, Box
from secondface.media.gif_output import bounds

_ANIMATED, _HAS_XMP, _HAS_EXIF, _HAS_ALPHA = 0x02, 0x04, 0x08, 0x10
_DO_NOT_BLEND = 0x02
_PICTURE_CHUNKS = (b"VP8 ", b"VP8L", b"ALPH")
_LONGEST_MS = (1 << 24) - 1


class WebpWriter:
    """Writes into `file` frames of `size` (width, height), shown `plays` times over; 0 is for ever."""

    def __init__(
        self, file: BinaryIO, size: tuple[int, int], plays: int, *,
        quality: int, lossless: bool, xmp: bytes | None = None, exif: bytes | None = None,
    ) -> None:  # fmt: skip
        self._file = file
        self._size = size
        self._parameters = {"quality": quality, "lossless": lossless, "method": 4, "exact": True}
        self._behind = [(b"EXIF", exif), (b"XMP ", xmp)]
        self._flags = _ANIMATED | (_HAS_XMP if xmp else 0) | (_HAS_EXIF if exif else 0)
        self._before: tuple[RGB8, npt.NDArray[np.uint8] | None] | None = None
        # the sizes and flags are put in at the end
        file.write(b"RIFF\0\0\0\0WEBP" + _chunk(b"VP8X", bytes(10)))
        file.write(_chunk(b"ANIM", struct.pack("<IH", 0, min(65_535, plays))))

    def add(self, rgb: RGB8, alpha: npt.NDArray[np.uint8] | None, delay: int) -> None:
        """The next frame [h,w,3], shown for `delay` milliseconds."""
        box = self._changed(rgb, alpha)
        region = slice(box.y0, box.y1), slice(box.x0, box.x1)
        layers = rgb[region] if alpha is None else np.dstack([rgb[region], alpha[region]])
        encoded = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(layers)).save(encoded, "WEBP", **self._parameters)
        width, height = box.width - 1, box.height - 1
        head = b"".join(_three(value) for value in (box.x0 // 2, box.y0 // 2, width, height, min(_LONGEST_MS, delay)))
        body = b"".join(
            _chunk(kind, content) for kind, content in _chunks(encoded.getvalue()) if kind in _PICTURE_CHUNKS
        )
        self._file.write(_chunk(b"ANMF", head + bytes((_DO_NOT_BLEND,)) + body))
        self._before = rgb.copy(), None if alpha is None else alpha.copy()
        if alpha is not None:
            self._flags |= _HAS_ALPHA

    def finish(self) -> None:
        """Write the metadata, and the head that was left open."""
        for kind, content in self._behind:
            if content:
                self._file.write(_chunk(kind, content))
        size = self._file.tell()
        width, height = self._size
        self._file.seek(4)
        self._file.write(struct.pack("<I", size - 8))
        self._file.seek(12)
        head = bytes((self._flags, 0, 0, 0)) + _three(width - 1) + _three(height - 1)
        self._file.write(_chunk(b"VP8X", head))
        self._file.seek(size)

    def _changed(self, rgb: RGB8, alpha: npt.NDArray[np.uint8] | None) -> Box:
        """The part that has to be stored: it begins at even pixels."""
        height, width = rgb.shape[:2]
        if self._before is None:
            return Box(0, 0, width, height)
        old, old_alpha = self._before
        changed = (rgb != old).any(axis=2)
        if alpha is not None or old_alpha is not None:
            opaque = np.uint8(255)
            changed |= (opaque if alpha is None else alpha) != (opaque if old_alpha is None else old_alpha)
        box = bounds(changed)
        return Box(box.x0 & ~1, box.y0 & ~1, box.x1, box.y1)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _chunks(webp: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 12
    while at + 8 <= len(webp):
        kind, size = struct.unpack_from("<4sI", webp, at)
        yield kind, webp[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _three(value: int) -> bytes:
    return value.to_bytes(3, "little")
