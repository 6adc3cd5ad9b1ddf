"""How light lies on the skin of a face, apart from what the face looks like.

A light field is the skin's colour averaged over a neighbourhood, with brows, eyes, lips, hair and whatever covers the
face left out (normalised convolution, Knutsson and Westin 1993). Dividing by it leaves the face's own detail.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from secondface.frames import Float, Mask01
from secondface.vision.per_pixel import times

_DARK_OFFSET = 8.0
"""Added before colours are compared, so that noise in near-black pixels does not look like colour."""
_OPPONENT_AXES = np.array([[1 / 3, 1 / 3, 1 / 3], [2 / 3, -1 / 3, -1 / 3], [-1 / 3, -1 / 3, 2 / 3]], np.float32)
"""Lightness, redness and blueness of a log ratio."""
MEAN = np.full(3, 1 / 3, np.float32)
"""Colours times this are their lightness. NumPy's mean along three columns takes ten times as long."""
_MOST_SHINE = 3.0
"""Of the excess lightness: so much may be the white of the light, and what is under it darker than the rest, ..."""
_DARKEST = 0.5
"""... but no darker than so."""
_BURNT = 250
"""A channel so bright has lost what is under the shine."""
_SPARSE = 2
"""Every second pixel of every second row is enough for a median, ..."""
_DENSE_PIXELS = 12_000
"""... unless there are fewer than this."""
_FAR = 3.0
"""In spreads."""
_GREYISH = 0.05
"""So colourful must skin be that its colour can be missed."""
_LEAST_BODY = 0.5
_COARSE_STEP = 4
"""The field is smooth, so it is computed on every fourth pixel of the coarse canvas."""


def light_field(rgb: Float, skin: Mask01, reach_px: float) -> Float:
    """Mean skin colour [h,w,3] around each pixel; `reach_px` is the standard deviation of the neighbourhood.

    Where no skin is near, the neighbourhood grows until it meets some.
    """
    height, width = skin.shape
    small = (max(2, width // _COARSE_STEP), max(2, height // _COARSE_STEP))
    colour = cv2.resize(times(rgb, skin), small, interpolation=cv2.INTER_AREA)
    weight = cv2.resize(skin, small, interpolation=cv2.INTER_AREA)
    reach = reach_px / _COARSE_STEP

    def gather(image: Float) -> Float:
        # A wider neighbourhood, and in the end all skin there is, only decides where a narrower one saw too little.
        wide = cv2.GaussianBlur(image, (0, 0), 2.5 * reach) * np.float32(1e-3)
        everywhere = np.array(cv2.mean(image)[: image.size // weight.size], np.float32)
        return cv2.GaussianBlur(image, (0, 0), reach) + wide + everywhere * np.float32(1e-6)

    field = gather(colour) / np.maximum(gather(weight), 1e-12)[..., None]
    return cv2.resize(field, (width, height), interpolation=cv2.INTER_CUBIC)


def skin_likelihood(rgb: Float, core: Mask01, light: Float | None = None) -> Mask01:
    """[h,w] 0..1: how much each pixel looks like the skin that fills `core`, in lightness and in colour.

    The model is the median and the robust spread of log ratios to `light`, or to the median colour of the core. What is
    brighter is taken for skin that shines as long as the skin's own colour is under the shine (dichromatic reflection,
    Shafer 1985): a white cup has none.
    """
    inside = core > 0.5
    thinned = (slice(None, None, _SPARSE),) * 2 if inside.size > _DENSE_PIXELS else np.s_[:, :]
    some = np.flatnonzero(inside[thinned])
    if some.size < 16:
        return np.ones(rgb.shape[:2], np.float32)
    reference = light if light is not None else np.median(rgb[inside], axis=0).astype(np.float32)[None, None]
    mean, expected = (cv2.transform(image, MEAN[None]) for image in (rgb, reference))
    shine = np.clip(_MOST_SHINE * (mean - expected), 0, np.maximum(mean - _DARKEST * expected, 0))
    axes, under, zero = (_axes(image) for image in (rgb, cv2.subtract(rgb, cv2.merge([shine] * 3)), reference))
    # Without a light field the slow change of light over the face is part of the spread.
    floors = (0.18, 0.04, 0.055) if light is not None else (0.22, 0.05, 0.07)
    brighter = np.clip((axes[0] - zero[0]) / 0.3, 0, 1)
    lit = 1 / (1 + 2 * brighter)
    burnt = cv2.max(cv2.max(rgb[..., 0], rgb[..., 1]), rgb[..., 2]) >= _BURNT
    distance = np.zeros(rgb.shape[:2], np.float32)
    for axis, floor in enumerate(floors):
        values = axes[axis] - zero[axis]
        middle, spread = _middle_and_spread(values[thinned].ravel()[some], floor)
        away = (values - middle) / spread
        if axis == 0:
            away *= lit
        else:
            other = (under[axis] - (zero[axis] + np.float32(middle))) / spread
            shining = cv2.min(cv2.max(cv2.min(away, other), 0), cv2.max(away, other))
            # The brighter a pixel, the less of its colour is noise.
            away = np.where(burnt, lit * away, (1 + np.float32(0.15) * brighter) * shining)
        distance += away**2
    return np.clip(2.0 - cv2.sqrt(distance) / 2.2, 0, 1).astype(np.float32)


def _axes(rgb: Float) -> Sequence[Float]:
    """Three of [h,w], logarithms: lightness, redness, blueness."""
    return cv2.split(cv2.transform(cv2.log(np.maximum(rgb, 0) + np.float32(_DARK_OFFSET)), _OPPONENT_AXES))


def _middle_and_spread(values: Float, least: float) -> tuple[float, float]:
    """Of what fills the core, without the few that are far from the rest: a cover that reaches into it."""
    middle, spread = _robust(values, least)
    return _robust(values[np.abs(values - middle) < _FAR * spread], least)


def _robust(values: Float, least: float) -> tuple[float, float]:
    middle = _median(values)
    return middle, max(least, 1.4826 * _median(np.abs(values - middle)))


def _median(values: Float) -> float:
    """NumPy's own takes four times as long: it looks for what is not a number too."""
    half = values.size // 2
    parted = np.partition(values, half)
    above = float(parted[half])
    return above if values.size % 2 else (above + float(parted[:half].max())) / 2


def body_share(rgb: Float, reference: Float) -> Float:
    """[n] 0..1: whether pixels [3,n] hold the own colour of skin that should look like `reference`, shining or not.

    1 where that cannot be known: of burnt out pixels, and where the skin itself is nearly grey.
    """
    mean, expected = MEAN @ rgb, MEAN @ reference
    own = reference - expected
    strength = MEAN @ (own * own)
    held = MEAN @ (rgb * own) / np.maximum(strength, 1e-6)
    shade = np.clip((mean + 4) / (np.maximum(expected, 1) + 4), 0.05, 1)
    colourful = np.sqrt(3 * strength) / (expected + _DARK_OFFSET)
    known = np.clip(colourful / _GREYISH - 1, 0, 1) * (rgb.max(0) < _BURNT)
    return 1 - known * (1 - np.clip(held / shade / _LEAST_BODY, 0, 1))
