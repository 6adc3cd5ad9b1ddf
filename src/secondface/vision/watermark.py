"""The invisible watermark, written: 64 bits laid over the whole picture's luma, at most two levels of 255 high.

Spread spectrum after Cox, Kilian, Leighton and Shamoon (1997), in tiles after Kutter (1998), so that a part of the
picture is enough. Decides how strong it is where; must not know files, planes or who the identity belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import cv2
import numpy as np
import numpy.typing as npt

from secondface.vision.watermark_find import Reading, WatermarkReader, find, find_all
from secondface.vision.watermark_tile import TILE, can_hold, tile_of, units

__all__ = ["STILL", "VIDEO", "Grade", "Luma", "Reading", "Watermark", "WatermarkReader", "embed", "find", "find_all"]

Luma: TypeAlias = npt.NDArray[np.uint8 | np.uint16]
"""[height, width]; words of 16 bits hold 9 to 16."""
_Levels = TypeVar("_Levels", np.uint8, np.uint16)
_Steps: TypeAlias = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Grade:
    """How a watermark is laid: its strength 0..1, and what of it where."""

    strength: float
    tilt: float = 0.0
    """Frequencies count by this power of their length: fine ones are what an encoder of video pays most for."""
    growth_large: float = 0.6
    """How fast it weakens as pictures grow: the exponent of the size."""


STILL = Grade(0.6)
VIDEO = Grade(0.55, tilt=1.2, growth_large=1.0)
"""Read from many frames, each of which costs bits. Without the tilt and with the growth of stills 720p cost 20 % and
27 % more bytes at H.264 18 instead of 11 % and 16 %, and a clip of 480x272 was lost at H.264 28."""

_FLAT, _BUSY = 1.8, 0.6
"""Levels at strength 1: on flat ground, and more for each level that a pixel differs from its neighbours."""
_USUAL_SIDE = 512
_GROWTH_SMALL, _LEAST, _MOST_FLAT = 1.1, 0.6, 1.5
"""Small pictures have few pixels for each bit and large ones many: the exponent of their size, the least factor, and
the most on flat ground, where steps of two levels could be seen."""
_MASK_SIDE = 270
_UNIT_BITS = 13
"""The pattern counts in 1/128, the mask in 1/64 of a level: their product in 1/8192."""
_MOST_MASK = 159
"""2.49 levels, which round to 2."""
_MOST_DEEP_MASK = 128
_STRIP_PIXELS = 1 << 17
"""Of a strip that the processor's cache holds through all passes."""
_HOLD_FRAMES = 8
"""For so many pictures the steps are held: a third of a second, in which the mask hardly moves."""
_SAMPLE_SIDE, _CHANGED_LEVELS = 36, 8.0
"""Pictures whose samples lie further apart in the mean are another scene."""


