"""The light that an HDR film was graded for: mastering display (SMPTE ST 2086) and content light level (CTA-861.3).

Decides how FFmpeg's records of them are read and how each encoder is told; must not know pixels or files.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import av
from av.sidedata.sidedata import SideData
from av.sidedata.sidedata import Type as SideDataType

Point = tuple[Fraction, Fraction]
"""A chromaticity, x and y."""

_DISPLAY = struct.Struct("=20i2i")
"""FFmpeg's AVMasteringDisplayMetadata: ten ratios (red, green, blue, white, darkest, brightest), and which are set."""
_CONTENT = struct.Struct("=2I")


@dataclass(frozen=True, slots=True)
class MasteringLight:
    """What the pictures were made on and how bright they get; cd/m2. None and 0: not said."""

    primaries: tuple[Point, Point, Point] | None = None
    """Red, green, blue."""
    white: Point | None = None
    darkest: Fraction | None = None
    brightest: Fraction | None = None
    brightest_pixel: int = 0
    """MaxCLL."""
    brightest_frame: int = 0
    """MaxFALL, an average."""

    @property
    def x265(self) -> str:
        """As parameters of x265, empty for nothing."""
        parts: list[str] = []
        if display := self._display("({},{})", 50_000, 10_000, whole=True):
            parts.append(f"master-display={display}")
        if self.brightest_pixel or self.brightest_frame:
            parts.append(f"max-cll={self.brightest_pixel},{self.brightest_frame}")
        return ":".join(["hdr10=1", *parts]) if parts else ""

    @property
    def svt_av1(self) -> str:
        """As parameters of SVT-AV1, empty for nothing."""
        parts: list[str] = []
        if display := self._display("({},{})", 1, 1, whole=False):
            parts.append(f"mastering-display={display}")
        if self.brightest_pixel or self.brightest_frame:
            parts.append(f"content-light={self.brightest_pixel},{self.brightest_frame}")
        return ":".join(parts)

    def _display(self, pair: str, colour_steps: int, light_steps: int, *, whole: bool) -> str:
        if self.primaries is None or self.white is None or self.darkest is None or self.brightest is None:
            return ""

        def written(value: Fraction, steps: int) -> str:
            return str(round(value * steps)) if whole else f"{float(value * steps):.6f}"

        red, green, blue = (pair.format(*(written(axis, colour_steps) for axis in point)) for point in self.primaries)
        white = pair.format(*(written(axis, colour_steps) for axis in self.white))
        light = pair.format(written(self.brightest, light_steps), written(self.darkest, light_steps))
        return f"G{green}B{blue}R{red}WP{white}L{light}"


def mastering_light(picture: av.VideoFrame) -> MasteringLight | None:
    """What `picture` says of the light it was made for; None for nothing."""
    attached = cast("Mapping[SideDataType, SideData]", picture.side_data)
    display = attached.get(SideDataType.MASTERING_DISPLAY_METADATA)
    content = attached.get(SideDataType.CONTENT_LIGHT_LEVEL)
    if display is None and content is None:
        return None
    pixel, frame = _CONTENT.unpack_from(bytes(content)) if content is not None else (0, 0)
    if display is None:
        return MasteringLight(brightest_pixel=pixel, brightest_frame=frame)
    *numbers, has_primaries, has_light = _DISPLAY.unpack_from(bytes(display))
    ratios = [Fraction(top, bottom or 1) for top, bottom in zip(numbers[::2], numbers[1::2], strict=True)]
    points = [(ratios[at], ratios[at + 1]) for at in range(0, 8, 2)]
    return MasteringLight(
        (points[0], points[1], points[2]) if has_primaries else None, points[3] if has_primaries else None,
        ratios[8] if has_light else None, ratios[9] if has_light else None, pixel, frame,
    )  # fmt: skip
