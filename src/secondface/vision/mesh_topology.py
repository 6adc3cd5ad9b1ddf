"""The canonical face: its triangles, where its points lie in the atlas, and which belong to brow, eye or lip.

The atlas is a cylinder unrolled around the head, so that cheeks and ears of a frontal face get room of their own.
Vertices 0..467 are MediaPipe's mesh; 468..503 are a skirt outside the face outline that keeps maps continuous there.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import Float, Mask01

MESH_POINTS = 468
SKIRT = 0.22
"""How far the skirt reaches outside the outline, as a part of the distance to the face's centre."""

OVAL = (
    10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377,
    152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
)  # fmt: skip
RIGHT_EYE = (33, 7, 163, 144, 145, 153, 154, 155, 133, 173, 157, 158, 159, 160, 161, 246)
LEFT_EYE = (263, 249, 390, 373, 374, 380, 381, 382, 362, 398, 384, 385, 386, 387, 388, 466)
RIGHT_BROW = (70, 63, 105, 66, 107, 55, 65, 52, 53, 46)
LEFT_BROW = (300, 293, 334, 296, 336, 285, 295, 282, 283, 276)
OUTER_LIPS = (61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185)
LOWER_LIP = (61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95, 78)
UPPER_LIP = (61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95, 78)
INNER_LIPS = (78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308, 415, 310, 311, 312, 13, 82, 81, 80, 191)
NOSE_BRIDGE = (193, 168, 417, 351, 6, 122)
UNDER_RIGHT_EYE = (111, 117, 118, 119, 120, 121, 128, 114, 47, 100, 101, 50, 123, 116)
UNDER_LEFT_EYE = (340, 346, 347, 348, 349, 350, 357, 343, 277, 329, 330, 280, 352, 345)
CORE = (107, 9, 336, 299, 333, 298, 372, 345, 352, 411, 427, 423, 327, 2, 98, 203, 207, 187, 123, 116, 143, 68, 104, 69)
NOSTRILS = (64, 98, 97, 2, 326, 327, 294, 278, 344, 440, 275, 4, 45, 220, 115, 48)


@dataclass(frozen=True)
class Topology:
    """The canonical face. Arrays are shared: never write into them."""

    points: Float
    """[468,3], one unit wide, symmetric about x = 0."""
    atlas: Float
    """[504,2] atlas coordinates of mesh and skirt, in units of face width, from (0, 0)."""
    extent: tuple[float, float]
    """Width and height of the atlas in the same unit."""
    triangles: npt.NDArray[np.int32]
    """[n,3] vertex indices, the skirt's last; the face's own turn clockwise in the picture of a face."""
    mirror: npt.NDArray[np.int64]
    """[504] the vertex on the other side of the face."""


@functools.cache
def topology() -> Topology:
    """The canonical face, read once."""
    data: dict[str, Any] = json.loads(files("secondface.vision").joinpath("face_topology.json").read_text())
    points = np.array(data["points"], np.float32)
    flat = with_skirt(np.array(data["atlas"], np.float32))
    low = flat.min(0) - 0.02
    flat = (flat - low).astype(np.float32)
    ring = np.arange(len(OVAL))
    after = np.roll(ring, -1)
    oval, outer = np.array(OVAL), ring + MESH_POINTS
    skirt = np.concatenate([np.stack([oval, oval[after], outer], 1), np.stack([oval[after], outer[after], outer], 1)])
    mirror = np.array(data["mirror"])
    outer_mirror = MESH_POINTS + np.array([OVAL.index(int(mirror[i])) for i in OVAL])
    extent = flat.max(0) + 0.02
    return Topology(
        points=points, atlas=flat, extent=(float(extent[0]), float(extent[1])),
        triangles=np.concatenate([np.array(data["triangles"]), skirt]).astype(np.int32),
        mirror=np.concatenate([mirror, outer_mirror]),
    )  # fmt: skip


def with_skirt(points: Float) -> Float:
    """Mesh points [468+,d] -> [504,d]: irises dropped, the skirt added."""
    mesh = points[:MESH_POINTS]
    oval = mesh[list(OVAL)]
    outer = oval + SKIRT * (oval - mesh.mean(0))
    if mesh.shape[1] > 2:
        outer[:, 2] = oval[:, 2]
    return np.concatenate([mesh, outer]).astype(np.float32)


