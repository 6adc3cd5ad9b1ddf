"""Pixel formats as layouts of planes: how many, how deep, how the chroma is subsampled.

Decides which of FFmpeg's formats are kept as they are and which planar format stands in for any other;
must not know colours or files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from secondface.media.chroma import CENTRE, LEFT, ChromaSite

Family = Literal["yuv", "gray", "rgb"]

_SUBSAMPLING: dict[str, tuple[int, int]] = {
    "420": (1, 1), "422": (1, 0), "444": (0, 0), "440": (0, 1), "411": (2, 0), "410": (2, 2),
}  # fmt: skip
_YUV = re.compile(r"yuv(?P<full>j?)(?P<alpha>a?)(?P<sampling>4[0-4]{2})p(?P<depth>9|10|12|14|16)?(?P<order>le)?")
_GRAY = re.compile(r"gray(?P<depth>9|10|12|14|16)?(?P<order>le)?")
_RGB = re.compile(r"gbr(?P<alpha>a?)p(?P<depth>9|10|12|14|16)?(?P<order>le)?")


@dataclass(frozen=True, slots=True)
class PlaneLayout:
    """One planar pixel format. Chroma planes are `1 << shift_x` times narrower and `1 << shift_y` times lower."""

    name: str
    family: Family
    depth: int
    shift_x: int = 0
    shift_y: int = 0
    alpha: bool = False
    implies_full_range: bool = False

    @property
    def site(self) -> ChromaSite:
        """Where chroma lies unless a stream says otherwise, which FFmpeg's Python door does not tell."""
        return LEFT if self.shift_x == 1 else CENTRE

    def is_full_range(self, color_range: int) -> bool:
        """Whether codes fill their whole range, by FFmpeg's tag: untagged gray does, untagged Y'CbCr does not."""
        return self.implies_full_range or color_range == 2 or (self.family == "gray" and color_range == 0)

    @property
    def colour_planes(self) -> int:
        return 1 if self.family == "gray" else 3

    @property
    def plane_count(self) -> int:
        return self.colour_planes + int(self.alpha)

    def plane_size(self, index: int, width: int, height: int) -> tuple[int, int]:
        """Width and height of plane `index` of a picture of that size; odd sizes round up."""
        if self.family == "yuv" and index in (1, 2):
            return -(-width >> self.shift_x), -(-height >> self.shift_y)
        return width, height

    def turned(self) -> PlaneLayout | None:
        """The layout of the same planes after a quarter turn (4:2:2 lies on its side as 4:4:0), if there is one."""
        if self.shift_x == self.shift_y:
            return self
        other = {(1, 0): "440", (0, 1): "422"}.get((self.shift_x, self.shift_y))
        if other is None or self.alpha or self.depth not in (8, 10, 12):
            return None
        return layout_of(re.sub(r"4\d\d", other, self.name))

    def at_depth(self, depth: Literal[8, 10]) -> PlaneLayout:
        """The same planes with `depth` bits; full range is then said by tags only."""
        name = re.sub(r"(?<=[yp0-4])(9|10|12|14|16)?(le)?$", "", self.name.replace("yuvj", "yuv"))
        return layout_of(name if depth == 8 else f"{name}{depth}le") or self

    def full_chroma(self) -> PlaneLayout:
        """The same depth with chroma at full size."""
        found = layout_of(re.sub(r"4\d\d", "444", self.name))
        return found or self


def layout_of(name: str) -> PlaneLayout | None:
    """The layout of FFmpeg's pixel format `name`, or None when its planes cannot be used as they are."""
    if (match := _YUV.fullmatch(name)) and match["sampling"] in _SUBSAMPLING:
        shift_x, shift_y = _SUBSAMPLING[match["sampling"]]
        depth = int(match["depth"] or 8)
        return PlaneLayout(name, "yuv", depth, shift_x, shift_y, bool(match["alpha"]), bool(match["full"]))
    if match := _GRAY.fullmatch(name):
        return PlaneLayout(name, "gray", int(match["depth"] or 8))
    if match := _RGB.fullmatch(name):
        return PlaneLayout(name, "rgb", int(match["depth"] or 8), alpha=bool(match["alpha"]), implies_full_range=True)
    return None


_DEPTHS = (8, 9, 10, 12, 14, 16)
_NAMES = {sampling: digits for digits, sampling in _SUBSAMPLING.items()}


def stand_in(family: Family, depth: int, shift_x: int = 0, shift_y: int = 0) -> PlaneLayout:
    """The planar format that holds all samples of any other one of that kind; alpha is left out."""
    deep = next((known for known in _DEPTHS if known >= depth), 16)
    stem = {"gray": "gray", "rgb": "gbrp"}.get(family) or f"yuv{_NAMES.get((shift_x, shift_y), '444')}p"
    found = layout_of(stem if deep == 8 else f"{stem}{deep}le")
    if found is None:
        raise ValueError(f"no planar format for {family} of {depth} bits")
    return found
