"""PlanarFrame: a decoded picture that stays in its planes; only the regions that are touched become RGB.

Decides how a region is read, written and shrunk; must not know files, streams or encoders.
Chroma is taken as centred on its block, both ways, so that what is not changed comes back as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Box
from secondface.media.layouts import PlaneLayout
from secondface.media.ycbcr import ColourSpace, Matrix34, codes_from_rgb, rgb_from_codes

Plane: TypeAlias = npt.NDArray[np.uint8 | np.uint16]
"""[height, width] code values; 16-bit words for more than 8 bits."""

_STRIP_PIXELS = 131_072
_WORD = 257.0
"""Spreads 0..255 over a 16-bit word, whose ends then clip as those of a byte do; OpenCV is exact and fast there."""


class PlanarFrame:
    """A Frame over planes of code values, upright. `planes` must be this frame's own: write() changes them in place."""

    def __init__(
        self, planes: Sequence[Plane], layout: PlaneLayout, space: ColourSpace, *,
        index: int = 0, pts: int | None = None, time_base: Fraction = Fraction(1, 1), duration: int | None = None,
    ) -> None:  # fmt: skip
        self._planes = list(planes)
        self.layout = layout
        self.space = space
        self.index = index
        self.pts = pts
        self.time_base = time_base
        self.duration = duration

    @property
    def planes(self) -> Sequence[Plane]:
        """The planes as they are now, for reading only."""
        return self._planes

    @property
    def width(self) -> int:
        return int(self._planes[0].shape[1])

    @property
    def height(self) -> int:
        return int(self._planes[0].shape[0])

    def read(self, box: Box | None = None) -> RGB8:
        """The pixels inside `box` as a new array [h,w,3]."""
        box = self._inside(box)
        out = np.empty((box.height, box.width, 3), np.uint8)
        for strip in self._strips(box):
            out[strip.y0 - box.y0 : strip.y1 - box.y0] = self._region_rgb(strip)
        return out

    def write(self, box: Box, rgb: RGB8) -> None:
        """Store the pixels that differ from what read() gives; all others keep their exact code values."""
        self._inside(box)
        if rgb.shape != (box.height, box.width, 3):
            raise ValueError(f"{rgb.shape} pixels do not fill {box}")
        pending: tuple[Box, RGB8, npt.NDArray[np.uint8]] | None = None
        for strip in self._strips(self._whole_cells(box)):
            now = self._region_rgb(strip)
            wanted = now.copy()
            rows = strip.intersect(box)
            wanted[rows.y0 - strip.y0 : rows.y1 - strip.y0, box.x0 - strip.x0 : box.x1 - strip.x0] = (
                rgb[rows.y0 - box.y0 : rows.y1 - box.y0]
            )  # fmt: skip
            changed = _any_channel_differs(now, wanted)
            # one strip late: chroma is read across the edge between two strips
            self._store_pending(pending)
            pending = (strip, wanted, changed) if cv2.hasNonZero(changed) else None
        self._store_pending(pending)

    def fill(self, rgb: RGB8) -> None:
        """Store every pixel of the picture rgb [height,width,3]."""
        self._own_planes()
        for strip in self._strips(self._inside(None)):
            part = rgb[strip.y0 : strip.y1]
            self._store(strip, part, np.full(part.shape[:2], 255, np.uint8))

    def thumbnail(self, longest: int) -> RGB8:
        """The whole picture, area-averaged plane by plane before it becomes RGB."""
        scale = min(1.0, longest / max(self.width, self.height))
        if scale == 1.0:
            return self.read()
        size = (max(1, round(self.width * scale)), max(1, round(self.height * scale)))
        small = [_shrunk(plane, size) for plane in self._planes[: 1 if self.layout.family == "gray" else 3]]
        return self._rgb_of(small)

    def _own_planes(self) -> None:
        """Called before the planes are changed; a frame that shares its planes makes its own here."""

    def _inside(self, box: Box | None) -> Box:
        if box is None:
            return Box(0, 0, self.width, self.height)
        if box.area == 0 or box != box.clip(self.width, self.height):
            raise ValueError(f"{box} is empty or not inside {self.width}x{self.height}")
        return box

    def _whole_cells(self, box: Box) -> Box:
        """`box` grown to whole chroma samples."""
        step_x, step_y = 1 << self.layout.shift_x, 1 << self.layout.shift_y
        grown = Box(box.x0 // step_x * step_x, box.y0 // step_y * step_y,
                    -(-box.x1 // step_x) * step_x, -(-box.y1 // step_y) * step_y)  # fmt: skip
        return grown.clip(self.width, self.height)

    def _strips(self, box: Box) -> Iterator[Box]:
        """`box` in parts of whole cells that the processor's cache holds: three times faster than in one piece."""
        step = 1 << self.layout.shift_y
        rows = max(1, _STRIP_PIXELS // max(1, box.width * step)) * step
        top = box.y0
        while top < box.y1:
            bottom = min(box.y1, (top // step) * step + rows)
            yield Box(box.x0, top, box.x1, bottom)
            top = bottom

    def _region_rgb(self, box: Box) -> RGB8:
        luma = self._planes[0][box.y0 : box.y1, box.x0 : box.x1]
        match self.layout.family:
            case "gray":
                return self._rgb_of([luma])
            case "rgb":
                return self._rgb_of([luma, *(plane[box.y0 : box.y1, box.x0 : box.x1] for plane in self._planes[1:3])])
            case "yuv":
                # interpolated samples keep the fraction that the 16-bit word has room for
                gain = 1 << (16 - self.layout.depth)
                return self._rgb_of([luma, *(self._chroma_at_luma_size(index, box, gain) for index in (1, 2))], gain)

    def _chroma_at_luma_size(self, index: int, box: Box, gain: int) -> npt.NDArray[np.uint16]:
        shift_x, shift_y = self.layout.shift_x, self.layout.shift_y
        # one sample more on each side, so that a region reads the same as the same place in the whole picture
        x0, y0 = max(0, (box.x0 >> shift_x) - 1), max(0, (box.y0 >> shift_y) - 1)
        x1, y1 = (-(-box.x1 >> shift_x)) + 1, (-(-box.y1 >> shift_y)) + 1
        part = self._planes[index][y0:y1, x0:x1] * np.uint16(gain)
        size = (part.shape[1] << shift_x, part.shape[0] << shift_y)
        large = part if not shift_x | shift_y else cv2.resize(part, size, interpolation=cv2.INTER_LINEAR)
        left, top = box.x0 - (x0 << shift_x), box.y0 - (y0 << shift_y)
        return np.asarray(large[top : top + box.height, left : left + box.width], np.uint16)

    def _rgb_of(self, parts: Sequence[npt.NDArray[Any]], chroma_gain: int = 1) -> RGB8:
        """RGB from planes of one size: Y, Cb, Cr (these times `chroma_gain`); or Y alone; or G, B, R."""
        depth = self.layout.depth
        match self.layout.family:
            case "rgb":
                channels = [parts[2], parts[0], parts[1]]
                if depth == 8:
                    return np.asarray(cv2.merge(channels), np.uint8)
                scale = 255.0 / ((1 << depth) - 1)
                return _saturated(cv2.merge(channels).astype(np.float32) * np.float32(scale), 8)
            case "gray":
                # the offset of the R row includes that of Cr, which a gray picture does not have
                gain = rgb_from_codes(self.space, depth)[0, 0]
                zero = 0 if self.space.full_range else 16 << (depth - 8)
                value = _saturated((parts[0].astype(np.float32) - np.float32(zero)) * gain, 8)
                return np.asarray(cv2.merge([value, value, value]), np.uint8)
            case "yuv":
                factors = _word_rgb_from_codes(self.space, depth, chroma_gain)
                words = cv2.merge([part.astype(np.uint16, copy=False) for part in parts])
                return _bytes_of(cv2.transform(words, factors))

    def _store_pending(self, pending: tuple[Box, RGB8, npt.NDArray[np.uint8]] | None) -> None:
        if pending is not None:
            self._own_planes()
            self._store(*pending)

    def _store(self, cells: Box, wanted: RGB8, changed: npt.NDArray[np.uint8]) -> None:
        depth = self.layout.depth
        if self.layout.family == "rgb":
            factor = np.float32(((1 << depth) - 1) / 255.0)
            for plane, channel in enumerate((1, 2, 0)):
                values = wanted[:, :, channel].astype(np.float32) * factor
                self._store_plane(plane, cells, _saturated(values, depth), changed)
            return
        factors = _word_codes_from_rgb(self.space, depth)
        words = cv2.transform(wanted.astype(np.uint16), factors)
        luma, *chroma = (cv2.extractChannel(words, channel) for channel in range(3))
        self._store_plane(0, cells, _narrowed(luma, depth), changed)
        if self.layout.family == "yuv":
            self._store_chroma(cells, chroma, changed)

    def _store_chroma(self, cells: Box, chroma: Sequence[Any], changed: Any) -> None:
        shift_x, shift_y = self.layout.shift_x, self.layout.shift_y
        if shift_x or shift_y:
            # a cell at an odd right or bottom edge has fewer pixels: repeat them, so that each counts the same
            right, bottom = -cells.width % (1 << shift_x), -cells.height % (1 << shift_y)
            size = ((cells.width + right) >> shift_x, (cells.height + bottom) >> shift_y)
            *chroma, changed = (
                cv2.resize(_padded(each, right, bottom), size, interpolation=cv2.INTER_AREA)
                for each in (*chroma, changed)
            )
        left, top = cells.x0 >> shift_x, cells.y0 >> shift_y
        region = Box(left, top, left + changed.shape[1], top + changed.shape[0])
        for index, words in enumerate(chroma, 1):
            self._store_plane(index, region, _narrowed(words, self.layout.depth), changed)

    def _store_plane(self, index: int, region: Box, values: Plane, where: npt.NDArray[np.uint8]) -> None:
        target = self._planes[index][region.y0 : region.y1, region.x0 : region.x1]
        cv2.copyTo(values, where, target)


def planes_from_rgb(rgb: RGB8, layout: PlaneLayout, space: ColourSpace) -> list[Plane]:
    """New planes that hold the picture rgb [h,w,3]; alpha, where the layout has it, is opaque."""
    height, width = rgb.shape[:2]
    planes: list[Plane] = []
    for index in range(layout.plane_count):
        plane_width, plane_height = layout.plane_size(index, width, height)
        shape = (plane_height, plane_width)
        planes.append(np.zeros(shape, np.uint8) if layout.depth == 8 else np.zeros(shape, np.uint16))
    if layout.alpha:
        planes[-1][:] = (1 << layout.depth) - 1
    frame = PlanarFrame(planes, layout, space)
    frame.fill(rgb)
    return planes


@lru_cache(maxsize=64)
def _word_rgb_from_codes(space: ColourSpace, depth: int, chroma_gain: int) -> Matrix34:
    return (rgb_from_codes(space, depth) * _WORD / (1, chroma_gain, chroma_gain, 1)).astype(np.float32)


@lru_cache(maxsize=64)
def _word_codes_from_rgb(space: ColourSpace, depth: int) -> Matrix34:
    return (codes_from_rgb(space, depth) * _unit(depth)).astype(np.float32)


def _any_channel_differs(one: RGB8, other: RGB8) -> npt.NDArray[np.uint8]:
    """[h,w]: 255 where any channel differs, else 0."""
    black = (0.0, 0.0, 0.0)
    return np.asarray(cv2.bitwise_not(cv2.inRange(cv2.absdiff(one, other), black, black)), np.uint8)


def _saturated(values: Any, depth: int) -> Any:
    """Rounded and clipped to `depth` bits; OpenCV does both in one pass."""
    add: Any = cv2.add  # its stub does not know scalars
    if depth == 8:
        return add(values, (0.0, 0.0, 0.0, 0.0), dtype=cv2.CV_8U)
    words = add(values, (0.0, 0.0, 0.0, 0.0), dtype=cv2.CV_16U)
    return words if depth == 16 else np.minimum(words, np.uint16((1 << depth) - 1))


def _unit(depth: int) -> float:
    """Of a 16-bit word, how much one code value of `depth` bits takes; the rest is its fraction."""
    return _WORD if depth == 8 else float(1 << (16 - depth))


def _narrowed(words: Any, depth: int) -> Plane:
    """Code values from words of _unit(depth), rounded."""
    if depth == 8:
        return _bytes_of(words)
    shift, half = np.uint16(16 - depth), np.uint16(1 << (16 - depth) >> 1)
    return (np.minimum(words, np.uint16(0xFFFF) - half) + half) >> shift


def _bytes_of(words: Any) -> npt.NDArray[np.uint8]:
    """0..65535 rounded to 0..255."""
    return np.asarray(cv2.convertScaleAbs(words, alpha=1 / _WORD), np.uint8)


def _padded(values: Any, right: int, bottom: int) -> npt.NDArray[Any]:
    if not right | bottom:
        return values
    return np.asarray(cv2.copyMakeBorder(values, 0, bottom, 0, right, cv2.BORDER_REPLICATE))


def _shrunk(plane: Plane, size: tuple[int, int]) -> npt.NDArray[Any]:
    """`plane` at `size` (width, height). Halving first is ten times faster than one long area filter."""
    while plane.shape[1] >= 2 * size[0] and plane.shape[0] >= 2 * size[1] and not (plane.shape[0] | plane.shape[1]) & 1:
        half = (plane.shape[1] // 2, plane.shape[0] // 2)
        plane = np.asarray(cv2.resize(plane, half, interpolation=cv2.INTER_AREA), plane.dtype)
    smaller = plane.shape[1] >= size[0]
    return np.asarray(cv2.resize(plane, size, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR))
