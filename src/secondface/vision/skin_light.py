"""How light lies on the skin of a face, apart from what the face looks like.

A light field is the skin's colour averaged over a neighbourhood, with brows, eyes, lips, hair and whatever covers the
face left out (normalised convolution, Knutsson and Westin 1993). Dividing by it leaves the face's own detail.
"""

from __future__ import annotations

import cv2
import numpy as np

from secondface.frames import Float, Mask01

_DARK_OFFSET = 8.0
"""Added before colours are compared, so that noise in near-black pixels does not look like colour."""
_OPPONENT_AXES = np.array([[1 / 3, 1 / 3, 1 / 3], [2 / 3, -1 / 3, -1 / 3], [-1 / 3, -1 / 3, 2 / 3]], np.float32)
"""Lightness, redness and blueness of a log ratio."""
_COARSE_STEP = 4
"""The field is smooth, so it is computed on every fourth pixel of the coarse canvas."""


def light_field(rgb: Float, skin: Mask01, reach_px: float) -> Float:
    """Mean skin colour [h,w,3] around each pixel; `reach_px` is the standard deviation of the neighbourhood.

    Where no skin is near, the neighbourhood grows until it meets some.
    """
    height, width = skin.shape
    small = (max(2, width // _COARSE_STEP), max(2, height // _COARSE_STEP))
    colour = cv2.resize(rgb * skin[..., None], small, interpolation=cv2.INTER_AREA)
    weight = cv2.resize(skin, small, interpolation=cv2.INTER_AREA)
    reach = reach_px / _COARSE_STEP

    def gather(image: Float) -> Float:
        # A wider neighbourhood, and in the end all skin there is, only decides where a narrower one saw too little.
        wide = cv2.GaussianBlur(image, (0, 0), 2.5 * reach) * np.float32(1e-3)
        return cv2.GaussianBlur(image, (0, 0), reach) + wide + image.mean((0, 1)) * np.float32(1e-6)

    field = gather(colour) / np.maximum(gather(weight), 1e-12)[..., None]
    return cv2.resize(field, (width, height), interpolation=cv2.INTER_CUBIC)


def skin_likelihood(rgb: Float, core: Mask01, light: Float | None = None) -> Mask01:
    """[h,w] 0..1: how much each pixel looks like the skin that fills `core`, in lightness and in colour.

    The model is the median and the robust spread of log ratios to `light`, or to the median colour of the core.
    """
    inside = core > 0.5
    if np.count_nonzero(inside) < 16:
        return np.ones(rgb.shape[:2], np.float32)
    reference = light if light is not None else np.median(rgb[inside], axis=0).astype(np.float32)
    ratio = cv2.log((rgb + _DARK_OFFSET) / (reference + _DARK_OFFSET))
    axes = cv2.transform(ratio, _OPPONENT_AXES)
    # Without a light field the slow change of light over the face is part of the spread.
    floors = (0.18, 0.04, 0.055) if light is not None else (0.22, 0.05, 0.07)
    distance = np.zeros(rgb.shape[:2], np.float32)
    lit = 1 / (1 + 2 * np.clip(axes[..., 0] / 0.3, 0, 1))  # skin in the light is brighter, and of the light's colour
    for axis, floor in enumerate(floors):
        values = np.ascontiguousarray(axes[..., axis])
        middle = float(np.median(values[inside]))
        spread = max(floor, 1.4826 * float(np.median(np.abs(values[inside] - middle))))
        distance += (lit * (values - middle) / spread) ** 2
    return np.clip(2.0 - cv2.sqrt(distance) / 2.2, 0, 1).astype(np.float32)
