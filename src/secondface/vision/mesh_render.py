"""Dense maps from a mesh: for each pixel of a canvas, where on other layouts of the same mesh it lies, and how it faces.

Works on a coarse canvas that the caller scales up: inside a triangle the maps are affine, so that nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import Float
from secondface.vision.mesh_topology import MESH_POINTS, topology

_SUBPIXEL_BITS = 4


@dataclass(frozen=True)
class Canvas:
    """Which triangle covers each pixel of a canvas; -1 where none does."""

    triangle: npt.NDArray[np.int32]
    """[h,w]"""
    weights: Float
    """[n,3,3]: (x, y, 1) of a canvas pixel to its barycentric weights, per triangle."""

    def carry(self, values: Float) -> Float:
        """[504,d] values at the vertices -> [h,w,d] over the canvas; 0 where no triangle is."""
        affine = np.einsum("tvk,tvd->tkd", self.weights, values[topology().triangles])
        table = np.concatenate([affine, np.zeros((1, *affine.shape[1:]))]).astype(np.float32)
        height, width = self.triangle.shape
        x = np.arange(width, dtype=np.float32)[None, :, None] + 0.5
        y = np.arange(height, dtype=np.float32)[:, None, None] + 0.5
        per_pixel = table[self.triangle]
        return per_pixel[:, :, 0] * x + per_pixel[:, :, 1] * y + per_pixel[:, :, 2]

    def look_up(self, per_triangle: Float) -> Float:
        """[n] one value per triangle -> [h,w]; 0 where no triangle is."""
        return np.append(per_triangle, np.float32(0)).astype(np.float32)[self.triangle]


def rasterise(points: Float, shape: tuple[int, int]) -> Canvas:
    """Draw the mesh [504,2 or 3] (x, y in canvas pixels) on a canvas (height, width), near triangles over far ones."""
    triangles = topology().triangles
    corners = points[triangles]
    order = np.argsort(-corners[:, :, 2].mean(1)) if points.shape[1] > 2 else np.arange(len(triangles))
    skirt = (triangles >= MESH_POINTS).any(1)
    order = np.concatenate([order[skirt[order]], order[~skirt[order]]])  # the skirt never hides the face
    ids = np.full(shape, -1, np.int32)
    # fillConvexPoly takes the centre of the first pixel as 0; ours is at 0.5.
    grid = np.round((corners[:, :, :2] - 0.5) * (1 << _SUBPIXEL_BITS)).astype(np.int32)
    for index in order:
        cv2.fillConvexPoly(ids, grid[index], int(index), cv2.LINE_8, _SUBPIXEL_BITS)
    ids = np.where(ids < 0, _dilate(ids), ids)  # slivers can leave pinholes between triangles
    return Canvas(ids, _barycentric(corners[:, :, :2]))


def _dilate(ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Ids are below 2^15, so that OpenCV's 16-bit dilation holds them."""
    return cv2.dilate(ids.astype(np.int16), np.ones((3, 3), np.uint8)).astype(np.int32)


def _barycentric(corners: Float) -> Float:
    """[n,3,2] -> [n,3,3] rows of weight_i = a x + b y + c; zero for triangles without area."""
    a, b, c = (corners[:, i].astype(np.float64) for i in range(3))
    area = _cross(b - a, c - a)
    safe = np.where(np.abs(area) < 1e-6, np.inf, area)
    rows = list[npt.NDArray[np.float64]]()
    for p, q in ((b, c), (c, a), (a, b)):
        rows.append(np.stack([(p[:, 1] - q[:, 1]) / safe, (q[:, 0] - p[:, 0]) / safe, _cross(p, q) / safe], 1))
    return np.stack(rows, 1).astype(np.float32)


def _cross(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]


def facing(points: Float) -> Float:
    """[504,3] -> [504] cosine between each vertex's normal and the view; negative where the face turns away."""
    triangles = topology().triangles
    inner = triangles[(triangles < MESH_POINTS).all(1)]
    a, b, c = (points[inner[:, i]].astype(np.float64) for i in range(3))
    normal = np.cross(b - a, c - a)
    # Triangles come in either winding: the canonical face says which side is out.
    flat = topology().atlas
    winding = np.sign(_cross((flat[inner[:, 1]] - flat[inner[:, 0]]).astype(np.float64),
                             (flat[inner[:, 2]] - flat[inner[:, 0]]).astype(np.float64)))  # fmt: skip
    normal *= winding[:, None]
    at_vertex = np.zeros((len(points), 3))
    for corner in range(3):
        np.add.at(at_vertex, inner[:, corner], normal)
    length = np.linalg.norm(at_vertex, axis=1)
    cosine = np.divide(at_vertex[:, 2], length, out=np.zeros(len(points)), where=length > 0)
    return cosine.astype(np.float32)
