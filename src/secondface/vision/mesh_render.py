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

_NAMES = 1024
"""More than there are triangles; a power of two, so that a name comes back from its fraction."""
_NEAR, _FAR = 0.5, 4.0
_THINNEST_PX = 0.25
"""Triangles less high than this on the canvas are not drawn."""


@dataclass(frozen=True)
class Canvas:
    """Which triangle covers each pixel of a canvas; -1 where none does."""

    triangle: npt.NDArray[np.int32]
    """[h,w]"""
    weights: Float
    """[n,3,3]: by what x, y and 1 of a canvas pixel count in each of its barycentric weights, per triangle."""

    def carry(self, values: Float) -> Float:
        """[504,d] values at the vertices -> [d,h,w] over the canvas; 0 where no triangle is."""
        affine = np.matmul(self.weights, values[topology().triangles])
        table = np.concatenate([np.zeros((1, *affine.shape[1:])), affine]).astype(np.float32)
        height, width = self.triangle.shape
        x = np.arange(width, dtype=np.float32) + 0.5
        y = np.arange(height, dtype=np.float32)[:, None] + 0.5
        columns = np.ascontiguousarray(table.reshape(len(table), -1).T)
        # Clipping to what is inside anyhow takes two thirds of the time of the other modes.
        per_pixel = np.take(columns, self.triangle + np.intp(1), 1, mode="clip")
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
    depth = _depths(corners[:, :, 2].mean(1) if points.shape[1] > 2 else np.zeros(len(triangles), np.float32))
    solid, weights = _shapes(corners[:, :, :2])
    ids = _drawn(corners[solid, :, :2], depth[solid], np.flatnonzero(solid), shape)
    ids = np.where(ids < 0, _dilate(ids), ids)  # undrawn slivers leave pinholes between triangles
    return Canvas(ids, weights)


def _depths(z: Float) -> Float:
    """[n] 1..2: how far each triangle is drawn; all of it equally far, and the skirt, which hides nothing, beyond."""
    span = max(float(np.ptp(z)), 1e-6)
    return ((z - z.min()) / np.float32(2 * span) + _beyond() + 1).astype(np.float32)


@functools.cache
def _beyond() -> Float:
    """[n] how much farther than all others a triangle is put."""
    return np.where((topology().triangles >= MESH_POINTS).any(1), 0.5, 0).astype(np.float32)


def _drawn(corners: Float, depth: Float, names: npt.NDArray[np.intp], shape: tuple[int, int]) -> npt.NDArray[np.int32]:
    """[h,w] the names of triangles [n,3,2] that hold the pixels' centres, -1 elsewhere.

    One call for all: a thousand small ones would each let go of the interpreter, which other threads then take.
    """
    height, width = shape
    if not len(corners):
        return np.full(shape, -1, np.int32)
    # A camera with a right angle of view: what is `depth` away and so much aside is seen at its place on the canvas.
    aside = (corners[:, :, 0] - np.float32(width / 2), np.float32(height / 2) - corners[:, :, 1])
    scale = depth[:, None] * np.float32(2 / height)
    placed = np.stack([aside[0] * scale, aside[1] * scale, np.repeat(-depth[:, None], 3, axis=1)], 2)
    vertices = np.ascontiguousarray(placed, np.float32).reshape(-1, 1, 3)
    colours = np.repeat(names.astype(np.float32) * np.float32(1 / _NAMES), 9).reshape(-1, 1, 3)
    indices = np.arange(3 * len(corners), dtype=np.int32).reshape(-1, 1, 3)
    canvas = np.full((height, width, 3), -1 / _NAMES, np.float32)
    flat = cv2.TriangleRasterizeSettings()
    flat.setShadingType(cv2.RASTERIZE_SHADING_FLAT)
    flat.setCullingMode(cv2.RASTERIZE_CULLING_NONE)
    cv2.triangleRasterizeColor(
        vertices, indices, colours, canvas, np.eye(4, dtype=np.float32), np.pi / 2, _NEAR, _FAR, flat
    )
    return np.rint(cv2.extractChannel(canvas, 0) * np.float32(_NAMES)).astype(np.int32)


def _dilate(ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Ids are below 2^15, so that OpenCV's 16-bit dilation holds them."""
    return cv2.dilate(ids.astype(np.int16), np.ones((3, 3), np.uint8)).astype(np.int32)


def _shapes(corners: Float) -> tuple[npt.NDArray[np.bool_], Float]:
    """Of triangles [n,3,2]: whether they are no slivers [n], and their weights as Canvas has them, 0 without area.

    A pixel drawn beside a sliver would get weights far outside 0..1.
    """
    x, y = corners.astype(np.float64).transpose(2, 1, 0)
    after, last = [1, 2, 0], [2, 0, 1]
    across, up = x[last] - x[after], y[after] - y[last]
    crossed = x[after] * y[last] - y[after] * x[last]
    area = crossed.sum(0)
    longest = np.sqrt((across * across + up * up).max(0))
    safe = np.where(np.abs(area) < 1e-6, np.inf, area)
    weights = np.stack([up, across, crossed]) / safe
    return np.abs(area) > _THINNEST_PX * longest, np.ascontiguousarray(weights.transpose(2, 0, 1), np.float32)


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
