"""Steadier points over time without lag.

Decides how much of each movement is noise; must not see pixels. The head's pose and the face's slow shape are smoothed
apart (One-Euro, Casiez et al. 2012); lips, eyelids and irises follow nearly raw, so that blinks and speech stay. What
trembles about the middle between its places before and after is drawn there, if it is as little as noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from secondface.frames import Float
from secondface.vision.mesh_indices import EYE_CORNERS, mesh_indices

Vector = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class OneEuro:
    """A first-order low-pass whose cut-off rises with speed. Hz; `beta` in Hz per face length a second."""

    min_cutoff: float
    beta: float
    speed_cutoff: float

    def share(self, speed: float, dt: float) -> float:
        """How much of the distance to a new value is taken."""
        return _share(self.min_cutoff + self.beta * speed, dt)


def _share(cutoff: float, dt: float) -> float:
    rate = 2 * np.pi * cutoff * dt
    return float(rate / (rate + 1))


POSE = OneEuro(min_cutoff=4.0, beta=60.0, speed_cutoff=4.0)
SHAPE = OneEuro(min_cutoff=2.0, beta=60.0, speed_cutoff=2.0)
QUICK = OneEuro(min_cutoff=6.0, beta=105.0, speed_cutoff=8.0)
"""For lips, eyelids and irises: still ones are calmed a little, a blink or a word passes at once."""

_DRAWN = 0.6
"""Of the way to the middle between the places before and after, if they were at the same time ..."""
_FORGOTTEN_S = 0.2
"""... and e times less for so much time between them."""
_NOISE, _LID_NOISE = 0.006, 0.003
"""In face lengths: a tremble of the mesh; what is farther from that middle moves, as a lid that shuts, and is left."""


class PointSmoother:
    """Smooths the mesh of one track; make a new one after a cut or a gap."""

    def __init__(self) -> None:
        self._forward = _Pass()
        self._before: Float | None = None

    def smooth(self, points: Sequence[Float], dt: Sequence[float]) -> list[Float]:
        """Meshes [478,3] of the next frames, `dt` seconds after the one before each; returns them steadier.

        Where later frames are given too, a second pass runs backwards in time and the mean of both has no lag.
        """
        ahead = [self._forward.step(p, t) for p, t in zip(points, dt, strict=True)]
        steady = ahead
        if len(points) > 1:
            back = _Pass()
            gaps = [1.0, *reversed(dt[1:])]
            behind = [back.step(p, t) for p, t in zip(reversed(points), gaps, strict=True)]
            steady = [((a + b) / 2).astype(np.float32) for a, b in zip(ahead, reversed(behind), strict=True)]
        before, self._before = self._before, steady[-1]
        neighbours = zip([before, *steady], steady, steady[1:], dt, dt[1:], strict=False)
        return [*(_between(*each) for each in neighbours), steady[-1]]


def _between(before: Float | None, points: Float, after: Float, since_s: float, until_s: float) -> Float:
    """A mesh drawn towards the middle of its neighbours, which a steady movement passes through anyway."""
    if before is None:
        return points
    away = (before * until_s + after * since_s) / (since_s + until_s) - points
    length = float(np.ptp(points[:468, 1])) or 1.0
    tremble = np.linalg.norm(away[:, :2], axis=1) / (_noise() * length)
    share = _DRAWN * np.exp(-(since_s + until_s) / _FORGOTTEN_S - np.square(tremble))
    return (points + share[:, None] * away).astype(np.float32)


@cache
def _noise() -> Vector:
    """[478] how far each point may tremble, in face lengths."""
    noise = np.full(478, _NOISE)
    noise[np.setdiff1d(np.ravel(mesh_indices().lids), np.ravel(EYE_CORNERS))] = _LID_NOISE
    return noise


class _Pass:
    """One direction through time. The plane is complex: a pose is one factor (size and turn) and one shift."""

    def __init__(self) -> None:
        self._groups = _groups()
        self._calm = np.flatnonzero(self._groups.is_calm)
        self._shape: Complex | None = None
        self._depth = np.zeros(478)
        self._turn = 1 + 0j
        self._shift = 0j
        self._turn_speed = 0j
        self._shift_speed = 0j
        self._shape_speed = np.zeros(478, np.complex128)

    def step(self, points: Float, dt: float) -> Float:
        flat = points[:, 0].astype(np.float64) + 1j * points[:, 1].astype(np.float64)
        if self._shape is None:
            self._start(flat, points[:, 2])
            return points.copy()
        turn, shift = _fit(self._shape[self._calm], flat[self._calm])
        self._follow_pose(turn, shift, dt)
        change = (flat - shift) / turn - self._shape
        share = self._shares(change / dt, dt)
        self._shape = self._shape + share * change
        self._depth = self._depth + share * (points[:, 2] / abs(turn) - self._depth)
        out = self._shape * self._turn + self._shift
        depth = self._depth * abs(self._turn)
        return np.stack([out.real, out.imag, depth], 1).astype(np.float32)

    def _start(self, flat: Complex, depth: Float) -> None:
        self._shift = complex(flat[self._calm].mean())
        self._turn = complex(float(np.ptp(flat[:468].imag)) or 1.0)
        self._shape = (flat - self._shift) / self._turn
        self._depth = depth / abs(self._turn)

    def _follow_pose(self, turn: complex, shift: complex, dt: float) -> None:
        """Size and turn as a relative step, the shift in face lengths, so that one speed fits all faces."""
        relative = np.log(turn / self._turn)
        moved = (shift - self._shift) / abs(self._turn)
        quick = _share(POSE.speed_cutoff, dt)
        self._turn_speed += quick * (relative / dt - self._turn_speed)
        self._shift_speed += quick * (moved / dt - self._shift_speed)
        # Half: a turn moves the outline by half a face length per radian.
        share = POSE.share(float(np.hypot(abs(self._shift_speed), abs(self._turn_speed) / 2)), dt)
        self._turn = complex(self._turn * np.exp(share * relative))
        self._shift += share * (shift - self._shift)

    def _shares(self, speed: Complex, dt: float) -> Vector:
        """How much of its change each point takes, decided for groups of points that move together."""
        groups = self._groups
        calm, quick = (_share(each.speed_cutoff, dt) for each in (SHAPE, QUICK))
        self._shape_speed += np.where(groups.is_calm, calm, quick) * (speed - self._shape_speed)
        square = np.square(self._shape_speed.real) + np.square(self._shape_speed.imag)
        mean = np.sqrt(np.add.reduceat(square[groups.order], groups.starts) / groups.sizes)
        taken = [(QUICK if number else SHAPE).share(float(each), dt) for number, each in enumerate(mean)]
        return np.array(taken)[groups.number]


@dataclass(frozen=True)
class _Groups:
    """Points that move together: the calm ones first, then lips, lids and irises."""

    order: npt.NDArray[np.intp]
    """Point after point, group after group."""
    starts: npt.NDArray[np.intp]
    sizes: npt.NDArray[np.intp]
    number: npt.NDArray[np.intp]
    """[478] the group of each point."""
    is_calm: npt.NDArray[np.bool_]


@cache
def _groups() -> _Groups:
    indices = mesh_indices()
    quick = [np.array(group) for group in (indices.lips, *indices.lids, indices.left_iris, indices.right_iris)]
    number = np.zeros(478, np.intp)
    for place, group in enumerate(quick, start=1):
        number[group] = place
    sizes = np.bincount(number)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return _Groups(np.argsort(number, kind="stable"), starts, sizes, number, number == 0)


def _fit(old: Complex, new: Complex) -> tuple[complex, complex]:
    """The least-squares factor (size and turn) and shift that lay `old` on `new`."""
    old_mean, new_mean = complex(old.mean()), complex(new.mean())
    spread = old - old_mean
    turn = complex(np.vdot(spread, new - new_mean)) / max(float(np.vdot(spread, spread).real), 1e-12)
    return turn, new_mean - turn * old_mean
