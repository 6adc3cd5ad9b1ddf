"""GIF files, written frame by frame: what does not change is not painted again, so that it cannot flicker.

Decides palettes, transparency and disposal; must not know where frames come from.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from mmap import mmap
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from secondface.frames import RGB8, Box

_XMP_NAME = b"XMP DataXMP"
_XMP_END = b"\x01" + bytes(range(0xFF, -1, -1)) + b"\x00"
"""Whoever skips the packet as sub-blocks lands in this ramp and runs down to its end (XMP part 3)."""
_LONGEST_XMP_BYTES = 2 << 20
_CLEAR_INDEX = 255
"""Stands for what stays or is transparent, where there is such."""
_POLISHING, _FEW_PIXELS = 2, 60_000
"""Rounds that better a palette by a tenth, and the most pixels for which they take no seconds."""
_OPAQUE = 128
_KEEP, _CLEAR = 1, 2
_LONGEST_DELAY = 65_535
_HAS_CLEAR, _OWN_PALETTE = 0x01, 0x87


@dataclass(slots=True)
class _Painting:
    """A frame that waits until it is known whether the next one needs a cleared canvas."""

    rgb: RGB8
    shown: npt.NDArray[np.bool_]
    changed: npt.NDArray[np.bool_]
    delay: int


class GifWriter:
    """Writes into `file` frames of `size` (width, height). `loop` is the count as GIF stores it, None to play once."""

    def __init__(
        self, file: BinaryIO, size: tuple[int, int], loop: int | None, *,
        xmp: bytes | None = None, comment: bytes | None = None,
    ) -> None:  # fmt: skip
        self._file = file
        self._waiting: _Painting | None = None
        self._is_clear = True
        width, height = size
        # no global palette: each frame brings its own
        file.write(b"GIF89a" + struct.pack("<HHBBB", width, height, 0x70, 0, 0))
        if loop is not None:
            file.write(b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", loop) + b"\0")
        if xmp:
            file.write(b"\x21\xff\x0b" + _XMP_NAME + xmp + _XMP_END)
        if comment:
            parts = (comment[at : at + 255] for at in range(0, len(comment), 255))
            file.write(b"\x21\xfe" + b"".join(bytes((len(part),)) + part for part in parts) + b"\0")

    def add(self, rgb: RGB8, alpha: npt.NDArray[np.uint8] | None, delay: int) -> None:
        """The next frame [h,w,3], shown for `delay` hundredths of a second."""
        shown = np.ones(rgb.shape[:2], np.bool_) if alpha is None else alpha >= _OPAQUE
        before = self._waiting
        if before is None:
            self._waiting = _Painting(rgb.copy(), shown, shown, delay)
            return
        vanished = before.shown & ~shown
        if vanished.any():
            self._paint(before, _CLEAR)
            changed = shown
        else:
            self._paint(before, _KEEP)
            changed = shown & ((rgb != before.rgb).any(axis=2) | ~before.shown)
        self._waiting = _Painting(rgb.copy(), shown, changed, delay)

    def finish(self) -> None:
        """Write what waits, and the end."""
        if self._waiting is not None:
            self._paint(self._waiting, _KEEP)
        self._file.write(b";")

    def _paint(self, frame: _Painting, disposal: int) -> None:
        if disposal == _CLEAR:
            # clearing works on the painted rectangle, so that has to hold all that is on the canvas
            changed, box = frame.shown, Box(0, 0, frame.rgb.shape[1], frame.rgb.shape[0])
        else:
            changed, box = frame.changed, bounds(frame.changed)
        region = slice(box.y0, box.y1), slice(box.x0, box.x1)
        painted = changed[region]
        # only a whole canvas may go without the clear colour: readers take a smaller part for one on an opaque ground
        has_clear = painted.size < changed.size or not painted.all()
        indices, palette = _indexed(frame.rgb[region], painted, _CLEAR_INDEX + (not has_clear))
        delay, flags = min(_LONGEST_DELAY, frame.delay), disposal << 2 | (_HAS_CLEAR if has_clear else 0)
        self._file.write(b"\x21\xf9\x04" + struct.pack("<BHBB", flags, delay, _CLEAR_INDEX, 0))
        place = struct.pack("<HHHHB", box.x0, box.y0, box.width, box.height, _OWN_PALETTE)
        # Pillow's own writer of frames leaves each one to the garbage collector
        self._file.write(b"," + place + palette + b"\x08" + Image.fromarray(indices).tobytes("gif", "L", 8, 0) + b"\0")


def gif_still(rgb: RGB8, alpha: npt.NDArray[np.uint8] | None, xmp: bytes | None, comment: bytes | None) -> bytes:
    """A GIF of one frame."""
    file = io.BytesIO()
    writer = GifWriter(file, (rgb.shape[1], rgb.shape[0]), None, xmp=xmp, comment=comment)
    writer.add(rgb, alpha, 0)
    writer.finish()
    return file.getvalue()


def gif_xmp(content: bytes | mmap) -> bytes | None:
    """The XMP packet of a GIF, or None. One that is absurdly long is cut: whoever reads it says so."""
    start = content.find(b"\x21\xff\x0b" + _XMP_NAME)
    if start < 0:
        return None
    start += 3 + len(_XMP_NAME)
    end = content.find(_XMP_END, start)
    return content[start : min(end, start + _LONGEST_XMP_BYTES)] if end > start else None


def bounds(changed: npt.NDArray[np.bool_]) -> Box:
    """The smallest box around what changed; one pixel where nothing did, for a frame has to be something."""
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    if not rows.size:
        return Box(0, 0, 1, 1)
    return Box(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def _indexed(rgb: RGB8, painted: npt.NDArray[np.bool_], most: int) -> tuple[npt.NDArray[np.uint8], bytes]:
    """Indices [h,w] into a palette of at most `most` colours; what is not painted has the last of 256 places."""
    indices = np.full(rgb.shape[:2], _CLEAR_INDEX, np.uint8)
    pixels = rgb[painted].astype(np.uint32)
    codes = pixels[:, 0] << 16 | pixels[:, 1] << 8 | pixels[:, 2]
    colours, places = np.unique(codes, return_inverse=True)
    if colours.size <= most:
        indices[painted] = places.astype(np.uint8)
        palette = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], -1).astype(np.uint8)
    else:
        strip = Image.fromarray(np.ascontiguousarray(rgb[painted][None]))
        # no dither: it would dance from frame to frame
        rounds = _POLISHING if pixels.shape[0] <= _FEW_PIXELS else 0
        reduced = strip.quantize(most, Image.Quantize.MEDIANCUT, kmeans=rounds, dither=Image.Dither.NONE)
        indices[painted] = np.asarray(reduced, np.uint8)[0]
        palette = np.array(reduced.getpalette() or [], np.uint8).reshape(-1, 3)[:most]
    return indices, palette.tobytes().ljust(768, b"\0")
