"""Where the source's features go on the target: the source's proportions in the target's pose and expression.

Decides geometry only; must not see pixels. Points are [n,3] in pixels, z in the same unit, smaller is nearer.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from secondface.frames import Float
from secondface.vision.align import fit_similarity
from secondface.vision.mesh_indices import EYE_CORNERS, mesh_indices
from secondface.vision.mesh_render import facing
from secondface.vision.mesh_topology import (
    INNER_LIPS,
    LEFT_BROW,
    MESH_POINTS,
    OUTER_LIPS,
    OVAL,
    RIGHT_BROW,
    topology,
    with_skirt,
)

_TRUSTED_YAW, _LAST_YAW = 42.0, 60.0
"""Degrees between which a swap fades out."""
_LIP_RATIOS = (0.75, 1.35)
"""How much thinner or thicker lips may become; a smile stretches lips, so that the source's measure is only a hint."""
_OPPOSITE = [0, *range(11, 20), 10, *range(1, 10)]
"""Of each point on the edge of a lip, the one on the other lip."""
_WIDE_OPEN = 0.05
"""In face widths: lips that are so far apart are open, whatever their corners do."""
_SEAM = 0.016
"""In face widths: so far does the shade between closed lips reach onto them."""
_HALF = np.array([0.016, 0.012, 0.008, 0.004, 0.0], np.float32)
_INSIDE = np.concatenate([_HALF, [0], _HALF[::-1], _HALF[1:], [0], _HALF[:0:-1]]).astype(np.float32)
"""[20] in face widths: how far within the mesh's edge of the lips an open mouth begins, above all at its corners."""
_OUTWARDS = [1, 3, 2, 0]
"""The rings of the lips from the inner edge to the outer one."""
_ANCHORS = ([0, 37, 267, 39, 269], *map(list, EYE_CORNERS))
"""Where mouth and eyes sit, whatever they do: the upper lip stays when the jaw drops, eye corners in a blink."""


def align_rigid(moving: Float, fixed: Float, weights: Float | None = None) -> Float:
    """`moving` [n,3] after the similarity (rotation, uniform scale, shift) that brings it nearest to `fixed`."""
    fit = fit_similarity(moving, fixed, weights)
    return (moving @ fit[:, :-1].T + fit[:, -1]).astype(np.float32)


def proportion_step(target: Float, source: Float, strength: float) -> Float:
    """How each point [468,2] of the target moves towards the source's proportions, in target face widths.

    The source's mesh is laid rigidly on the target's; what is left is the difference in proportions. It is applied in
    full inside and fades to nothing on the outline. Eyes and mouth move, and widen, as wholes, so that the
    expression stays.
    """
    here = target[:MESH_POINTS]
    strength *= 1 - _smoothstep((abs(yaw_degrees(here)) - 30) / 25)
    if strength <= 0:
        return np.zeros((MESH_POINTS, 2), np.float32)
    laid = align_rigid(source[:MESH_POINTS], here, _rigid_weights())
    fade = _fade(here)
    step = (laid - here)[:, :2] * fade[:, None]
    groups = _expression_groups()
    for group, anchors in zip(groups, _ANCHORS, strict=True):
        step[group] = _move_as_one(here[:, :2], laid[:, :2], group, anchors) * fade[group].mean()
    step[lip_rings()] += _thicken_lips(here, laid)
    step = _smooth(step, held=np.concatenate(groups))
    step[list(OVAL)] = 0
    step *= _turned_in(target)[:, None]
    return (step * np.float32(strength / max(float(np.ptp(here[:, 0])), 1.0))).astype(np.float32)


def parted_lips(points: Float) -> Float:
    """[504,2] where the mesh takes its texture from the atlas: the further lips part, the further from their seam.

    The dark line between closed lips of a source would else run along both lips of a target who speaks.
    """
    part = _parting(points)
    path, along = _flesh_of_lips()
    start = np.minimum(_SEAM * part, 0.7 * along[-1])
    at = start + along * (
        1 - start / along[-1]
    )  # [4,20]: from its start each ring moves outwards, the outer edge stays
    before = np.clip((at[:, None] >= along[None]).sum(1) - 1, 0, len(along) - 2)
    column = np.arange(len(lip_rings()[0]))
    length = along[before + 1, column] - along[before, column]
    share = ((at - along[before, column]) / length)[..., None]
    atlas = topology().atlas.copy()
    atlas[lip_rings()[_OUTWARDS]] = (1 - share) * path[before, column] + share * path[before + 1, column]
    return atlas


