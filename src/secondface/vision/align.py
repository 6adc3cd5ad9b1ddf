"""Similarity transforms between faces and crops, and the resampling that goes with them.

Decides where pixels land and how they are filtered on the way; must not know models. A transform is [2,3], float64,
and maps points in continuous pixel coordinates (pixel centres at +0.5), so scaling needs no half-pixel corrections.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Box, Frame

Transform: TypeAlias = npt.NDArray[np.float64]
Points: TypeAlias = npt.NDArray[np.floating]
Pixels: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.float32]

MAX_SAMPLES = 3


def fit_similarity(moving: Points, fixed: Points, weights: npt.NDArray[np.floating] | None = None) -> Transform:
    """[d,d+1]: rotation, uniform scale and shift that take `moving` [n,d] nearest to `fixed` [n,d] (Umeyama 1991)."""
    w = np.ones(len(moving)) if weights is None else np.asarray(weights, np.float64)
    w = (w / w.sum())[:, None]
    a, b = np.asarray(moving, np.float64), np.asarray(fixed, np.float64)
    centre_a, centre_b = (a * w).sum(0), (b * w).sum(0)
    a, b = a - centre_a, b - centre_b
    u, s, vt = np.linalg.svd((b * w).T @ a)
    sign = np.ones(len(s))
    sign[-1] = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    spread = float((w * a * a).sum())
    scale = float((s * sign).sum()) / spread if spread > 0 else 1.0
    linear = scale * (u * sign) @ vt
    return np.concatenate([linear, (centre_b - linear @ centre_a)[:, None]], 1)


def square_to_frame(centre: Points, side: float, angle: float, crop_side: int) -> Transform:
    """Crop to frame: a square of `side` frame pixels around `centre`, turned by `angle` radians."""
    scale = side / crop_side
    co, si = np.cos(angle) * scale, np.sin(angle) * scale
    linear = np.array([[co, -si], [si, co]])
    shift = np.asarray(centre, np.float64) - linear @ [crop_side / 2, crop_side / 2]
    return np.concatenate([linear, shift[:, None]], 1)


def apply(transform: Transform, points: Points) -> npt.NDArray[np.float64]:
    """Points [n,2] after the transform."""
    return np.asarray(points, np.float64) @ transform[:, :2].T + transform[:, 2]


def invert(transform: Transform) -> Transform:
    """The transform the other way round."""
    linear = np.linalg.inv(transform[:, :2])
    return np.concatenate([linear, -(linear @ transform[:, 2:])], 1).astype(np.float64)


def scale_of(transform: Transform) -> float:
    """How many output pixels one input pixel becomes, along a side."""
    (a, b), (c, d) = transform[:, :2].tolist()
    return math.sqrt(abs(a * d - b * c))


def resample(
    pixels: Pixels, to_input: Transform, size: tuple[int, int], *, outside: float | None = None, cubic: bool = False,
    one_sample_to: float = 1.3,
) -> Pixels:  # fmt: skip
    """Pixels [h,w] or [h,w,c] seen through `to_input` (output to input), as `size` (width, height).

    Each output pixel is the mean over its whole footprint in the input: an integer box reduction, then a bilinear
    grid of up to 3x3 samples per output pixel. cv2.warpAffine alone takes one sample and aliases when it shrinks.
    `outside` fills beyond the input; None repeats the edge. `cubic` sharpens enlargements. Up to a scale of
    `one_sample_to`, one bilinear sample is near enough to the mean.
    """
    scale = scale_of(to_input)
    reduce = max(1, int(scale / 1.5))
    samples = min(MAX_SAMPLES, max(1, int(np.ceil(scale / reduce - one_sample_to + 1))))
    border = cv2.BORDER_REPLICATE if outside is None else cv2.BORDER_CONSTANT
    fill = (0.0 if outside is None else outside,) * 4
    if reduce > 1:
        pixels = _reduce(pixels, reduce, border, fill)
    warp = np.concatenate([to_input[:, :2] / samples, to_input[:, 2:]], 1) / reduce
    warp[:, 2] += warp[:, :2] @ [0.5, 0.5] - 0.5
    flags = (cv2.INTER_CUBIC if cubic and scale < 1 else cv2.INTER_LINEAR) | cv2.WARP_INVERSE_MAP
    grid = (size[0] * samples, size[1] * samples)
    out = cv2.warpAffine(pixels, warp, grid, flags=flags, borderMode=border, borderValue=fill)
    if samples > 1:
        out = cv2.resize(out, size, interpolation=cv2.INTER_AREA)
    return out  # pyright: ignore[reportReturnType]  # cv2 keeps the dtype


def _reduce(pixels: Pixels, factor: int, border: int, fill: tuple[float, ...]) -> Pixels:
    """Mean over factor x factor blocks, the last ones completed by the border."""
    height, width = pixels.shape[:2]
    down, right = -height % factor, -width % factor
    if down or right:
        pixels = cv2.copyMakeBorder(pixels, 0, down, 0, right, border, value=fill)  # pyright: ignore
    size = ((width + right) // factor, (height + down) // factor)
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)  # pyright: ignore[reportReturnType]


def crop_rgb(
    rgb: RGB8, to_frame: Transform, size: tuple[int, int], *, cubic: bool = False, one_sample_to: float = 1.3
) -> RGB8:
    """The part of `rgb` that `to_frame` (crop to picture) points at, as `size` (width, height)."""
    return resample(rgb, to_frame, size, cubic=cubic, one_sample_to=one_sample_to)  # pyright: ignore[reportReturnType]


def crop_frame(frame: Frame, to_frame: Transform, size: tuple[int, int], *, cubic: bool = False) -> RGB8 | None:
    """As crop_rgb, reading only the region that is needed; None when it lies outside the frame."""
    corners = np.array([[0, 0], [size[0], 0], size, [0, size[1]]], np.float64)
    margin = 2 + scale_of(to_frame)
    box = Box.around(apply(to_frame, corners).astype(np.float32), margin).clip(frame.width, frame.height)
    if box.area == 0:
        return None
    local = to_frame.copy()
    local[:, 2] -= (box.x0, box.y0)
    return crop_rgb(frame.read(box), local, size, cubic=cubic)
