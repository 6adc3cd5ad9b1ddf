"""PlanarFrame: a decoded picture that stays in its planes; only the regions that are touched become RGB.

Decides how a region is read, written and shrunk; must not know files, streams or encoders. What is not changed keeps
its codes. What is changed keeps, of the old codes, whatever the eight bits that vision sees cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Box
from secondface.media.chroma import enlarged, reduced
from secondface.media.layouts import PlaneLayout
from secondface.media.pixel_codes import Codes, PixelCodes, Plane
from secondface.media.ycbcr import RGB_MATRIX, ColourSpace

__all__ = ["DEEP_RGB", "PlanarFrame", "Plane", "deep_rgb_frame", "deep_rgb_of", "planes_from_rgb", "thumbnail_size"]

_STRIP_PIXELS = 65_536
_FADE_LEVELS = 16
"""A pixel that changes by this many of 255 levels keeps nothing of an old value that vision could not see (clipped,
or finer than its chroma): less would show as a seam where the change begins, more as a ghost."""

Share: TypeAlias = npt.NDArray[np.float32]
"""[height, width] 0..1."""
_Pixel = TypeVar("_Pixel", np.uint8, np.float32)
_Conversion: TypeAlias = Callable[[Sequence[npt.NDArray[Any]], int], npt.NDArray[_Pixel]]
"""From planes of one size, chroma times a gain, to pixels."""


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """A strip to be stored: what read() gives now (None: nothing worth keeping), what is wanted, where they differ."""

    cells: Box
    now: RGB8 | None
    wanted: RGB8
    changed: npt.NDArray[np.uint8]


class PlanarFrame:
    """A Frame over planes of code values, upright. `planes` must be this frame's own: write() changes them in place."""

    def __init__(
        self, planes: Sequence[Plane], layout: PlaneLayout, space: ColourSpace, *,
        index: int = 0, pts: int | None = None, time_base: Fraction = Fraction(1, 1), duration: int | None = None,
    ) -> None:  # fmt: skip
        self._planes = list(planes)
        self.layout = layout
        self.space = space
        self._codes = PixelCodes(layout, space)
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

    @property
    def graphics_white(self) -> int:
        """What labels take for white, 0..255."""
        return self._codes.graphics_white

    def read(self, box: Box | None = None) -> RGB8:
        """The pixels inside `box` as a new array [h,w,3]."""
        box = self._inside(box)
        out = np.empty((box.height, box.width, 3), np.uint8)
        for strip in self._strips(box):
            out[strip.y0 - box.y0 : strip.y1 - box.y0] = self._region(strip, self._codes.rgb)
        return out

    def write(self, box: Box, rgb: RGB8) -> None:
        """Store the pixels that differ from what read() gives; all others keep their exact code values."""
        self._inside(box)
        if rgb.shape != (box.height, box.width, 3):
            raise ValueError(f"{rgb.shape} pixels do not fill {box}")
        pending: _Rewrite | None = None
        for strip in self._strips(self._whole_cells(box)):
            now = self._region(strip, self._codes.rgb)
            wanted = now.copy()
            rows = strip.intersect(box)
            wanted[rows.y0 - strip.y0 : rows.y1 - strip.y0, box.x0 - strip.x0 : box.x1 - strip.x0] = (
                rgb[rows.y0 - box.y0 : rows.y1 - box.y0]
            )  # fmt: skip
            changed = _any_channel_differs(now, wanted)
            # one strip late: chroma is read across the edge between two strips
            self._store_pending(pending)
            pending = _Rewrite(strip, now, wanted, changed) if cv2.hasNonZero(changed) else None
        self._store_pending(pending)

    def fill(self, rgb: RGB8) -> None:
        """write() for the whole picture rgb [height,width,3]."""
        self.write(self._inside(None), rgb)

    def overlay(self, box: Box, keep: Plane, add: Plane) -> bool:
        """Lay something grey over `box`, without RGB: each pixel becomes `pixel * keep / 255 + add`, [h,w] both.

        False, with nothing done, where codes are not of eight bits of Y'CbCr, or `box` does not fill its chroma cells.
        """
        box = self._inside(box)
        if not self._codes.is_plain or self.layout.family == "rgb" or self._whole_cells(box) != box:
            return False
        self._own_planes()
        black = 0 if self.space.full_range else 16
        # Y = black + gain * grey, so that Y * keep / 255 lacks black * (1 - keep / 255)
        gain = 1.0 if self.space.full_range else 219 / 255
        self._lay(0, box, keep, cv2.addWeighted(keep, -black / 255, add, gain, black))
        for index in range(1, self.layout.colour_planes):
            small = self._at_chroma_size(keep) if self._has_small_chroma else keep
            neutral = cv2.addWeighted(small, -128 / 255, small, 0, 128)
            self._lay(index, self._chroma_region(box), small, neutral)
        return True

    def paint(self, rgb: RGB8) -> None:
        """Store every pixel of the picture rgb [height,width,3] without regard to what was there."""
        self._own_planes()
        for strip in self._strips(self._inside(None)):
            part = rgb[strip.y0 : strip.y1]
            self._store(_Rewrite(strip, None, part, np.full(part.shape[:2], 255, np.uint8)))

    @property
    def luma(self) -> Plane:
        """The plane that carries the light, for reading only: Y, gray, or the green of RGB, which is most of it."""
        return self._planes[0]

    def change_luma(self, change: Callable[[list[Any], npt.NDArray[np.uint8], int], None]) -> None:
        """Let `change` move codes in place: of Y or gray alone, or of red, green and blue alike.

        It is given the planes, the luma in eight bits, and the depth of the planes in bits.
        """
        self._own_planes()
        depth = self.layout.depth
        lit = self._planes[:3] if self.layout.family == "rgb" else self._planes[:1]
        grey = self.luma if depth == 8 else (self.luma >> np.uint16(depth - 8)).astype(np.uint8)
        change(list(lit), np.asarray(grey, np.uint8), depth)

    def shown_in(self, layout: PlaneLayout, space: ColourSpace) -> PlanarFrame:
        """A new frame with what an ordinary display shows of this one, in SDR codes of `layout` and `space`."""
        return self._in_other_codes(layout, space, self._codes.shown)

    def recoded(self, layout: PlaneLayout, space: ColourSpace) -> PlanarFrame:
        """A new frame with the same signal in other codes: nothing is tone-mapped, and 16 bits lie between the two."""
        return self._in_other_codes(layout, space, self._codes.signal)

    def _in_other_codes(self, layout: PlaneLayout, space: ColourSpace, convert: _Conversion[np.float32]) -> PlanarFrame:
        target = PlanarFrame(
            _blank_planes(layout, self.width, self.height), layout, space,
            index=self.index, pts=self.pts, time_base=self.time_base, duration=self.duration,
        )  # fmt: skip
        for strip in target._strips(target._inside(None)):
            signal = self._region(strip, convert)
            everywhere = np.full(signal.shape[:2], 255, np.uint8)
            target._store_moved(strip, target._codes.codes_of_signal(signal), everywhere)
        return target

    def thumbnail(self, longest: int) -> RGB8:
        """The whole picture, area-averaged plane by plane before it becomes RGB."""
        size = thumbnail_size(self.width, self.height, longest)
        if size is None:
            return self.read()
        small = [_shrunk(plane, size) for plane in self._planes[: self.layout.colour_planes]]
        return self._codes.rgb(small)

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

    def _region(self, box: Box, convert: _Conversion[_Pixel]) -> npt.NDArray[_Pixel]:
        """`box` by one of PixelCodes' maps from planes of one size to pixels."""
        region = slice(box.y0, box.y1), slice(box.x0, box.x1)
        if self.layout.family != "yuv":
            return convert([plane[region] for plane in self._planes[: self.layout.colour_planes]], 1)
        gain = self._codes.chroma_gain
        chroma = [self._chroma_at_luma_size(index, box, gain) for index in (1, 2)]
        return convert([self._planes[0][region], *chroma], gain)

    def _chroma_at_luma_size(self, index: int, box: Box, gain: int) -> npt.NDArray[np.uint16]:
        shift_x, shift_y = self.layout.shift_x, self.layout.shift_y
        # one sample more on each side, so that a region reads the same as the same place in the whole picture
        x0, y0 = max(0, (box.x0 >> shift_x) - 1), max(0, (box.y0 >> shift_y) - 1)
        x1, y1 = (-(-box.x1 >> shift_x)) + 1, (-(-box.y1 >> shift_y)) + 1
        large = enlarged(self._planes[index][y0:y1, x0:x1] * np.uint16(gain), shift_x, shift_y, self.space.site)
        left, top = box.x0 - (x0 << shift_x), box.y0 - (y0 << shift_y)
        return np.asarray(large[top : top + box.height, left : left + box.width], np.uint16)

    def _store_pending(self, pending: _Rewrite | None) -> None:
        if pending is not None:
            self._own_planes()
            self._store(pending)

    def _store(self, work: _Rewrite) -> None:
        if not self._codes.is_plain:
            self._store_deep(work)
            return
        chroma_changed = self._at_chroma_size(work.changed) if self._has_small_chroma else None
        for index, values in enumerate(self._codes.plain_channels(work.wanted)):
            if index and chroma_changed is not None:
                averaged = self._codes.rounded(self._at_chroma_size(values))
                self._store_plane(index, self._chroma_region(work.cells), averaged, chroma_changed)
            else:
                self._store_plane(index, work.cells, self._codes.rounded(values), work.changed)

    def _store_deep(self, work: _Rewrite) -> None:
        """New codes that are the old ones moved by the change, so that no step of eight bits shows."""
        after = self._codes.codes(work.wanted)
        if work.now is None:
            self._store_moved(work.cells, after, work.changed)
        else:
            before, lost = self._codes.codes(work.now), _share_lost(work.now, work.wanted)
            self._store_moved(work.cells, after, work.changed, before, lost)

    def _store_moved(
        self, cells: Box, after: Codes, changed: npt.NDArray[np.uint8],
        before: Codes | None = None, lost: tuple[Share, Share] | None = None,
    ) -> None:  # fmt: skip
        for index in range(self.layout.colour_planes):
            small = bool(index) and self._has_small_chroma
            region = self._chroma_region(cells) if small else cells
            fitted = self._at_chroma_size if small else _as_it_is
            new = fitted(cv2.extractChannel(after, index))
            if before is not None and lost is not None:
                there = self._planes[index][region.y0 : region.y1, region.x0 : region.x1].astype(np.float32)
                unseen = there - fitted(cv2.extractChannel(before, index))
                new = new + unseen * (1 - fitted(lost[1 if small else 0]))
            self._store_plane(index, region, self._codes.rounded(new), fitted(changed))

    def _lay(self, index: int, region: Box, keep: Any, add: Any) -> None:
        there = self._planes[index][region.y0 : region.y1, region.x0 : region.x1]
        there[:] = cv2.add(cv2.multiply(there, keep, scale=1 / 255), add)

    @property
    def _has_small_chroma(self) -> bool:
        return self.layout.family == "yuv" and bool(self.layout.shift_x | self.layout.shift_y)

    def _chroma_region(self, cells: Box) -> Box:
        shift_x, shift_y = self.layout.shift_x, self.layout.shift_y
        return Box(cells.x0 >> shift_x, cells.y0 >> shift_y, -(-cells.x1 >> shift_x), -(-cells.y1 >> shift_y))

    def _at_chroma_size(self, values: Any) -> Any:
        return reduced(values, self.layout.shift_x, self.layout.shift_y, self.space.site)

    def _store_plane(self, index: int, region: Box, values: Plane, where: npt.NDArray[np.uint8]) -> None:
        target = self._planes[index][region.y0 : region.y1, region.x0 : region.x1]
        cv2.copyTo(values, where, target)


