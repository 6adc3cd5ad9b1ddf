"""PlanarFrame: a decoded picture that stays in its planes; only the regions that are touched become RGB.

Decides how a region is read, written and shrunk; must not know files, streams or encoders.
Chroma is taken as centred on its block, both ways, so that what is not changed comes back as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Box, Float
from secondface.media.layouts import PlaneLayout
from secondface.media.ycbcr import ColourSpace, codes_from_rgb, rgb_from_codes

Plane: TypeAlias = npt.NDArray[np.uint8 | np.uint16]
"""[height, width] code values; 16-bit words for more than 8 bits."""


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
        return self._region_rgb(self._inside(box))

    def write(self, box: Box, rgb: RGB8) -> None:
        """Store the pixels that differ from what read() gives; all others keep their exact code values."""
        self._inside(box)
        if rgb.shape != (box.height, box.width, 3):
            raise ValueError(f"{rgb.shape} pixels do not fill {box}")
        cells = self._whole_cells(box)
        now = self._region_rgb(cells)
        wanted = now.copy()
        wanted[box.y0 - cells.y0 : box.y1 - cells.y0, box.x0 - cells.x0 : box.x1 - cells.x0] = rgb
        changed = _any_channel_differs(now, wanted)
        if not cv2.hasNonZero(changed):
            return
        self._own_planes()
        self._store(cells, wanted, changed)

    def fill(self, rgb: RGB8) -> None:
        """Store every pixel of the picture rgb [height,width,3]."""
        self._own_planes()
        self._store(self._inside(None), rgb, np.full(rgb.shape[:2], 255, np.uint8))

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

    def _region_rgb(self, box: Box) -> RGB8:
        parts = [self._planes[0][box.y0 : box.y1, box.x0 : box.x1]]
        if self.layout.family == "yuv":
            parts += [self._chroma_at_luma_size(index, box) for index in (1, 2)]
        elif self.layout.family == "rgb":
            parts += [plane[box.y0 : box.y1, box.x0 : box.x1] for plane in self._planes[1:3]]
        return self._rgb_of(parts)

    def _chroma_at_luma_size(self, index: int, box: Box) -> npt.NDArray[Any]:
        shift_x, shift_y = self.layout.shift_x, self.layout.shift_y
        plane = self._planes[index]
        if shift_x == shift_y == 0:
            return plane[box.y0 : box.y1, box.x0 : box.x1]
        # one sample more on each side, so that a region reads the same as the same place in the whole picture
        x0, y0 = max(0, (box.x0 >> shift_x) - 1), max(0, (box.y0 >> shift_y) - 1)
        x1, y1 = (-(-box.x1 >> shift_x)) + 1, (-(-box.y1 >> shift_y)) + 1
        part = plane[y0:y1, x0:x1].astype(np.float32)
        size = (part.shape[1] << shift_x, part.shape[0] << shift_y)
        large = cv2.resize(part, size, interpolation=cv2.INTER_LINEAR)
        left, top = box.x0 - (x0 << shift_x), box.y0 - (y0 << shift_y)
        return large[top : top + box.height, left : left + box.width]

    def _rgb_of(self, parts: Sequence[npt.NDArray[Any]]) -> RGB8:
        """RGB from planes of one size: Y, Cb, Cr; or Y alone; or G, B, R."""
        depth = self.layout.depth
        match self.layout.family:
            case "rgb":
                channels = [parts[2], parts[0], parts[1]]
                if depth == 8:
                    return _rgb8(cv2.merge(channels))
                scale = 255.0 / ((1 << depth) - 1)
                return _saturated(cv2.merge(channels).astype(np.float32) * np.float32(scale), 8)
            case "gray":
                # the offset of the R row includes that of Cr, which a gray picture does not have
                gain = rgb_from_codes(self.space, depth)[0, 0]
                zero = 0 if self.space.full_range else 16 << (depth - 8)
                value = _saturated((parts[0].astype(np.float32) - np.float32(zero)) * gain, 8)
                return _rgb8(cv2.merge([value, value, value]))
            case "yuv":
                factors = rgb_from_codes(self.space, depth)
                if all(part.dtype == np.uint8 for part in parts):
                    return _rgb8(cv2.transform(cv2.merge(list(parts)), factors))
                codes = cv2.merge([part if part.dtype == np.float32 else part.astype(np.float32) for part in parts])
                return _saturated(cv2.transform(codes, factors), 8)

    def _codes(self, rgb: Float, row: int) -> Plane:
        """Code values of plane `row` (0 Y, 1 Cb, 2 Cr) for rgb [h,w,3] of 0..255."""
        factors = codes_from_rgb(self.space, self.layout.depth)[row : row + 1]
        return _saturated(cv2.transform(rgb, factors), self.layout.depth)

    def _store(self, cells: Box, wanted: RGB8, changed: npt.NDArray[np.uint8]) -> None:
        match self.layout.family:
            case "yuv":
                self._store_ycbcr(cells, wanted, changed)
            case "gray":
                self._store_plane(0, cells, self._codes(wanted.astype(np.float32), 0), changed)
            case "rgb":
                factor = np.float32(((1 << self.layout.depth) - 1) / 255.0)
                for plane, channel in enumerate((1, 2, 0)):
                    values = wanted[:, :, channel].astype(np.float32) * factor
                    self._store_plane(plane, cells, _saturated(values, self.layout.depth), changed)

    def _store_ycbcr(self, cells: Box, wanted: RGB8, changed: npt.NDArray[np.uint8]) -> None:
        exact = wanted.astype(np.float32)
        self._store_plane(0, cells, self._codes(exact, 0), changed)
        shift_x, shift_y = self.layout.shift_x, self.layout.shift_y
        if shift_x or shift_y:
            # a cell at an odd right or bottom edge has fewer pixels: repeat them, so that each counts the same
            right, bottom = -cells.width % (1 << shift_x), -cells.height % (1 << shift_y)
            if right or bottom:
                exact = _padded(exact, right, bottom)
                changed = _padded(changed, right, bottom)
            size = (exact.shape[1] >> shift_x, exact.shape[0] >> shift_y)
            exact = np.asarray(cv2.resize(exact, size, interpolation=cv2.INTER_AREA), np.float32)
            changed = np.asarray(cv2.resize(changed, size, interpolation=cv2.INTER_AREA), np.uint8)
        corner = Box(cells.x0 >> shift_x, cells.y0 >> shift_y, 0, 0)
        region = Box(corner.x0, corner.y0, corner.x0 + changed.shape[1], corner.y0 + changed.shape[0])
        for index in (1, 2):
            self._store_plane(index, region, self._codes(exact, index), changed)

    def _store_plane(self, index: int, region: Box, values: Plane, where: npt.NDArray[np.uint8]) -> None:
        cv2.copyTo(values, where, self._planes[index][region.y0 : region.y1, region.x0 : region.x1])


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


def _any_channel_differs(one: RGB8, other: RGB8) -> npt.NDArray[np.uint8]:
    """[h,w]: 255 where any channel differs, else 0."""
    red, green, blue = cv2.split(cv2.compare(one, other, cv2.CMP_NE))
    return np.asarray(cv2.bitwise_or(cv2.bitwise_or(red, green), blue), np.uint8)


def _saturated(values: Any, depth: int) -> Any:
    """Rounded and clipped to `depth` bits; OpenCV does both in one pass."""
    add: Any = cv2.add  # its stub does not know scalars
    if depth == 8:
        return add(values, (0.0, 0.0, 0.0, 0.0), dtype=cv2.CV_8U)
    words = add(values, (0.0, 0.0, 0.0, 0.0), dtype=cv2.CV_16U)
    return words if depth == 16 else np.minimum(words, np.uint16((1 << depth) - 1))


def _padded(values: npt.NDArray[Any], right: int, bottom: int) -> npt.NDArray[Any]:
    return np.asarray(cv2.copyMakeBorder(values, 0, bottom, 0, right, cv2.BORDER_REPLICATE))


def _rgb8(values: Any) -> RGB8:
    return np.asarray(values, np.uint8)


def _shrunk(plane: Plane, size: tuple[int, int]) -> npt.NDArray[Any]:
    """`plane` at `size` (width, height). Halving first is ten times faster than one long area filter."""
    while plane.shape[1] >= 2 * size[0] and plane.shape[0] >= 2 * size[1] and not (plane.shape[0] | plane.shape[1]) & 1:
        half = (plane.shape[1] // 2, plane.shape[0] // 2)
        plane = np.asarray(cv2.resize(plane, half, interpolation=cv2.INTER_AREA), plane.dtype)
    smaller = plane.shape[1] >= size[0]
    return np.asarray(cv2.resize(plane, size, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR))
