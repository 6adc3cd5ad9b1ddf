"""How light falls on a face as a whole: a smooth function of where the surface points, fitted to its skin.

Diffuse light is well described by nine numbers per colour (Ramamoorthi and Hanrahan 2001). Fitted robustly, it says how
bright skin should be also where most of the face is in shade, so that a lit cheek is not taken for something foreign.
"""

from __future__ import annotations

import cv2
import numpy as np

from secondface.frames import Float, Mask01
from secondface.vision.skin_light import MEAN, body_share, light_field, skin_likelihood

_STEP = 2
"""Every second pixel of the coarse canvas is enough for nine numbers."""
_CORE_TERMS = 4
"""From the core alone only the first-order terms are known well enough to be carried to chin and temples."""
_RIDGE = 0.01
_STRANGE = 0.45
"""Log ratio to the expected lightness at which a pixel counts for little."""
_LIFT = np.float32(5)
_MOST_RELIEF = 0.3
"""Beyond it the nine numbers are guessing: nostrils, lids, and what a hand hides."""


def fit_shading(rgb: Float, normals: Float, skin: Mask01, core: Mask01) -> Float:
    """[h,w,3] the colour that skin would have at each pixel; `normals` [h,w,3] of unit length, z towards the camera.

    Begins with what looks like skin in `core`, where hardly anything else is, then takes in all of `skin` that agrees.
    """
    basis = _harmonics(normals)
    coarse = (slice(None, None, _STEP), slice(None, None, _STEP))
    columns = basis[(slice(None), *coarse)].reshape(len(basis), -1)
    sparse = np.ascontiguousarray(rgb[coarse])
    weights = (core[coarse] * skin_likelihood(sparse, core[coarse])).reshape(-1)
    pixels = np.stack(cv2.split(sparse)).reshape(3, -1)
    if float(weights.sum()) < 16:
        return np.full_like(rgb, pixels.mean(1))
    darkest = (0.3 * (pixels @ weights) / weights.sum())[:, None]
    numbers = _solve(columns[:_CORE_TERMS], pixels, weights)
    expected = numbers @ columns[:_CORE_TERMS]
    for _ in range(2):
        likely = np.maximum(expected, darkest)
        ratio = np.log((MEAN @ pixels + 4) / (MEAN @ likely + 4))
        weights = skin[coarse].reshape(-1) * np.exp(-((ratio / _STRANGE) ** 2)) * body_share(pixels, likely)
        numbers = _solve(columns, pixels, weights)
        expected = numbers @ columns
    # einsum, as a product so large would wake the threads of the linear algebra library, which then spin for a while
    lit = np.maximum(np.einsum("ct,thw->chw", numbers, basis), darkest[:, None])
    return cv2.merge(list(lit.astype(np.float32)))


def relief(shading: Float, skin: Mask01, reach_px: float) -> Float:
    """[h,w] log factor: how a face models itself in the light on it, beside that light as blurred by `reach_px`."""
    lightness, broad = (
        cv2.transform(image, MEAN[None]) + _LIFT for image in (shading, light_field(shading, skin, reach_px))
    )
    return np.clip(cv2.log(lightness / broad), -_MOST_RELIEF, _MOST_RELIEF)


def _harmonics(normals: Float) -> Float:
    """[9,h,w] real spherical harmonics up to order two, not normalised."""
    x, y, z = cv2.split(normals)
    return np.stack([np.ones_like(x), x, y, z, x * y, x * z, y * z, x * x - y * y, 3 * z * z - 1])


def _solve(columns: Float, pixels: Float, weights: Float) -> Float:
    """[3,terms] weighted least squares, held back a little so that unseen directions stay plain."""
    weighted = columns * weights
    hold = np.eye(len(columns)) * _RIDGE * float(weights.sum())
    hold[0, 0] = 0
    # einsum here too: each product would keep another core busy with waiting, for longer than all of this takes
    own: Float = np.einsum("in,jn->ij", weighted, columns)
    wanted: Float = np.einsum("in,jn->ij", weighted, pixels)
    return np.linalg.solve(own + hold, wanted).astype(np.float32).T