class Watermark:
    """One identity, ready to be laid over any number of pictures, in their order; the pattern is kept for one size.

    Pictures that follow each other take the same steps for a while, as long as they look alike: that is quicker, does
    not flicker, and costs a video fewer bits.
    """

    def __init__(self, identity: int, grade: Grade = STILL) -> None:
        """`identity` is a number of 64 bits."""
        self._tile = tile_of(identity, grade.tilt)
        self._grade = grade
        self._pattern: _Steps = np.empty((0, 0), np.int16)
        self._held: _Held | None = None

    def mark(self, luma: npt.NDArray[_Levels], depth: int = 8) -> npt.NDArray[_Levels]:
        """`luma` [h,w] of `depth` bits with the watermark, as a new array."""
        out = luma.copy()
        self.mark_all([out], _eight_bits(luma, depth), depth)
        return out

    def mark_all(self, planes: list[Any], grey: npt.NDArray[np.uint8], depth: int = 8) -> None:
        """Change `planes` [h,w] or [h,w,channels] in place, all by the same steps, so that only their luma changes.

        `grey` [h,w] is what the mask is made from. Pictures that are too small to hold a watermark are left alone.
        """
        height, width = grey.shape
        if not can_hold(height, width):
            return
        if self._held is None or not self._held.serves(grey, depth):
            self._held = self._steps(grey, depth)
        rows = max(1, _STRIP_PIXELS // width)
        for top in range(0, height, rows):
            part = slice(top, top + rows)
            for plane in planes:
                plane[part] = _moved(plane[part], self._held.up[part], self._held.down[part], depth)

    def _steps(self, grey: npt.NDArray[np.uint8], depth: int) -> _Held:
        height, width = grey.shape
        if self._pattern.shape != grey.shape:
            self._pattern = _pattern(self._tile, height, width)
        most = _MOST_MASK if depth == 8 else _MOST_DEEP_MASK
        mask = cv2.resize(_mask(grey, self._grade, most), (width, height), interpolation=cv2.INTER_LINEAR)
        shift = _UNIT_BITS - min(8, depth - 8)
        kind = np.uint8 if depth == 8 else np.uint16
        up, down = np.empty(grey.shape, kind), np.empty(grey.shape, kind)
        rows = max(1, _STRIP_PIXELS // width)
        for top in range(0, height, rows):
            part = slice(top, top + rows)
            steps = np.multiply(self._pattern[part], mask[part])
            steps += np.int16(1 << (shift - 1))
            steps >>= np.int16(shift)
            up[part] = np.maximum(steps, 0)
            down[part] = np.maximum(-steps, 0)
        return _Held(up, down, depth, _sample(grey))


@dataclass(slots=True)
class _Held:
    """Steps up and down [h,w] that serve several pictures, and a sample of the picture that they were made for."""

    up: npt.NDArray[np.uint8 | np.uint16]
    down: npt.NDArray[np.uint8 | np.uint16]
    depth: int
    sample: npt.NDArray[np.uint8]
    served: int = 0

    def serves(self, grey: npt.NDArray[np.uint8], depth: int) -> bool:
        """Whether one picture more may have these steps."""
        self.served += 1
        if self.up.shape != grey.shape or self.depth != depth or self.served >= _HOLD_FRAMES:
            return False
        apart = cv2.absdiff(_sample(grey), self.sample)
        return cv2.mean(apart)[0] < _CHANGED_LEVELS


def embed(luma: npt.NDArray[_Levels], identity: int, grade: Grade = STILL, depth: int = 8) -> npt.NDArray[_Levels]:
    """A copy of `luma` [h,w] of `depth` bits with a watermark of 64 bits; no level moves by more than 2 of 255."""
    return Watermark(identity, grade).mark(luma, depth)


def _moved(levels: Any, up: Any, down: Any, depth: int) -> Any:
    if levels.ndim == 3:
        up, down = (np.repeat(steps[:, :, None], levels.shape[2], axis=2) for steps in (up, down))
    moved = cv2.subtract(cv2.add(levels, up), down)
    return moved if depth in (8, 16) else np.minimum(moved, np.uint16((1 << depth) - 1))


def _sample(grey: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    step = max(1, min(grey.shape) // _SAMPLE_SIDE)
    return np.ascontiguousarray(grey[step // 2 :: step, step // 2 :: step])


def _pattern(tile: npt.NDArray[np.float32], height: int, width: int) -> _Steps:
    """The tiled pattern at the picture's size, -127 to 127, cut at its standard deviation: only height is scarce."""
    rows, columns = units(height, width)
    across = np.tile(tile, (-(-rows // TILE), -(-columns // TILE)))[:rows, :columns]
    large = across
    if (rows, columns) != (height, width):
        how = cv2.INTER_CUBIC if rows < height else cv2.INTER_AREA
        large = np.asarray(cv2.resize(across, (width, height), interpolation=how), np.float32)
    spread = float(large.std()) + 1e-6
    return np.rint(np.clip(large * np.float32(127 / spread), -127, 127)).astype(np.int16)


def _mask(grey: npt.NDArray[np.uint8], grade: Grade, most: int) -> npt.NDArray[np.int16]:
    """How high the pattern may stand, in 1/64 of a level, at a reduced size: higher where the picture is busy.

    It depends on the near surroundings only: what stands still in an animation keeps its exact pixels.
    """
    height, width = grey.shape
    step = max(1, min(height, width) // _MASK_SIDE)
    size = -(-width // step), -(-height // step)
    small = np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_AREA), np.uint8)
    busy = cv2.boxFilter(cv2.absdiff(small, cv2.boxFilter(small, -1, (5, 5))), cv2.CV_32F, (7, 7))
    share = _USUAL_SIDE / min(height, width)
    factor = share**_GROWTH_SMALL if share > 1 else max(_LEAST, share**grade.growth_large)
    flat, more = 64 * grade.strength * _FLAT * min(factor, _MOST_FLAT), 64 * grade.strength * _BUSY * factor
    return np.minimum(busy * np.float32(more) + np.float32(flat), np.float32(most)).astype(np.int16)


def _eight_bits(luma: Any, depth: int) -> npt.NDArray[np.uint8]:
    return luma if depth == 8 else (luma >> (depth - 8)).astype(np.uint8)
