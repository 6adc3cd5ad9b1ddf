"""Make new pixels as sharp and as grainy as the pixels that they replace.

Works on frequency bands (Burt and Adelson 1983): each band of the new pixels is turned down to the energy that the same
band has in the target, and what grain is then missing is taken from the target itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from secondface.frames import Float, Mask01
from secondface.vision.per_pixel import times

_LEAST_NOISE = 0.4
"""A spread below this, in levels of 255, is no grain that anyone sees."""
_COARSE_GRAIN_PX = 70
"""A face narrower than twice this has features, not grain, in its second band."""
_SMALLEST_BAND_PX = 12
_MOST_BOOST = 1.12
"""Source detail is hardly ever turned up: that would be its noise and its compression."""

_BLURRED = 0.6
"""A band gain below this part of the coarsest band's means that the target is blurred at that scale."""


@dataclass(frozen=True)
class TextureGains:
    """What to do to the new pixels: a gain per band, and how much of the target's grain to add; finest first."""

    bands: tuple[float, ...]
    grain: tuple[float, float]

    @property
    def blur_px(self) -> float:
        """Roughly how far the target's blur reaches; 0 where it is sharp."""
        blurred = sum(1 for gain in self.bands if gain < _BLURRED * min(1.0, self.bands[-1]))
        return 0.0 if blurred == 0 else 0.7 * 2.0**blurred

    def toward(self, other: TextureGains, rate: float) -> TextureGains:
        """A step of `rate` (0..1) from these gains to the other ones; a change of the band count takes them whole."""
        if len(self.bands) != len(other.bands):
            return other

        def ease(old: Sequence[float], new: Sequence[float]) -> tuple[float, ...]:
            return tuple(a + rate * (b - a) for a, b in zip(old, new, strict=True))

        fine, coarse = ease(self.grain, other.grain)
        return TextureGains(ease(self.bands, other.bands), (fine, coarse))


def luma(rgb: Float) -> Float:
    """[h,w,3] -> [h,w], BT.601 weights."""
    return cv2.transform(rgb, np.array([[0.299, 0.587, 0.114]], np.float32))


def measure(new: Float, target: Float, where: Mask01, skin: Mask01) -> TextureGains:
    """Gains that bring the bands of `new` [h,w] luma down to the target's.

    `where` weighs the pixels that will be replaced; `skin` the plain skin among them, where grain shows.
    """
    edges = where - np.float32(0.9) * skin  # grain on plain skin would hide how soft the edges are
    depth = max(1, int(np.log2(max(2, min(new.shape) / _SMALLEST_BAND_PX))))
    gains = list[float]()
    noise: list[tuple[float, float]] = []
    for level in range(depth):
        smaller_new, smaller_target = cv2.pyrDown(new), cv2.pyrDown(target)
        band_new, band_target = _band(new, smaller_new), _band(target, smaller_target)
        spread_new, spread_target = _spread(band_new, edges), _spread(band_target, edges)
        gain = (spread_target + 0.15) / (spread_new + 0.15)
        if level == 0 or (level == 1 and min(new.shape) >= _COARSE_GRAIN_PX):
            noise.append((_spread(band_new, skin) * min(gain, 1.0), _spread(band_target, skin)))
        gains.append(gain)
        new, target = smaller_new, smaller_target
        edges, skin = cv2.pyrDown(edges), cv2.pyrDown(skin)
    return TextureGains(_sharper_blur(gains), _missing_grain(noise))


def _sharper_blur(gains: Sequence[float]) -> tuple[float, ...]:
    """Turn blurred bands down further, as they hold more noise than edges in the target, and keep all in their range.

    Blur takes more from fine bands than from coarse ones; what all bands lack alike is contrast.
    """
    level = min(1.0, gains[-1])
    blurred = [gain * min(1.0, gain / (_BLURRED * level)) for gain in gains]
    return tuple(float(np.clip(gain, 0.02, _MOST_BOOST)) for gain in blurred)


def _missing_grain(noise: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """How much of the target's fine and of its coarse grain to add, from (new, target) spreads on plain skin.

    The second band counts only where it is as strong as the first and mostly missing: film grain and coding blotches
    are, skin is not.
    """

    def share(new: float, target: float) -> float:
        return float(np.sqrt(max(0.0, target**2 - new**2)) / target) if target > _LEAST_NOISE else 0.0

    fine = 0.8 * share(*noise[0])
    if len(noise) < 2 or noise[1][1] < max(3 * _LEAST_NOISE, noise[0][1]):
        return fine, 0.0
    coarse = share(*noise[1])
    return fine, 0.4 * coarse * float(np.clip((coarse - 0.6) / 0.2, 0, 1))


def equalise(new: Float, gains: Sequence[float]) -> Float:
    """`new` [h,w,3] with its bands scaled; the finest band first."""
    active = [index for index, gain in enumerate(gains) if abs(gain - 1) > 0.06]
    if not active:
        return new
    levels = [new]
    for _ in range(active[-1] + 1):
        levels.append(cv2.pyrDown(levels[-1]))
    # A band times its gain on top of what is coarser; enlarging is linear, so that one enlargement does for both.
    result = levels[-1]
    for index in range(active[-1], -1, -1):
        level, gain = levels[index], float(gains[index])
        beside = cv2.scaleAdd(levels[index + 1], -gain, result)
        result = cv2.scaleAdd(level, gain, cv2.pyrUp(beside, dstsize=(level.shape[1], level.shape[0])))
    return result


def add_grain(new: Float, target: Float, skin: Mask01, grain: tuple[float, float]) -> Float:
    """`new` [h,w,3] with the finest band or two of the target's, its noise and pores, added on plain skin."""
    if max(grain) < 0.1:
        return new
    smaller = cv2.pyrDown(target)
    texture = _band(target, smaller) * np.float32(grain[0])
    if grain[1] >= 0.1:
        coarse = _band(smaller, cv2.pyrDown(smaller)) * np.float32(grain[1])
        texture += cv2.pyrUp(coarse, dstsize=(target.shape[1], target.shape[0]))
    return new + times(texture, skin)


def _band(image: Float, smaller: Float) -> Float:
    return image - cv2.pyrUp(smaller, dstsize=(image.shape[1], image.shape[0]))


def _spread(band: Float, where: Mask01) -> float:
    """Weighted mean of the magnitude: less swayed by a few strong edges than the standard deviation."""
    total = float(where.sum())
    return float((np.abs(band) * where).sum() / total) if total > 1 else 0.0