def planes_from_rgb(rgb: RGB8, layout: PlaneLayout, space: ColourSpace) -> list[Plane]:
    """New planes that hold the picture rgb [h,w,3]; alpha, where the layout has it, is opaque."""
    planes = _blank_planes(layout, rgb.shape[1], rgb.shape[0])
    PlanarFrame(planes, layout, space).paint(rgb)
    return planes


def _blank_planes(layout: PlaneLayout, width: int, height: int) -> list[Plane]:
    planes: list[Plane] = []
    for index in range(layout.plane_count):
        plane_width, plane_height = layout.plane_size(index, width, height)
        shape = (plane_height, plane_width)
        planes.append(np.zeros(shape, np.uint8) if layout.depth == 8 else np.zeros(shape, np.uint16))
    if layout.alpha:
        planes[-1][:] = (1 << layout.depth) - 1
    return planes


def thumbnail_size(width: int, height: int, longest: int) -> tuple[int, int] | None:
    """Width and height of a thumbnail; None where the picture is small enough."""
    scale = longest / max(width, height)
    return None if scale >= 1 else (max(1, round(width * scale)), max(1, round(height * scale)))


def _as_it_is(values: Any) -> Any:
    return values


DEEP_RGB = PlaneLayout("gbrp16le", "rgb", 16, implies_full_range=True)
"""The planes of stills of more than eight bits."""
_DISPLAY_RGB = ColourSpace(RGB_MATRIX, True, 1, 13)


