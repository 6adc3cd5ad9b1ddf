"""How light lies on the skin of a face, apart from what the face looks like.

A light field is the skin's colour averaged over a neighbourhood, with brows, eyes, lips, hair and whatever covers the
face left out (normalised convolution, Knutsson and Westin 1993). Dividing by it leaves the face's own detail.
"""

from __future__ import annotations

import cv2
import numpy as np

from secondface.frames import Float, Mask01

_COARSE_STEP = 4
"""The field is smooth, so it is computed on every fourth pixel of the coarse canvas."""


def light_field(rgb: Float, skin: Mask01, reach_px: float) -> Float:
    """Mean skin colour [h,w,3] around each pixel; `reach_px` is the standard deviation of the neighbourhood.

    Where no skin is near, the neighbourhood grows until it meets some.
    """
    height, width = skin.shape
    small = (max(2, width // _COARSE_STEP), max(2, height // _COARSE_STEP))
    stacked = np.dstack([rgb * skin[..., None], skin])
    stacked = cv2.resize(stacked, small, interpolation=cv2.INTER_AREA)
    field = np.zeros_like(stacked)
    for widen, say in ((1.0, 1.0), (2.5, 1e-3), (6.0, 1e-6)):
        # A wider neighbourhood only decides where the narrower one saw too little skin.
        field += say * cv2.GaussianBlur(stacked, (0, 0), reach_px * widen / _COARSE_STEP)
    field = field[..., :3] / np.maximum(field[..., 3:], 1e-12)
    return cv2.resize(field.astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)


def skin_likelihood(rgb: Float, where: Mask01, light: Float | None = None, tolerance: float = 1.0) -> Mask01:
    """[h,w] 0..1: how much each pixel looks like the skin that fills `where`, in lightness and in colour.

    The model is the median and the robust spread of log colour ratios to `light` (or to the median colour).
    """
    reference = light if light is not None else np.median(rgb[where > 0.5], axis=0)
    ratio = np.log((rgb + 8) / (reference + 8))
    lightness = ratio.mean(2)
    colour = np.stack([ratio[..., 0] - lightness, ratio[..., 2] - lightness], -1)
    inside = where > 0.5
    if not inside.any():
        return np.ones(rgb.shape[:2], np.float32)
    distance = np.zeros(rgb.shape[:2], np.float32)
    for values, floor in ((lightness, 0.10), (colour[..., 0], 0.035), (colour[..., 1], 0.05)):
        middle = float(np.median(values[inside]))
        spread = max(floor, 1.4826 * float(np.median(np.abs(values[inside] - middle))))
        distance += ((values - middle) / (spread * tolerance)) ** 2
    return np.clip(2.0 - np.sqrt(distance) / 2.2, 0, 1).astype(np.float32)
