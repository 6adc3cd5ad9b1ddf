"""How sharp, noisy or block-coded pixels are, and bringing one region to the sharpness of another.

Decides measures and their scale; needs no model.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Float, Mask01

Change = Callable[[float], RGB8]
Table = tuple[tuple[float, ...], tuple[float, ...]]

_SIGMAS = (0.7, 1.4, 2.8)
# Energy of an octave over the next one, against the share of the pixel grid that the detail really fills: measured on
# faces of six people at 64 to 400 px, area-reduced and enlarged again by 1 to 4; it varies by 6 %. The finest octave
# tells most; the second one only speaks up for blur under coding artefacts, which fill the finest with false detail.
_FINE_RATIOS: Table = ((0.36, 0.435, 0.48, 0.57, 0.63, 0.93, 1.25), (0.125, 0.25, 0.33, 0.5, 0.66, 1.0, 1.3))
_NEXT_RATIOS: Table = ((0.36, 0.41, 0.46, 0.54, 0.58, 0.62), (0.17, 0.25, 0.33, 0.5, 0.66, 1.3))
_GRAIN_LEVEL = 2.5  # detail of this strength, in levels of 255, is raised by half
_NOISE_GAINS = (0.72, 0.28, 0.14)  # what each band passes of white noise


def sharpness(rgb: RGB8, mask: Mask01 | None = None) -> float:
    """Detail over what the pixel grid can hold: 1 for a crisp picture, 0.5 for one enlarged twice, up to 1.3.

    Noise is measured and left out. `mask` [h,w] says which pixels count. A flat region gives 1: nothing to sharpen.
    """
    luma = _luma(rgb)
    weights = np.ones(luma.shape, np.float32) if mask is None else mask
    total = max(float(weights.sum()), 1e-6)
    noise = noise_sigma(rgb)
    rest = luma
    energies: list[float] = []
    for sigma, gain in zip(_SIGMAS, _NOISE_GAINS, strict=True):
        smooth = np.asarray(cv2.GaussianBlur(luma, (0, 0), sigma, borderType=cv2.BORDER_REFLECT_101), np.float32)
        energies.append(max(0.0, float(((rest - smooth) ** 2 * weights).sum()) / total - (noise * gain) ** 2))
        rest = smooth
    fine, middle, coarse = energies
    if coarse < 0.1:
        return 1.0
    return min(_share(fine, middle, _FINE_RATIOS), _share(middle, coarse, _NEXT_RATIOS))


def _share(finer: float, coarser: float, table: Table) -> float:
    return float(np.interp(math.sqrt(finer / max(coarser, 1e-6)), table[0], table[1]))


def noise_sigma(rgb: RGB8) -> float:
    """Standard deviation of white noise in luma, in levels of 255; taken from the calmest quarter of the picture."""
    luma = _luma(rgb)
    height, width = luma.shape[0] // 8 * 8, luma.shape[1] // 8 * 8
    if not height or not width:
        return 0.0
    kernel = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32) / 6  # blind to slopes; unit gain for noise
    residue = cv2.filter2D(luma, cv2.CV_32F, kernel)[:height, :width]
    blocks = np.sqrt((residue**2).reshape(height // 8, 8, width // 8, 8).mean((1, 3)))
    return float(np.quantile(blocks, 0.25)) * 1.12  # the calm quarter lies that far below the mean


def blockiness(rgb: RGB8) -> float:
    """Steps on an 8-pixel grid over steps elsewhere, minus 1: 0 for a clean picture, 0.3 for a visibly coded JPEG."""
    luma = _luma(rgb)
    found = 0.0
    for axis in (0, 1):
        second = np.abs(np.diff(luma, 2, axis))  # a block edge bends the signal; a slope does not
        lines = second.mean(1 - axis)
        if len(lines) < 24:
            continue
        phases = np.array([lines[phase::8].mean() for phase in range(8)])
        pair = phases + np.roll(phases, -1)  # the edge between two samples bends at both
        found += float(pair.max() / max(1e-3, (phases.sum() - pair.max()) / 3) - 1) / 2
    return max(0.0, found)


def match_sharpness(rgb: RGB8, reference_sharpness: float) -> RGB8:
    """The region [h,w,3] as sharp as `reference_sharpness`, by blur or by unsharp masking that cannot overshoot."""
    present = sharpness(rgb)
    if abs(present - reference_sharpness) < 0.03:
        return rgb.copy()
    if present > reference_sharpness:
        return _bisect(lambda sigma: _blurred(rgb, sigma), 0.2, 4.0, reference_sharpness, rising=False)
    return _bisect(lambda amount: sharpened(rgb, amount), 0.0, 4.0, reference_sharpness, rising=True)


def sharpened(rgb: RGB8, amount: float, radius: float = 1.0) -> RGB8:
    """Unsharp masking of luma; each pixel stays between its neighbours' extremes, so edges get no halo.

    Detail as weak as grain is hardly raised.
    """
    luma = _luma(rgb)
    detail = luma - cv2.GaussianBlur(luma, (0, 0), radius, borderType=cv2.BORDER_REFLECT_101)
    strength = cv2.blur(detail * detail, (5, 5), borderType=cv2.BORDER_REFLECT_101)
    detail = detail * strength / (strength + _GRAIN_LEVEL**2)
    kernel = np.ones((3, 3), np.uint8)
    wanted = np.clip(luma + amount * detail, cv2.erode(luma, kernel), cv2.dilate(luma, kernel))
    return to_rgb8(rgb.astype(np.float32) + (wanted - luma)[:, :, None])


def to_rgb8(values: Float | npt.NDArray[np.float64]) -> RGB8:
    """Rounded and clipped to 0..255."""
    return np.clip(values + 0.5, 0, 255).astype(np.uint8)


def _bisect(change: Change, low: float, high: float, wanted: float, *, rising: bool) -> RGB8:
    result = change(high)
    for _ in range(9):
        middle = (low + high) / 2
        result = change(middle)
        if (sharpness(result) < wanted) == rising:
            low = middle
        else:
            high = middle
    return result


def _blurred(rgb: RGB8, sigma: float) -> RGB8:
    return np.asarray(cv2.GaussianBlur(rgb, (0, 0), sigma, borderType=cv2.BORDER_REFLECT_101), np.uint8)


def _luma(rgb: RGB8) -> Float:
    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), np.float32)
