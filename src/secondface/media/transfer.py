"""Transfer curves: signal to light and back, by the codes of ITU-T H.273.

Decides the curves (IEC 61966-2-1, SMPTE ST 2084, BT.2100 HLG); must not know pixels or how light is shown.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Curve = npt.NDArray[np.float64]
"""Samples of a curve; these are made once for a table, never per pixel."""

LINEAR = 8
PQ = 16
HLG = 18
UNSHOWABLE = {9: "logarithmic", 10: "logarithmic", 17: "SMPTE ST 428 (cinema XYZ)"}
"""Transfers that cannot be taken for those of a display without showing wrong colours."""

PQ_PEAK = 10_000.0
"""cd/m2 at signal 1."""
_M1, _M2 = 2610 / 16384, 2523 / 4096 * 128
_C1, _C2, _C3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32

_HLG_A = 0.17883277
_HLG_B = 1 - 4 * _HLG_A
_HLG_C = 0.5 - _HLG_A * np.log(4 * _HLG_A)


def pq_light(signal: Curve) -> Curve:
    """cd/m2 of a PQ signal 0..1 (ST 2084, equation 4.1)."""
    power = np.clip(signal, 0, 1) ** (1 / _M2)
    return PQ_PEAK * (np.maximum(power - _C1, 0) / (_C2 - _C3 * power)) ** (1 / _M1)


def pq_signal(light: Curve) -> Curve:
    """The PQ signal of `light` in cd/m2 (ST 2084, equation 5.2)."""
    power = (np.maximum(light, 0) / PQ_PEAK) ** _M1
    return ((_C1 + _C2 * power) / (1 + _C3 * power)) ** _M2


def hlg_scene(signal: Curve) -> Curve:
    """Light of the scene, 0..1, of an HLG signal (BT.2100 table 5)."""
    signal = np.maximum(signal, 0)
    return np.where(signal <= 0.5, signal**2 / 3, (np.exp((signal - _HLG_C) / _HLG_A) + _HLG_B) / 12)


def hlg_signal(scene: Curve) -> Curve:
    """The HLG signal of scene light (BT.2100 table 5)."""
    scene = np.maximum(scene, 0)
    high = _HLG_A * np.log(np.maximum(12 * scene - _HLG_B, 1e-9)) + _HLG_C
    return np.where(scene <= 1 / 12, np.sqrt(3 * scene), high)


def srgb_light(signal: Curve) -> Curve:
    """Light 0..1 of an sRGB signal (IEC 61966-2-1)."""
    return np.where(signal <= 0.04045, signal / 12.92, ((np.maximum(signal, 0) + 0.055) / 1.055) ** 2.4)


def srgb_signal(light: Curve) -> Curve:
    """The sRGB signal of light 0..1 (IEC 61966-2-1)."""
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * np.maximum(light, 1e-9) ** (1 / 2.4) - 0.055)
