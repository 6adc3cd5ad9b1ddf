"""Colour spaces of video: the matrix, the range, and the exact map between code values and RGB.

Decides how Y'CbCr code values become display RGB and back (ITU-T H.273 codes, BT.601/709/2020 constants);
must not know files, frames or planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from secondface.media.chroma import CENTRE, ChromaSite

Matrix34: TypeAlias = npt.NDArray[np.float32]
"""[3,4]: three rows of three factors and an offset."""

RGB_MATRIX = 0
BT709 = 1
UNSPECIFIED = 2
BT470BG = 5
SMPTE170M = 6
BT2020_NCL = 9

LUMA_WEIGHTS: dict[int, tuple[float, float]] = {
    BT709: (0.2126, 0.0722),
    4: (0.30, 0.11),
    BT470BG: (0.299, 0.114),
    SMPTE170M: (0.299, 0.114),
    7: (0.212, 0.087),
    BT2020_NCL: (0.2627, 0.0593),
    10: (0.2627, 0.0593),
}
"""Kr and Kb by matrix code (H.273 table 4)."""


@dataclass(frozen=True, slots=True)
class ColourSpace:
    """What the code values of a stream mean, as H.273 codes; `matrix` is never unspecified."""

    matrix: int = BT709
    full_range: bool = False
    primaries: int = UNSPECIFIED
    transfer: int = UNSPECIFIED
    site: ChromaSite = CENTRE

    @staticmethod
    def tagged(
        matrix: int, color_range: int, primaries: int, transfer: int, *,
        size: tuple[int, int], full: bool = False, rgb: bool = False,
    ) -> ColourSpace:  # fmt: skip
        """The space that a stream's tags say; what is untagged is guessed by size, as players do.

        `color_range` is FFmpeg's code (1 limited, 2 full, 0 unknown); `full` and `rgb` are what the format implies.
        """
        width, height = size
        high_definition = width >= 1280 or height > 576
        if rgb:
            matrix = RGB_MATRIX
        elif matrix not in LUMA_WEIGHTS:
            matrix = BT709 if high_definition else SMPTE170M
        if primaries == UNSPECIFIED and transfer == UNSPECIFIED:
            primaries = transfer = BT709 if matrix in (BT709, RGB_MATRIX) else SMPTE170M
            if matrix in (BT2020_NCL, 10):
                primaries, transfer = 9, 14
        return ColourSpace(matrix, full or color_range == 2, primaries, transfer)


@lru_cache(maxsize=64)
def rgb_from_codes(space: ColourSpace, depth: int) -> Matrix34:
    """The map from code values (Y, Cb, Cr) of `depth` bits to RGB 0..255."""
    kr, kb = LUMA_WEIGHTS[space.matrix]
    kg = 1 - kr - kb
    red, blue = 2 * (1 - kr), 2 * (1 - kb)
    signal = np.array([[1, 0, red], [1, -kb * blue / kg, -kr * red / kg], [1, blue, 0]])
    scale, offset = _code_scale(space.full_range, depth)
    factors = signal * (255.0 / scale)
    return np.hstack([factors, -(factors @ offset)[:, None]]).astype(np.float32)


@lru_cache(maxsize=64)
def codes_from_rgb(space: ColourSpace, depth: int) -> Matrix34:
    """The map from RGB 0..255 to code values (Y, Cb, Cr) of `depth` bits."""
    kr, kb = LUMA_WEIGHTS[space.matrix]
    kg = 1 - kr - kb
    luma = np.array([kr, kg, kb])
    blue, red = np.array([0, 0, 1]) - luma, np.array([1, 0, 0]) - luma
    signal = np.stack([luma, blue / (2 * (1 - kb)), red / (2 * (1 - kr))])
    scale, offset = _code_scale(space.full_range, depth)
    return np.hstack([signal * (scale[:, None] / 255.0), offset[:, None]]).astype(np.float32)


def _code_scale(full_range: bool, depth: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Span and zero of Y, Cb, Cr in code values."""
    middle = float(1 << (depth - 1))
    if full_range:
        span = float((1 << depth) - 1)
        return np.array([span, span, span]), np.array([0.0, middle, middle])
    step = float(1 << (depth - 8))
    return np.array([219.0, 224.0, 224.0]) * step, np.array([16.0 * step, middle, middle])