@functools.cache
def _flesh_of_lips() -> tuple[Float, Float]:
    """The rings of the lips in the atlas [4,20,2], from the inner edge outwards, and how far out they are [4,20]."""
    path = topology().atlas[lip_rings()[_OUTWARDS]]
    steps = np.linalg.norm(np.diff(path, axis=0), axis=2)
    return path, np.concatenate([np.zeros((1, path.shape[1])), np.cumsum(steps, axis=0)]).astype(np.float32)


def within_mouth(points: Float) -> Float:
    """[20,2] how far inside the edge of the lips the inside of an open mouth is taken, in the unit of the points.

    The mesh is a little wide of the true edge, above all at the corners: a strip of the target's own lips would show.
    """
    inner = points[lip_rings()[1], :2]
    towards = inner.mean(0) - inner
    length = np.maximum(np.linalg.norm(towards, axis=1, keepdims=True), 1e-3)
    width = float(np.ptp(points[:MESH_POINTS, 0]))
    far = np.minimum(_parting(points)[:, None] * _INSIDE[:, None] * np.float32(width), 0.3 * length)
    return (towards / length * far).astype(np.float32)


def mouth_corners(points: Float) -> list[tuple[tuple[float, float], float]]:
    """Both corners of the mouth (x, y) between outer and inner edge, and how far the lips part beside them, 0..1."""
    outer, inner = lip_rings()[:2]
    part = _parting(points)
    middle = (points[outer, :2] + points[inner, :2]) / 2
    return [((float(middle[i, 0]), float(middle[i, 1])), float(part[i])) for i in (0, 10)]


def _parting(points: Float) -> Float:
    """[20] how far the lips are apart along their edge, 0..1; a corner is as open as what is next to it."""
    inner = points[lip_rings()[1], :2]
    gap = np.linalg.norm(inner - inner[_OPPOSITE], axis=1) / max(float(np.ptp(points[:MESH_POINTS, 0])), 1.0)
    gap[[0, 10]] = gap[[1, 9]]
    ramp = np.clip(gap / _WIDE_OPEN, 0, 1)
    return (ramp * ramp * (3 - 2 * ramp)).astype(np.float32)


def yaw_degrees(points: Float) -> float:
    """How far the face is turned from the camera; positive towards the picture's right."""
    mesh = points[:MESH_POINTS].astype(np.float64)
    canonical = topology().points
    a, b = canonical - canonical.mean(0), mesh - mesh.mean(0)
    u, _, vt = np.linalg.svd(a.T @ b)
    forward = (u @ vt)[2]  # where the canonical face's depth axis points in the picture
    return float(np.degrees(np.arctan2(-forward[0], forward[2])))


def pose_trust(points: Float) -> float:
    """1 for faces towards the camera, 0 for profiles: there the mesh guesses, and eyes land on cheeks."""
    return 1 - _smoothstep((abs(yaw_degrees(points)) - _TRUSTED_YAW) / (_LAST_YAW - _TRUSTED_YAW))


def symmetric(points: Float) -> Float:
    """[468,3] averaged with its own mirror image: what one view of a turned head gets wrong is mostly lopsided."""
    flipped = points[topology().mirror[:MESH_POINTS]] * np.array([-1, 1, 1], np.float32)
    return ((points + align_rigid(flipped, points)) / 2).astype(np.float32)


def _smoothstep(value: float) -> float:
    ramp = min(max(value, 0.0), 1.0)
    return ramp * ramp * (3 - 2 * ramp)


@functools.cache
def _expression_groups() -> tuple[npt.NDArray[np.intp], ...]:
    """Points that must keep their arrangement among themselves: the mouth, and each eye with its lids."""
    indices = mesh_indices()
    # The refined eye lists run eye contour, lid ring, then rings further out that move with cheek and brow.
    groups = [sorted({*indices.lips, *INNER_LIPS}), indices.left_eye[:32], indices.right_eye[:32]]
    return tuple(np.array(group) for group in groups)


