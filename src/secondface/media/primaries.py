"""The primaries of ITU-T H.273 as matrices between linear RGB spaces.

Decides chromaticities and white adaptation; must not know signals or pixels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Matrix33: TypeAlias = npt.NDArray[np.floating]

BT709_PRIMARIES = 1
BT2020_PRIMARIES = 9
_D65 = (0.3127, 0.3290)
_C = (0.310, 0.316)
_CHROMATICITIES: dict[int, tuple[tuple[float, float], ...]] = {
    1: ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060), _D65),
    4: ((0.67, 0.33), (0.21, 0.71), (0.14, 0.08), _C),
    5: ((0.64, 0.33), (0.29, 0.60), (0.15, 0.06), _D65),
    6: ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), _D65),
    7: ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), _D65),
    8: ((0.681, 0.319), (0.243, 0.692), (0.145, 0.049), _C),
    9: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), _D65),
    11: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), (0.314, 0.351)),
    12: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), _D65),
    22: ((0.630, 0.340), (0.295, 0.605), (0.155, 0.077), _D65),
}
"""Red, green, blue and white as CIE x, y (H.273 table 2)."""
_WIDE = (4, 8, BT2020_PRIMARIES, 11, 12)
"""Those that look wrong when they are taken for BT.709; the others of BT.601's kin differ by less than a shade."""
_BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])


def is_known(primaries: int) -> bool:
    """Whether the chromaticities of this H.273 code are known."""
    return primaries in _CHROMATICITIES


def is_wide(primaries: int) -> bool:
    """Whether pictures of these primaries must be converted to look right on an ordinary display."""
    return primaries in _WIDE


def luma_weights(primaries: int) -> tuple[float, float]:
    """Kr and Kb of the Y'CbCr matrix that H.273 derives from these primaries."""
    luminance = _xyz_from_rgb(primaries)[1]
    return float(luminance[0]), float(luminance[2])


@lru_cache(maxsize=64)
def rgb_to_rgb(source: int, target: int) -> Matrix33:
    """[3,3]: linear RGB of `source` primaries to that of `target`; white stays white."""
    adapted = _adaptation(_CHROMATICITIES[source][3], _CHROMATICITIES[target][3]) @ _xyz_from_rgb(source)
    return np.linalg.solve(_xyz_from_rgb(target), adapted)


def _xyz_from_rgb(primaries: int) -> Matrix33:
    *colours, white = (_xyz(*point) for point in _CHROMATICITIES[primaries])
    columns = np.stack(colours, 1)
    return columns * np.linalg.solve(columns, white)


def _xyz(x: float, y: float) -> npt.NDArray[np.float64]:
    return np.array([x / y, 1.0, (1 - x - y) / y])


def _adaptation(source: tuple[float, float], target: tuple[float, float]) -> Matrix33:
    ratio = (_BRADFORD @ _xyz(*target)) / (_BRADFORD @ _xyz(*source))
    return np.linalg.solve(_BRADFORD, ratio[:, None] * _BRADFORD)
