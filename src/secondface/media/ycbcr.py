"""Colour spaces of video: the matrix, the range, and the exact map between code values and RGB.

Decides how Y'CbCr code values become signal RGB and back (ITU-T H.273 codes, BT.601/709/2020 constants), what is
guessed where tags are missing, and which tags are refused; must not know files, frames or planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from secondface.errors import MediaUnsupported
from secondface.media.chroma import CENTRE, ChromaSite
from secondface.media.primaries import BT709_PRIMARIES, is_known, luma_weights
from secondface.media.transfer import UNSHOWABLE

Matrix34: TypeAlias = npt.NDArray[np.float32]
"""[3,4]: three rows of three factors and an offset."""

RGB_MATRIX = 0
BT709 = 1
UNSPECIFIED = 2
BT470BG = 5
SMPTE170M = 6
BT2020_NCL = 9

BT2020_CL = 10
YCGCO = 8
CHROMA_DERIVED = 12

_LUMA_WEIGHTS: dict[int, tuple[float, float]] = {
    BT709: (0.2126, 0.0722),
    4: (0.30, 0.11),
    BT470BG: (0.299, 0.114),
    SMPTE170M: (0.299, 0.114),
    7: (0.212, 0.087),
    BT2020_NCL: (0.2627, 0.0593),
}
"""Kr and Kb by matrix code (H.273 table 4)."""
_REFUSED = {
    BT2020_CL: "BT.2020 constant luminance", 11: "SMPTE ST 2085", 13: "chromaticity-derived constant luminance",
    14: "ICtCp", 15: "IPT-C2", 16: "YCgCo-Re", 17: "YCgCo-Ro",
}  # fmt: skip
"""Matrices that are no matrices, or are reversible only with integers; shown by another they would look plausible."""


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
        size: tuple[int, int], full: bool = False, rgb: bool = False, site: ChromaSite = CENTRE,
    ) -> ColourSpace:  # fmt: skip
        """The space that a stream's tags say; what is untagged is guessed by size, as players do.

        `color_range` is FFmpeg's code (1 limited, 2 full, 0 unknown); `full` and `rgb` are what the format implies.
        Raises MediaUnsupported for spaces that would be shown in wrong colours.
        """
        if not rgb and (name := _REFUSED.get(matrix)):
            raise MediaUnsupported(f"its colour matrix is {name}: only Y'CbCr, YCgCo and RGB are converted")
        if name := UNSHOWABLE.get(transfer):
            raise MediaUnsupported(f"its transfer is {name}: grade it for a display first")
        width, height = size
        high_definition = width >= 1280 or height > 576
        if rgb:
            matrix = RGB_MATRIX
        elif matrix not in _LUMA_WEIGHTS and matrix not in (YCGCO, CHROMA_DERIVED):
            matrix = BT709 if high_definition else SMPTE170M
        if primaries == UNSPECIFIED and transfer == UNSPECIFIED:
            primaries = transfer = SMPTE170M if matrix in (BT470BG, SMPTE170M) else BT709
            if matrix == BT2020_NCL:
                primaries, transfer = 9, 14
        return ColourSpace(matrix, full or color_range == 2, primaries, transfer, site)

    @property
    def weights(self) -> tuple[float, float]:
        """Kr and Kb."""
        if self.matrix == CHROMA_DERIVED:
            return luma_weights(self.primaries if is_known(self.primaries) else BT709_PRIMARIES)
        return _LUMA_WEIGHTS[self.matrix]


@lru_cache(maxsize=64)
def rgb_from_codes(space: ColourSpace, depth: int) -> Matrix34:
    """The map from code values (Y, Cb, Cr) of `depth` bits to RGB 0..255."""
    scale, offset = _code_scale(space.full_range, depth)
    factors = np.linalg.inv(_signal_from_rgb(space)) * (255.0 / scale)
    return np.hstack([factors, -(factors @ offset)[:, None]]).astype(np.float32)


@lru_cache(maxsize=64)
def codes_from_rgb(space: ColourSpace, depth: int) -> Matrix34:
    """The map from RGB 0..255 to code values (Y, Cb, Cr) of `depth` bits."""
    scale, offset = _code_scale(space.full_range, depth)
    return np.hstack([_signal_from_rgb(space) * (scale[:, None] / 255.0), offset[:, None]]).astype(np.float32)


def _signal_from_rgb(space: ColourSpace) -> npt.NDArray[np.float64]:
    """[3,3]: Y 0..1 and two colour differences -0.5..0.5 of RGB 0..1."""
    if space.matrix == YCGCO:
        return np.array([[0.25, 0.5, 0.25], [-0.25, 0.5, -0.25], [0.5, 0.0, -0.5]])
    kr, kb = space.weights
    luma = np.array([kr, 1 - kr - kb, kb])
    blue, red = np.array([0, 0, 1]) - luma, np.array([1, 0, 0]) - luma
    return np.stack([luma, blue / (2 * (1 - kb)), red / (2 * (1 - kr))])


def _code_scale(full_range: bool, depth: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Span and zero of Y, Cb, Cr in code values."""
    middle = float(1 << (depth - 1))
    if full_range:
        span = float((1 << depth) - 1)
        return np.array([span, span, span]), np.array([0.0, middle, middle])
    step = float(1 << (depth - 8))
    return np.array([219.0, 224.0, 224.0]) * step, np.array([16.0 * step, middle, middle])