def deep_rgb_frame(
    rgb16: npt.NDArray[np.uint16], space: ColourSpace = _DISPLAY_RGB, *,
    index: int = 0, pts: int | None = None, time_base: Fraction = Fraction(1, 1),
) -> PlanarFrame:  # fmt: skip
    """A frame over a copy of the upright picture rgb16 [h,w,3], sRGB unless `space` says otherwise (RGB_MATRIX).

    read() gives eight bits; what is written comes back as the old 16-bit value moved by the change.
    """
    red, green, blue = (np.asarray(channel, np.uint16) for channel in cv2.split(rgb16))
    return PlanarFrame([green, blue, red], DEEP_RGB, space, index=index, pts=pts, time_base=time_base)


def deep_rgb_of(frame: PlanarFrame) -> npt.NDArray[np.uint16]:
    """The picture [h,w,3] of a frame that deep_rgb_frame() made, as it is now."""
    if frame.layout != DEEP_RGB:
        raise ValueError(f"{frame.layout.name} is not 16-bit RGB")
    green, blue, red = frame.planes
    return np.asarray(cv2.merge([red, green, blue]), np.uint16)


def _any_channel_differs(one: RGB8, other: RGB8) -> npt.NDArray[np.uint8]:
    """[h,w]: 255 where any channel differs, else 0."""
    black = (0.0, 0.0, 0.0)
    return np.asarray(cv2.bitwise_not(cv2.inRange(cv2.absdiff(one, other), black, black)), np.uint8)


