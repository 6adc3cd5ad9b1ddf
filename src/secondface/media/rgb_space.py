"""RGB spaces that stills describe by curves and primaries: ICC profiles, gAMA and cHRM; to sRGB and back.

Decides what such a description says of code values; H.273 codes are for `tone`. Must not know files.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8
from secondface.media.tone import Signal, Words

Curve: TypeAlias = npt.NDArray[np.float32]
"""[65536]: linear light of each code value; 1 is white."""

_D50_FROM_SRGB = (
    (0.4360747, 0.3850649, 0.1430804),
    (0.2225045, 0.7168786, 0.0606169),
    (0.0139322, 0.0971045, 0.7141733),
)
_SRGB_XY = (0.64, 0.33, 0.30, 0.60, 0.15, 0.06)
_D65 = (0.3127, 0.3290)
_GRAIN = 16_384
"""Steps of the table from linear light to sRGB; its square root makes it fine where the eye is."""
_STRIP = 1 << 18
_SAME_STEPS = 2.0
"""A space that moves no colour by more than this, of 255, is sRGB under another name."""


@dataclass(frozen=True, eq=False)
class RgbSpace:
    """Curves [3][65536] to linear light and a matrix [3,3] to linear sRGB."""

    curves: tuple[Curve, Curve, Curve]
    matrix: npt.NDArray[np.float64]

    @cached_property
    def is_srgb(self) -> bool:
        """Whether no colour of this space looks different when it is taken for sRGB."""
        steps = np.linspace(0, 65535, 17).round().astype(np.uint16)
        grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(-1, 3)
        moved = self._display(grid) / 257 - grid / 257.0
        return bool(np.abs(moved).max() <= _SAME_STEPS)

    @property
    def white(self) -> int:
        """The level of white letters: profiles and gamma explain SDR."""
        return 255

    def shown(self, words: Words) -> RGB8:
        """[h,w,3] code values as sRGB."""
        out = np.empty(words.shape, np.uint8)
        for rows in _row_strips(words.shape):
            part = words[rows]
            out[rows] = cv2.convertScaleAbs(part if self.is_srgb else self._display(part), alpha=1 / 257)
        return out

    def shown_deep(self, words: Words) -> Words:
        """[h,w,3] code values as those of sRGB over 16 bits."""
        out = np.empty_like(words)
        for rows in _row_strips(words.shape):
            out[rows] = self._display(words[rows])
        return out

    def signal(self, rgb: RGB8) -> Signal:
        """[h,w,3] sRGB as code values of this space, 0..255 with fractions."""
        if self.is_srgb:
            return rgb.astype(np.float32)
        light = _srgb_light()[rgb.astype(np.uint16) * np.uint16(257)]
        native = light.reshape(-1, 3) @ np.linalg.inv(self.matrix).T.astype(np.float32)
        codes = np.linspace(0, 255, 65536, dtype=np.float32)
        for channel, curve in enumerate(self.curves):
            native[:, channel] = np.interp(native[:, channel], curve, codes)
        return native.reshape(rgb.shape)

    def _display(self, words: Words) -> Words:
        """sRGB code values over 16 bits."""
        light = np.stack([curve[words[..., channel]] for channel, curve in enumerate(self.curves)], -1)
        light = light.reshape(-1, 3) @ self.matrix.T.astype(np.float32)
        index = np.sqrt(np.clip(light, 0, 1)) * np.float32(_GRAIN) + np.float32(0.5)
        return _srgb_codes()[index.astype(np.uint16)].reshape(words.shape)


def space_of_chromaticities(
    gamma: float | None, xy: Sequence[float] | None, white: tuple[float, float] | None
) -> RgbSpace | None:
    """A space of the pure power `gamma` and the x and y of red, green and blue; None stands for what sRGB has.

    None is returned when the numbers mean no space.
    """
    try:
        curve = _srgb_light() if gamma is None else _power(gamma)
        return RgbSpace((curve, curve, curve), _to_srgb(xy or _SRGB_XY, white or _D65))
    except (np.linalg.LinAlgError, ZeroDivisionError, ValueError):
        return None


def space_of_icc(profile: bytes) -> RgbSpace | None:
    """The space of an RGB or gray profile made of curves and a matrix; None for one of tables, or a damaged one."""
    try:
        if profile[12:16] == b"link" or profile[20:24] != b"XYZ " or profile[16:20] not in (b"GRAY", b"RGB "):
            return None
        tags = _icc_tags(profile)
        if profile[16:20] == b"GRAY":
            gray = _icc_curve(tags[b"kTRC"])
            return RgbSpace((gray, gray, gray), np.eye(3))
        if b"A2B0" in tags:
            return None
        columns = [struct.unpack_from(">3i", tags[name], 8) for name in (b"rXYZ", b"gXYZ", b"bXYZ")]
        red, green, blue = (_icc_curve(tags[name]) for name in (b"rTRC", b"gTRC", b"bTRC"))
    except (KeyError, struct.error, ValueError, IndexError, ZeroDivisionError):
        return None
    to_d50 = np.array(columns, np.float64).T / 65536
    if abs(np.linalg.det(to_d50)) < 1e-6:
        return None
    return RgbSpace((red, green, blue), np.linalg.inv(np.array(_D50_FROM_SRGB)) @ to_d50)


def _icc_tags(profile: bytes) -> dict[bytes, bytes]:
    count = min(100, struct.unpack_from(">I", profile, 128)[0])
    tags: dict[bytes, bytes] = {}
    for at in range(132, 132 + 12 * count, 12):
        name, start, size = struct.unpack_from(">4sII", profile, at)
        tags[name] = profile[start : start + size]
    return tags


def _icc_curve(tag: bytes) -> Curve:
    """A `curv` or `para` element as a table; ValueError for anything else."""
    if tag[:4] == b"para":
        return _parametric(tag)
    if tag[:4] != b"curv":
        raise ValueError("not a curve")
    count = struct.unpack_from(">I", tag, 8)[0]
    if count < 2:
        return _power(struct.unpack_from(">H", tag, 12)[0] / 256 if count else 1.0)
    table = np.frombuffer(tag, ">u2", count, 12).astype(np.float64) / 65535
    return _rising(np.interp(np.linspace(0, 1, 65536), np.linspace(0, 1, count), table))


def _parametric(tag: bytes) -> Curve:
    """A `para` element: a power above a threshold, and below it nothing, a constant or a line (ICC.1, table 68)."""
    kind = struct.unpack_from(">H", tag, 8)[0]
    numbers = [value / 65536 for value in struct.unpack_from(f">{(1, 3, 4, 5, 7)[kind]}i", tag, 12)]
    g, a, b, c, d, e, f = (numbers + [0.0] * 7)[:7]
    x = np.linspace(0, 1, 65536)
    if kind == 0:
        return _power(g)
    power = np.maximum(a * x + b, 0) ** g
    if kind < 3:
        return _rising(np.where(x >= -b / a, power, 0) + c)
    return _rising(np.where(x >= d, power + e, c * x + f))


def _power(gamma: float) -> Curve:
    if not 0.2 <= gamma <= 6:
        raise ValueError(f"gamma {gamma}")
    return _rising(np.linspace(0, 1, 65536) ** gamma)


def _rising(values: Any) -> Curve:
    """`values` as a curve that can be turned round."""
    return np.maximum.accumulate(np.nan_to_num(values)).astype(np.float32)


@lru_cache(maxsize=1)
def _srgb_light() -> Curve:
    x = np.linspace(0, 1, 65536)
    return _rising(np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4))


@lru_cache(maxsize=1)
def _srgb_codes() -> Words:
    """sRGB codes over 16 bits of light (i / _GRAIN)²."""
    light = (np.arange(_GRAIN + 1) / _GRAIN) ** 2
    values = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.round(values * 65535).astype(np.uint16)


def _to_srgb(xy: Sequence[float], white: tuple[float, float]) -> npt.NDArray[np.float64]:
    """Linear RGB of these primaries to linear sRGB, white to white."""
    srgb = _to_xyz(_SRGB_XY, _D65)
    own = _to_xyz(xy, white)
    bradford = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
    gain = (bradford @ srgb.sum(1)) / (bradford @ own.sum(1))
    return np.linalg.inv(srgb) @ np.linalg.inv(bradford) @ np.diag(gain) @ bradford @ own


def _to_xyz(xy: Sequence[float], white: tuple[float, float]) -> npt.NDArray[np.float64]:
    columns = np.array([(x / y, 1, (1 - x - y) / y) for x, y in zip(xy[::2], xy[1::2], strict=True)]).T
    x, y = white
    return columns * np.linalg.solve(columns, np.array([x / y, 1, (1 - x - y) / y]))


def _row_strips(shape: tuple[int, ...]) -> list[slice]:
    rows = max(1, _STRIP // max(1, shape[1]))
    return [slice(top, top + rows) for top in range(0, shape[0], rows)]
