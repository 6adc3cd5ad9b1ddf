"""Dense maps from a mesh: where each pixel of a canvas lies on other layouts of the same mesh, and how it faces.

Works on a coarse canvas that the caller scales up: inside a triangle the maps are affine, so that nothing is lost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import Float
from secondface.vision.mesh_topology import MESH_POINTS, topology

_SUBPIXEL_BITS = 4
_THINNEST_PX = 0.25
"""Triangles less high than this on the canvas are not drawn."""


@dataclass(frozen=True)
class Canvas:
    """Which triangle covers each pixel of a canvas; -1 where none does."""

    triangle: npt.NDArray[np.int32]
    """[h,w]"""
    weights: Float
    """[n,3,3]: (x, y, 1) of a canvas pixel to its barycentric weights, per triangle."""

    def carry(self, values: Float) -> Float:
        """[504,d] values at the vertices -> [d,h,w] over the canvas; 0 where no triangle is."""
        affine = np.matmul(self.weights.transpose(0, 2, 1), values[topology().triangles])
        table = np.concatenate([affine, np.zeros((1, *affine.shape[1:]))]).astype(np.float32)
        height, width = self.triangle.shape
        x = np.arange(width, dtype=np.float32) + 0.5
        y = np.arange(height, dtype=np.float32)[:, None] + 0.5
        columns = np.ascontiguousarray(table.reshape(len(table), -1).T)
        per_pixel = np.take(columns, self.triangle, 1, mode="wrap")  # -1 wraps to the zeros at the end
        along_x, along_y, there = per_pixel.reshape(3, -1, height, width)
        along_x *= x
        along_y *= y
        along_x += along_y
        along_x += there
        return along_x


def rasterise(points: Float, shape: tuple[int, int]) -> Canvas:
    """Draw the mesh [504,2 or 3] (x, y in canvas pixels) on a canvas (height, width), near triangles over far ones."""
    triangles = topology().triangles
    corners = points[triangles]
    order = np.argsort(-corners[:, :, 2].mean(1)) if points.shape[1] > 2 else np.arange(len(triangles))
    of_skirt = np.any(triangles >= MESH_POINTS, axis=1)[order]
    order = np.concatenate([order[of_skirt], order[~of_skirt]])  # the skirt never hides the face
    ids = np.full(shape, -1, np.int32)
    # fillConvexPoly takes the centre of the first pixel as 0; ours is at 0.5.
    grid = np.round((corners[:, :, :2] - 0.5) * (1 << _SUBPIXEL_BITS)).astype(np.int32)
    drawn = order[_solid(corners[:, :, :2])[order]]
    for polygon, index in zip(grid[drawn], drawn.tolist(), strict=True):
        cv2.fillConvexPoly(ids, polygon, index, cv2.LINE_8, _SUBPIXEL_BITS)
    ids = np.where(ids < 0, _dilate(ids), ids)  # undrawn slivers leave pinholes between triangles
    return Canvas(ids, _barycentric(corners[:, :, :2]))


def _solid(corners: Float) -> npt.NDArray[np.bool_]:
    """[n] False for slivers: a pixel drawn beside one would get weights far outside 0..1."""
    sides = corners - np.roll(corners, 1, 1)
    longest = np.sqrt((sides**2).sum(2)).max(1)
    area = np.abs(_cross(sides[:, 0].astype(np.float64), sides[:, 1].astype(np.float64)))
    return area > _THINNEST_PX * longest


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


def normals(points: Float) -> Float:
    """[504,3] -> [504,3] unit normals at the vertices, z towards the camera; 0 where a vertex has no triangle."""
    corners, sums = _corners_by_vertex()
    a, b, c = (points[corners[:, i]] for i in range(3))
    at_vertex = sums(_cross_product(b - a, c - a))
    length = np.linalg.norm(at_vertex, axis=1, keepdims=True)
    return np.divide(at_vertex, length, out=np.zeros_like(at_vertex), where=length > 0)


def _cross_product(p: Float, q: Float) -> Float:
    """[n,3]; NumPy's own takes four times as long."""
    (px, py, pz), (qx, qy, qz) = p.T, q.T
    return np.stack([py * qz - pz * qy, pz * qx - px * qz, px * qy - py * qx], 1)


def facing(points: Float) -> Float:
    """[504,3] -> [504] cosine between each vertex's normal and the view; negative where the face turns away."""
    return normals(points)[:, 2]


@functools.cache
def _corners_by_vertex() -> tuple[npt.NDArray[np.int32], Callable[[Float], Float]]:
    """The face's own triangles, and how to sum their values at vertices."""
    triangles = topology().triangles
    inner = triangles[(triangles < MESH_POINTS).all(1)]
    count = len(topology().atlas)
    vertices = np.unique(inner)
    order = np.argsort(inner.ravel(), kind="stable")
    starts = np.searchsorted(inner.ravel()[order], vertices)

    def sums(values: Float) -> Float:
        # reduceat, as a matrix product would wake every thread of the linear algebra library for a few thousand sums
        at_vertex = np.zeros((count, values.shape[1]), np.float32)
        at_vertex[vertices] = np.add.reduceat(values[order // 3], starts)
        return at_vertex

    return inner, sums