@functools.cache
def _rigid_weights() -> Float:
    """Expression moves mouth, lids and brows, so they say little about pose and size."""
    weights = np.ones(MESH_POINTS, np.float32)
    weights[[*OUTER_LIPS, *INNER_LIPS, *RIGHT_BROW, *LEFT_BROW]] = 0.1
    for group in _expression_groups():
        weights[group] = 0.1
    return weights


def _fade(points: Float) -> Float:
    """[468] 0 on the outline, rising to 1 at a fifth of the face's width inside it."""
    outline = points[list(OVAL), :2]
    across, down = (points[:, None, axis] - outline[None, :, axis] for axis in (0, 1))
    distance = np.sqrt((across * across + down * down).min(1)) / np.ptp(points[:, 0])
    ramp = np.clip(distance / 0.18, 0, 1)
    return (ramp * ramp * (3 - 2 * ramp)).astype(np.float32)


def _turned_in(points: Float) -> Float:
    """[468] 0 on the silhouette: moving it would uncover what is behind the face, which nobody knows."""
    ramp = np.clip((facing(with_skirt(points))[:MESH_POINTS] - 0.1) / 0.35, 0, 1)
    return (ramp * ramp * (3 - 2 * ramp)).astype(np.float32)


def _move_as_one(here: Float, there: Float, group: npt.NDArray[np.intp], anchors: list[int]) -> Float:
    """[n,2] steps that shift a group as its anchors shift, and bring its width, not its opening, to the new one."""
    middle = here[group].mean(0)
    shift = there[anchors].mean(0) - here[anchors].mean(0)
    width, wanted = (max(float(np.ptp(mesh[group, 0])), 1e-3) for mesh in (here, there))
    widen = min(max(wanted / width, 0.85), 1.15)
    return shift + (here[group] - middle) * np.array([0.7, 0.35], np.float32) * (widen - 1)


def _thicken_lips(here: Float, there: Float) -> Float:
    """[4,20,2] steps that give the lips their new thickness outwards from their inner edge, which stays."""
    rings = lip_rings()
    inner = here[rings[1]]
    ratio = np.ones(rings.shape[1], np.float32)
    for outer_middle, inner_middle, side in ((17, 14, slice(1, 10)), (0, 13, slice(11, 20))):
        now, then = (float(np.linalg.norm(mesh[outer_middle] - mesh[inner_middle])) for mesh in (here, there))
        ratio[side] = min(max(then / max(now, 1e-3), _LIP_RATIOS[0]), _LIP_RATIOS[1])
    return ((here[rings] - inner)[..., :2] * (ratio - 1)[None, :, None]).astype(np.float32)


@functools.cache
def lip_rings() -> npt.NDArray[np.intp]:
    """[4,20] lip points: outer edge, inner edge and two rings between; lower lip first, corners at 0 and 10."""
    return np.array(mesh_indices().lips).reshape(4, 20)


def _smooth(step: Float, held: npt.NDArray[np.intp]) -> Float:
    """Average each point's step with its neighbours', but for the held ones, so that no triangle folds over."""
    towards, starts, count = _neighbours()
    fixed = step[held]
    for _ in range(3):
        step = 0.5 * step + 0.5 * np.add.reduceat(step[towards], starts) / count
        step[held] = fixed
    return step.astype(np.float32)


@functools.cache
def _neighbours() -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Float]:
    """The neighbours of all mesh points in a row, where each point's begin, and how many they are [468,1]."""
    triangles = topology().triangles
    inner = triangles[(triangles < MESH_POINTS).all(1)]
    linked = np.zeros((MESH_POINTS, MESH_POINTS), bool)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        linked[inner[:, a], inner[:, b]] = linked[inner[:, b], inner[:, a]] = True
    point, towards = np.nonzero(linked)
    return towards, np.searchsorted(point, np.arange(MESH_POINTS)), linked.sum(1, keepdims=True).astype(np.float32)