@dataclass(frozen=True)
class Zones:
    """Parts of the face as soft masks [h,w] on the atlas."""

    inside: Mask01
    """1 well inside the outline, falling to 0 on it; a wider fall at the forehead, which goes on under the hair."""
    middle: Mask01
    """The same with a much wider fall: where the target's own colours no longer bind."""
    skin: Mask01
    """Where plain skin is expected: no brow, eye, lip or nostril."""
    lower_lip: Mask01
    """The lower lip and what is around it."""
    lip: Mask01
    """The lower lip alone."""
    upper_lip: Mask01
    """The upper lip down to the line where it meets the lower one."""
    beard: Mask01
    """Below the nose, where hair thins out into skin."""
    glasses: tuple[Mask01, Mask01, Mask01]
    """Where glasses show against skin: on the nose's bridge, under the right eye, under the left eye."""
    sides: Mask01
    """Cheeks and temples, beyond nose and mouth: what a picture from the front sees aslant."""
    core: Mask01
    """Cheeks, nose and the middle of the forehead: skin on nearly every face, beard, fringe or not."""


@functools.lru_cache(maxsize=4)
def zones(density: int, feather: float) -> Zones:
    """The zones on an atlas of `density` pixels per face width; `feather` in face widths."""
    shape = atlas_shape(density)

    def paint(*parts: tuple[int, ...], grow: float = 0.0, soften: float = 0.008) -> Mask01:
        mask = np.zeros(shape, np.uint8)
        for part in parts:
            polygon = topology().atlas[list(part)] * density
            cv2.fillPoly(mask, [np.round(polygon * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
        if grow:
            size = 2 * max(1, round(abs(grow) * density)) + 1
            kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
            mask = cv2.dilate(mask, kernel) if grow > 0 else cv2.erode(mask, kernel)
        return (cv2.GaussianBlur(mask, (0, 0), max(0.5, soften * density)) / 255).astype(np.float32)

    oval = paint(OVAL, soften=0.001)
    depth = cv2.distanceTransform((oval > 0.5).astype(np.uint8), cv2.DIST_L2, 5) / density
    height = np.arange(shape[0], dtype=np.float32)[:, None] / density
    middle_x = float(topology().atlas[[127, 356], 0].mean())
    across = np.abs(np.arange(shape[1], dtype=np.float32)[None] / density - middle_x)
    brow_line = float(topology().atlas[[66, 296], 1].mean())
    nose_line = float(topology().atlas[2, 1])
    forehead = np.clip((brow_line - height) / 0.15, 0, 1)
    ramp = np.clip(depth / (feather * (1 + 1.5 * forehead)), 0, 1)
    wide = np.clip(depth / 0.30, 0, 1)
    brows, eyes = paint(RIGHT_BROW, LEFT_BROW, grow=0.012), paint(RIGHT_EYE, LEFT_EYE, grow=0.018)
    lips, nostrils = paint(OUTER_LIPS, grow=0.008), paint(NOSTRILS, soften=0.012)
    features = np.maximum(np.maximum(brows, eyes), np.maximum(lips, nostrils))
    return Zones(
        inside=(ramp * ramp * (3 - 2 * ramp)).astype(np.float32),
        middle=(wide * wide * (3 - 2 * wide)).astype(np.float32),
        skin=(oval * (1 - features)).astype(np.float32),
        lower_lip=paint(LOWER_LIP, grow=0.025),
        lip=paint(LOWER_LIP),
        upper_lip=paint(UPPER_LIP, grow=0.012),
        beard=np.broadcast_to(np.clip((height - nose_line) / 0.06, 0, 1), shape).astype(np.float32),
        glasses=(paint(NOSE_BRIDGE), paint(UNDER_RIGHT_EYE), paint(UNDER_LEFT_EYE)),
        sides=np.broadcast_to(np.clip((across - 0.20) / 0.12, 0, 1), shape).astype(np.float32),
        core=(paint(CORE) * (1 - features)).astype(np.float32),
    )


@functools.cache
def lips_look(density: int) -> Float:
    """[h,w] on the atlas: the mean lightness detail of closed lips and chin, 0 elsewhere."""
    data: dict[str, Any] = json.loads(files("secondface.vision").joinpath("face_topology.json").read_text())["lips"]
    rows = np.array(data["rows"], np.float32) / 100
    look = np.zeros(atlas_shape(int(data["density"])), np.float32)
    look[data["y"] : data["y"] + rows.shape[0], data["x"] : data["x"] + rows.shape[1]] = rows
    return cv2.resize(look, atlas_shape(density)[::-1], interpolation=cv2.INTER_LINEAR)


def atlas_shape(density: int) -> tuple[int, int]:
    """(height, width) in pixels of an atlas of that density."""
    width, height = topology().extent
    return (int(np.ceil(height * density)), int(np.ceil(width * density)))
