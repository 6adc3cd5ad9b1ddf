"""One frame at several sizes, each made once: faces are looked at in small crops, and reading few pixels is cheap.

Decides which size serves a crop. The frame must not change while this is in use.
"""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np

from secondface.frames import RGB8, ArrayFrame, Box, Frame
from secondface.vision.align import Transform, crop_frame, crop_rgb, scale_of

SHARPEST_LOSS = 0.85
"""Least crop pixels per level pixel: below it the level would be visibly enlarged."""


ONE_SAMPLE_TO = 1.5
"""Halvings have little detail that could alias, and four samples a pixel cost a seventh of a mesh."""


class FrameLevels:
    """A Frame that keeps halvings of itself."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._halved: dict[int, RGB8] = {}

    @property
    def index(self) -> int:
        return self.frame.index

    @property
    def pts(self) -> int | None:
        return self.frame.pts

    @property
    def time_base(self) -> Fraction:
        return self.frame.time_base

    @property
    def width(self) -> int:
        return self.frame.width

    @property
    def height(self) -> int:
        return self.frame.height

    def read(self, box: Box | None = None) -> RGB8:
        return self.frame.read(box)

    def write(self, box: Box, rgb: RGB8) -> None:
        self.frame.write(box, rgb)

    def thumbnail(self, longest: int) -> RGB8:
        """From the smallest level that is large enough, or from the frame itself where none has been made."""
        for times in sorted(self._halved, reverse=True):
            level = self._halved[times]
            if max(level.shape[:2]) >= 2 * longest:
                return _resized(level, longest)
        if isinstance(self.frame, ArrayFrame):
            return _resized(self.frame.rgb, longest)
        return self.frame.thumbnail(longest)

    def halved(self, times: int) -> RGB8:
        """The whole frame, halved that many times; do not write into it."""
        if times not in self._halved:
            longest = max(1, max(self.width, self.height) >> times)
            self._halved[times] = self.thumbnail(longest)
        return self._halved[times]

    def at_least(self, longest: int) -> RGB8:
        """The smallest level whose longest side is at least `longest`, or the whole frame."""
        times = max(0, int(np.floor(np.log2(max(self.width, self.height) / longest))))
        return self.halved(times) if times else self.read()


def crop_level(frame: Frame, to_frame: Transform, side: int) -> RGB8 | None:
    """As align.crop_frame for a square crop, from a level that is just fine enough where the frame has levels."""
    times = int(np.floor(np.log2(max(scale_of(to_frame), 1e-6) / SHARPEST_LOSS)))
    if times < 1 or not isinstance(frame, FrameLevels):
        return crop_frame(frame, to_frame, (side, side))
    level = frame.halved(times)
    shrink = np.array([[level.shape[1] / frame.width], [level.shape[0] / frame.height]])
    return crop_rgb(level, to_frame * shrink, (side, side), one_sample_to=ONE_SAMPLE_TO)


def _resized(rgb: RGB8, longest: int) -> RGB8:
    scale = longest / max(rgb.shape[:2])
    if scale >= 1:
        return rgb
    size = (max(1, round(rgb.shape[1] * scale)), max(1, round(rgb.shape[0] * scale)))
    return cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)  # pyright: ignore[reportReturnType]
