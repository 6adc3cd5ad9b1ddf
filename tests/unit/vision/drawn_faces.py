"""Faces drawn on the canonical mesh, in any pose and place: what is where is known exactly, and no model is needed."""

from __future__ import annotations

import cv2
import numpy as np

from secondface.frames import Face
from secondface.vision.mesh_topology import (
    INNER_LIPS,
    LEFT_BROW,
    LEFT_EYE,
    NOSTRILS,
    OUTER_LIPS,
    OVAL,
    RIGHT_BROW,
    RIGHT_EYE,
    topology,
)

TAN, PALE, DARK = (190, 140, 112), (226, 190, 172), (104, 68, 50)
LOWER_FACE = tuple({*INNER_LIPS[:11], 17, 18, 200, 84, 314, 181, 405, 91, 321})
"""Points that go down with the jaw."""


def turned(yaw: float = 0.0, pitch: float = 0.0, roll: float = 0.0) -> np.ndarray:
    """Rotation [3,3] for row vectors, in degrees: to the picture's right, down, clockwise."""
    y, p, r = np.radians([yaw, pitch, roll])
    about_y = np.array([[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(p), np.sin(p)], [0, -np.sin(p), np.cos(p)]])
    about_z = np.array([[np.cos(r), np.sin(r), 0], [-np.sin(r), np.cos(r), 0], [0, 0, 1]])
    return about_y @ about_x @ about_z


def mesh(
    width: float = 200, x: float = 200, y: float = 200, *, pose: np.ndarray | None = None, opened: float = 0.0
) -> np.ndarray:
    """[478,3] canonical points around (x, y); `opened` drops the jaw by a part of the width."""
    points = topology().points.astype(np.float64)
    points[list(LOWER_FACE), 1] += opened
    irises = [points[list(ring)].mean(0) + np.array([dx, dy, 0]) for ring in (RIGHT_EYE, LEFT_EYE) for dx, dy in _CROSS]
    points = np.concatenate([points, irises])
    points = (points - points[:468].mean(0)) @ (np.eye(3) if pose is None else pose)
    return (points * width + [x, y, 0]).astype(np.float32)


def face(points: np.ndarray, source: int | None = 0, track_id: int = 0) -> Face:
    return Face(points.astype(np.float32), 1.0, track_id=track_id, source=source)


def picture(
    points: np.ndarray, size: tuple[int, int] = (400, 400), skin: tuple[int, int, int] = TAN, noise: float = 3.0
) -> np.ndarray:
    """[h,w,3] the face of a mesh before a grey wall, a little brighter on its left; `size` is (height, width)."""
    rgb = np.full((*size, 3), 128, np.uint8)
    rgb[: size[0] // 2] = 150
    near = tuple(min(255, int(channel * 1.06)) for channel in skin)
    _fill(rgb, points, OVAL, skin)
    shade = np.linspace(1.06, 0.94, size[1])[None, :, None]
    inside = (rgb == np.array(skin)).all(2)
    rgb = np.where(inside[..., None], np.clip(rgb * shade, 0, 255), rgb).astype(np.uint8)
    for ring in (RIGHT_BROW, LEFT_BROW):
        _fill(rgb, points, ring, (45, 32, 26))
    _fill(rgb, points, NOSTRILS, near)
    _fill(rgb, points, OUTER_LIPS, (165, 80, 80))
    _fill(rgb, points, INNER_LIPS, (70, 25, 25))
    for ring, iris in ((RIGHT_EYE, points[468:473]), (LEFT_EYE, points[473:478])):
        _fill(rgb, points, ring, (235, 232, 228))
        centre = tuple(int(v) for v in iris[0, :2])
        cv2.circle(rgb, centre, max(1, int(np.ptp(points[:468, 0]) * 0.025)), (60, 40, 30), -1, cv2.LINE_AA)
    grain = np.random.default_rng(5).normal(0, noise, rgb.shape) if noise else 0
    return np.clip(cv2.GaussianBlur(rgb, (0, 0), 0.7) + grain, 0, 255).astype(np.uint8)


_CROSS = ((0, 0), (0.02, 0), (0, 0.02), (-0.02, 0), (0, -0.02))


def _fill(rgb: np.ndarray, points: np.ndarray, ring: tuple[int, ...], colour: tuple[int, ...]) -> None:
    hull = cv2.convexHull(points[list(ring), :2].astype(np.float32)) if ring is NOSTRILS else points[list(ring), :2]
    cv2.fillPoly(rgb, [np.round((hull - 0.5) * 16).astype(np.int32)], colour, cv2.LINE_AA, 4)