def _share_lost(now: RGB8, wanted: RGB8) -> tuple[Share, Share]:
    """[h,w] 0..1 twice: of what vision could not see, how much goes where it had clipped, and how much anywhere."""
    difference = cv2.absdiff(now, wanted)
    largest = cv2.max(cv2.max(difference[:, :, 0], difference[:, :, 1]), difference[:, :, 2])
    everywhere = np.minimum(largest.astype(np.float32) * np.float32(1 / _FADE_LEVELS), np.float32(1))
    inner = cv2.inRange(now, (1.0, 1.0, 1.0), (254.0, 254.0, 254.0))
    where_clipped = everywhere.copy()
    where_clipped[np.asarray(inner) > 0] = 0
    return where_clipped, everywhere


def _shrunk(plane: Plane, size: tuple[int, int]) -> npt.NDArray[Any]:
    """`plane` at `size` (width, height). Halving first is ten times faster than one long area filter."""
    while plane.shape[1] >= 2 * size[0] and plane.shape[0] >= 2 * size[1] and not (plane.shape[0] | plane.shape[1]) & 1:
        half = (plane.shape[1] // 2, plane.shape[0] // 2)
        plane = np.asarray(cv2.resize(plane, half, interpolation=cv2.INTER_AREA), plane.dtype)
    smaller = plane.shape[1] >= size[0]
    return np.asarray(cv2.resize(plane, size, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR))
