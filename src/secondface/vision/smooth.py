"""Steadier points over time without lag.

Decides how much of each movement is noise; must not see pixels. The head's pose and the face's slow shape are smoothed
apart (One-Euro, Casiez et al. 2012); lips, eyelids and irises follow nearly raw, so that blinks and speech stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from secondface.frames import Float
from secondface.vision.align import apply, fit_similarity, invert
from secondface.vision.mesh_indices import mesh_indices

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OneEuro:
    """A first-order low-pass whose cut-off rises with speed. Hz; `beta` in Hz per unit a second."""

    min_cutoff: float
    beta: float
    speed_cutoff: float = 2.0

    def share(self, speed: float, dt: float) -> float:
        """How much of the distance to a new value is taken."""
        return _share(self.min_cutoff + self.beta * speed, dt)


def _share(cutoff: float, dt: float) -> float:
    rate = 2 * np.pi * cutoff * dt
    return float(rate / (rate + 1))


POSE = OneEuro(min_cutoff=2.5, beta=60.0)
SHAPE = OneEuro(min_cutoff=1.5, beta=60.0)
QUICK_SHARE = 0.9


class PointSmoother:
    """Smooths the mesh of one track; make a new one after a cut or a gap."""

    def __init__(self) -> None:
        indices = mesh_indices()
        self._quick = np.zeros(478, bool)
        for group in (indices.lips, indices.left_eye[:16], indices.right_eye[:16]):
            self._quick[list(group)] = True
        self._quick[468:] = True
        self._weight = np.where(self._quick, 0.0, 1.0)
        self._shape: Vector | None = None
        self._pose = np.zeros(4)
        self._pose_speed = np.zeros(4)
        self._shape_speed = np.zeros((478, 3))

    def smooth(self, points: Float, dt: float) -> Float:
        """Points [478,3] of the next frame, `dt` seconds after the last; returns them steadier."""
        raw = points.astype(np.float64)
        if self._shape is None:
            self._start(raw)
            return points.copy()
        pose, local = _split(self._shape, self._weight, raw)
        step = pose - self._pose
        step[3] = (step[3] + np.pi) % (2 * np.pi) - np.pi
        step[:2] /= np.exp(self._pose[2])
        self._pose_speed += _share(POSE.speed_cutoff, dt) * (step / dt - self._pose_speed)
        share = POSE.share(float(np.linalg.norm(self._pose_speed)), dt)
        step[:2] *= np.exp(self._pose[2])
        self._pose = self._pose + share * step
        change = local - self._shape
        self._shape_speed += _share(SHAPE.speed_cutoff, dt) * (change / dt - self._shape_speed)
        speed = float(np.sqrt((self._shape_speed[~self._quick, :2] ** 2).sum(1).mean()))
        slow = SHAPE.share(speed, dt)
        self._shape = self._shape + np.where(self._quick, max(QUICK_SHARE, slow), slow)[:, None] * change
        return _joined(self._shape, self._pose)

    def _start(self, raw: Vector) -> None:
        centre = raw[:468, :2].mean(0)
        size = float(np.ptp(raw[:468, :2], axis=0).max())
        self._pose = np.array([centre[0], centre[1], np.log(size), 0.0])
        self._shape = np.concatenate([(raw[:, :2] - centre) / size, raw[:, 2:] / size], 1)


def _split(shape: Vector, weight: Vector, raw: Vector) -> tuple[Vector, Vector]:
    """Pose (x, y, log size, angle) of a remembered shape in these points, and their shape in that pose."""
    fit = fit_similarity(shape[:, :2], raw[:, :2], weight)
    size, angle = float(np.hypot(fit[0, 0], fit[1, 0])), float(np.arctan2(fit[1, 0], fit[0, 0]))
    local = apply(invert(fit), raw[:, :2])
    return np.array([fit[0, 2], fit[1, 2], np.log(size), angle]), np.concatenate([local, raw[:, 2:] / size], 1)


def _joined(shape: Vector, pose: Vector) -> Float:
    x, y, log_size, angle = pose
    size = np.exp(log_size)
    co, si = np.cos(angle) * size, np.sin(angle) * size
    flat = shape[:, :2] @ np.array([[co, si], [-si, co]]) + [x, y]
    return np.concatenate([flat, shape[:, 2:] * size], 1).astype(np.float32)
