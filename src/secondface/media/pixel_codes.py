"""What the code values of one pixel format in one colour space mean: to display RGB of eight bits, and back.

Decides per-pixel arithmetic and its rounding; must not know regions, chroma positions or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8
from secondface.media.layouts import PlaneLayout
from secondface.media.tone import DisplayMap, display_map
from secondface.media.ycbcr import ColourSpace, Matrix34, codes_from_rgb, rgb_from_codes

Plane: TypeAlias = npt.NDArray[np.uint8 | np.uint16]
"""[height, width] code values; 16-bit words for more than 8 bits."""
Codes: TypeAlias = npt.NDArray[np.float32]
"""[height, width, 3] exact code values, one channel per colour plane, in the planes' order."""

_WORD = 257.0
"""Spreads 0..255 over a 16-bit word, whose ends then clip as those of a byte do; OpenCV is exact and fast there."""
_GREEN_BLUE_RED = (1, 2, 0)


@dataclass(frozen=True, slots=True)
class PixelCodes:
    """The two maps between the planes of `layout` in `space` and the picture that vision sees."""

    layout: PlaneLayout
    space: ColourSpace

    @property
    def is_plain(self) -> bool:
        """Whether eight bits hold all there is: what is rewritten then needs nothing of what was there."""
        return self.layout.depth == 8 and self._display is None

    @property
    def chroma_gain(self) -> int:
        """By this, chroma is multiplied before it is interpolated: its fractions fill the 16-bit word."""
        return 1 << (16 - self.layout.depth)

    @property
    def graphics_white(self) -> int:
        """What labels take for white, 0..255."""
        return 255 if self._display is None else self._display.white

    @property
    def _display(self) -> DisplayMap | None:
        return display_map(self.space)

    def rgb(self, parts: Sequence[npt.NDArray[Any]], chroma_gain: int = 1) -> RGB8:
        """Pixels from planes of one size: Y, Cb, Cr (these times `chroma_gain`); or Y alone; or G, B, R."""
        if self.layout.family == "rgb" and self.layout.depth == 8 and self._display is None:
            return np.asarray(cv2.merge([parts[2], parts[0], parts[1]]), np.uint8)
        words = self._words(parts, chroma_gain)
        return _bytes_of(words) if self._display is None else self._display.shown(words)

    def signal(self, parts: Sequence[npt.NDArray[Any]], chroma_gain: int = 1) -> Codes:
        """Signal R'G'B' [h,w,3], 0..255 with fractions, before any tone mapping."""
        return np.asarray(self._words(parts, chroma_gain).astype(np.float32) * np.float32(1 / _WORD))

    def shown(self, parts: Sequence[npt.NDArray[Any]], chroma_gain: int = 1) -> Codes:
        """As rgb(), but with the fractions."""
        if self._display is None:
            return self.signal(parts, chroma_gain)
        deep = self._display.shown_deep(self._words(parts, chroma_gain))
        return np.asarray(deep.astype(np.float32) * np.float32(1 / _WORD))

    def codes(self, rgb: RGB8) -> Codes:
        """The codes that stand for the pixels `rgb`."""
        return self.codes_of_signal(rgb.astype(np.float32) if self._display is None else self._display.signal(rgb))

    def codes_of_signal(self, signal: npt.NDArray[np.float32]) -> Codes:
        """The codes of signal R'G'B' [h,w,3], 0..255 with fractions."""
        if self.layout.family == "rgb":
            return np.asarray(signal[:, :, _GREEN_BLUE_RED] * np.float32(((1 << self.layout.depth) - 1) / 255.0))
        return np.asarray(cv2.transform(signal, codes_from_rgb(self.space, self.layout.depth)), np.float32)

    def _words(self, parts: Sequence[npt.NDArray[Any]], chroma_gain: int) -> npt.NDArray[np.uint16]:
        """The signal R'G'B' (not yet made displayable) over the 16-bit range."""
        depth = self.layout.depth
        match self.layout.family:
            case "rgb":
                scale = 65535.0 / ((1 << depth) - 1)
                merged = cv2.merge([parts[2], parts[0], parts[1]])
                return merged if depth == 16 else saturated(merged.astype(np.float32) * np.float32(scale), 16)
            case "gray":
                # the offset of the R row includes that of Cr, which a gray picture does not have
                gain = rgb_from_codes(self.space, depth)[0, 0] * np.float32(_WORD)
                zero = 0 if self.space.full_range else 16 << (depth - 8)
                words = saturated((parts[0].astype(np.float32) - np.float32(zero)) * gain, 16)
                return np.asarray(cv2.merge([words, words, words]), np.uint16)
            case "yuv":
                factors = _word_rgb_from_codes(self.space, depth, chroma_gain)
                merged = cv2.merge([part.astype(np.uint16, copy=False) for part in parts])
                return np.asarray(cv2.transform(merged, factors), np.uint16)

    def plain_channels(self, rgb: RGB8) -> list[npt.NDArray[Any]]:
        """As codes(), one array a plane, for rounded() after any averaging; only where is_plain."""
        if self.layout.family == "rgb":
            return [np.asarray(cv2.extractChannel(rgb, channel)) for channel in _GREEN_BLUE_RED]
        words = cv2.transform(rgb.astype(np.uint16), _word_codes_from_rgb(self.space))
        return [np.asarray(cv2.extractChannel(words, channel)) for channel in range(self.layout.colour_planes)]

    def rounded(self, values: Any) -> Plane:
        """What is stored: plain_channels() or codes() of one plane, to the nearest code that there is."""
        if values.dtype == np.uint8:
            return values
        return _bytes_of(values) if values.dtype == np.uint16 else saturated(values, self.layout.depth)


def saturated(values: Any, depth: int) -> Any:
    """Rounded and clipped to `depth` bits; OpenCV does both in one pass."""
    add: Any = cv2.add  # its stub does not know scalars
    if depth == 8:
        return add(values, (0.0, 0.0, 0.0, 0.0), dtype=cv2.CV_8U)
    words = add(values, (0.0, 0.0, 0.0, 0.0), dtype=cv2.CV_16U)
    return words if depth == 16 else np.minimum(words, np.uint16((1 << depth) - 1))


@lru_cache(maxsize=64)
def _word_rgb_from_codes(space: ColourSpace, depth: int, chroma_gain: int) -> Matrix34:
    return (rgb_from_codes(space, depth) * _WORD / (1, chroma_gain, chroma_gain, 1)).astype(np.float32)


@lru_cache(maxsize=64)
def _word_codes_from_rgb(space: ColourSpace) -> Matrix34:
    return (codes_from_rgb(space, 8) * _WORD).astype(np.float32)


def _bytes_of(words: Any) -> npt.NDArray[np.uint8]:
    """0..65535 rounded to 0..255."""
    return np.asarray(cv2.convertScaleAbs(words, alpha=1 / _WORD), np.uint8)
