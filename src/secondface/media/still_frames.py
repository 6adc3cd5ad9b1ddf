"""The frames of stills and animations: RGB with alpha, and deep RGB that keeps its own codes.

Decides what becomes of alpha and of bits that a step does not see; must not know files.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, ArrayFrame, Box
from secondface.media.pixel_codes import PixelCodes
from secondface.media.planes import PlanarFrame, deep_rgb_frame, deep_rgb_of, thumbnail_size
from secondface.media.tone import DisplayMap, Words

Alpha: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
"""[h,w], as deep as its picture."""


class StillFrame(ArrayFrame):
    """An ArrayFrame of sRGB that may have alpha [h,w], and a duration in units of its time base."""

    def __init__(
        self, rgb: RGB8, alpha: npt.NDArray[np.uint8] | None = None, *,
        index: int = 0, pts: int | None = None, time_base: Fraction = Fraction(1), duration: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(rgb, index, pts, time_base)
        self.alpha = alpha
        self.duration = duration

    def thumbnail(self, longest: int) -> RGB8:
        """Area-averaged, without a copy of the whole picture in between."""
        size = thumbnail_size(self.width, self.height, longest)
        return (
            self.rgb.copy()
            if size is None
            else np.asarray(cv2.resize(self.rgb, size, interpolation=cv2.INTER_AREA), np.uint8)
        )

    def show(self, box: Box) -> None:
        """Make the pixels in `box` opaque: what is painted over a picture must be seen."""
        if self.alpha is not None:
            self.alpha[box.y0 : box.y1, box.x0 : box.x1] = 255

    def enlarged(self, rgb: RGB8) -> StillFrame:
        """This frame with the larger picture `rgb`; its alpha grows too."""
        alpha = None if self.alpha is None else np.asarray(fitted(self.alpha, rgb.shape), np.uint8)
        return StillFrame(
            rgb, alpha, index=self.index, pts=self.pts, time_base=self.time_base, duration=self.duration
        )  # fmt: skip


class DeepFrame(PlanarFrame):
    """A PlanarFrame of 16-bit RGB whose colours `look` explains, with alpha [h,w]; None means that they are sRGB."""

    def __init__(
        self, words: Words, look: DisplayMap | None = None, alpha: npt.NDArray[np.uint16] | None = None
    ) -> None:  # fmt: skip
        own = deep_rgb_frame(words)
        super().__init__(own.planes, own.layout, own.space)
        self.look = look
        self.alpha = alpha
        self._codes = _LookedAt(own.layout, own.space, look)

    @property
    def words(self) -> Words:
        """The picture [h,w,3] in its own codes, as it is now."""
        return deep_rgb_of(self)

    @property
    def rgb(self) -> RGB8:
        """The picture [h,w,3] in sRGB."""
        return self.read()

    def show(self, box: Box) -> None:
        """Make the pixels in `box` opaque: what is painted over a picture must be seen."""
        if self.alpha is not None:
            self.alpha[box.y0 : box.y1, box.x0 : box.x1] = 65535

    def enlarged(self, rgb: RGB8) -> DeepFrame:
        """This frame with the larger picture `rgb` [h,w,3]; the new shades are as fine as models give them."""
        alpha = None if self.alpha is None else np.asarray(fitted(self.alpha, rgb.shape), np.uint16)
        larger = DeepFrame(np.zeros(rgb.shape, np.uint16), self.look, alpha)
        larger.paint(rgb)
        return larger


@dataclass(frozen=True, slots=True)
class _LookedAt(PixelCodes):
    """PixelCodes whose colours are explained by the picture itself."""

    look: DisplayMap | None

    @property
    def _display(self) -> DisplayMap | None:
        return self.look


def fitted(alpha: Alpha, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """`alpha` at the height and width of `shape`."""
    if alpha.shape == shape[:2]:
        return alpha
    return np.asarray(cv2.resize(alpha, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR))
