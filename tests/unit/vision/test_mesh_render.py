"""Dense maps are exact where the mesh is, and nothing where it is not."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondface.vision.mesh_render import facing, normals, rasterise
from secondface.vision.mesh_topology import MESH_POINTS, OVAL, with_skirt
from tests.unit.vision.drawn_faces import mesh, turned

NUMBER = st.floats(-3, 3)


def laid(width: float = 150, x: float = 120, y: float = 120, yaw: float = 0) -> np.ndarray:
    return with_skirt(mesh(width, x, y, pose=turned(yaw=yaw)))


@given(a=NUMBER, b=NUMBER, c=NUMBER, width=st.floats(20, 220), yaw=st.floats(-30, 30))
@settings(max_examples=40, deadline=None)
def test_what_is_affine_at_the_points_is_affine_in_between(
    a: float, b: float, c: float, width: float, yaw: float
) -> None:
    points = laid(width, yaw=yaw)
    canvas = rasterise(points, (240, 240))
    carried = canvas.carry((points[:, :2] @ [[a], [b]] + c).astype(np.float32))
    y, x = np.nonzero(canvas.triangle >= 0)
    assert len(y) > 0.3 * width * width
    expected = a * (x + 0.5) + b * (y + 0.5) + c
    assert np.abs(carried[0, y, x] - expected).max() < 0.02 * (1 + abs(a) + abs(b))


def test_the_mesh_covers_its_outline_and_nothing_else() -> None:
    points = laid()
    canvas = rasterise(points, (240, 240))
    outline = np.zeros((240, 240), np.uint8)
    cv2.fillPoly(outline, [np.round(points[MESH_POINTS:, :2] - 0.5).astype(np.int32)], 1)
    drawn = canvas.triangle >= 0
    assert not (drawn & (cv2.dilate(outline, np.ones((5, 5), np.uint8)) == 0)).any()
    assert not (~drawn & (outline == 1)).any()
    assert (canvas.carry(np.ones((len(points), 2), np.float32))[:, ~drawn] == 0).all()


def test_constants_stay_constants() -> None:
    canvas = rasterise(laid(), (240, 240))
    carried = canvas.carry(np.full((MESH_POINTS + len(OVAL), 3), 7, np.float32))
    assert carried[:, canvas.triangle >= 0] == pytest.approx(7, abs=2e-3)


def test_near_triangles_hide_far_ones() -> None:
    points = laid(yaw=50)
    canvas = rasterise(points, (240, 240))
    depth = canvas.carry(points[:, 2:])[0]
    behind = points.copy()
    behind[:, 2] *= -1
    assert (
        depth[canvas.triangle >= 0].mean()
        < rasterise(behind, (240, 240)).carry(points[:, 2:])[0][canvas.triangle >= 0].mean()
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda points: points * 0,
        lambda points: points * np.array([1, 0, 1]) + [0, 50, 0],
        lambda points: points * 0.001 + 60,
        lambda points: points + 10_000,
        lambda points: points - 10_000,
        lambda points: points * 30,
    ],
    ids=["a point", "a line", "a speck", "far right", "far left", "huge"],
)
def test_odd_meshes_neither_crash_nor_blow_up(spoil) -> None:
    points = spoil(laid()).astype(np.float32)
    canvas = rasterise(points, (100, 90))
    assert canvas.triangle.shape == (100, 90)
    assert np.isfinite(canvas.weights).all()
    assert np.isfinite(canvas.carry(points)).all()


def test_thin_triangles_do_not_throw_pixels_far_away() -> None:
    points = laid()
    points[:, 0] = 120 + (points[:, 0] - 120) * 0.02
    canvas = rasterise(points, (240, 240))
    carried = canvas.carry(np.tile(np.array([[0.0], [1.0]], np.float32), (len(points) // 2, 1)))
    drawn = canvas.triangle >= 0
    assert not drawn.any() or np.abs(carried[:, drawn]).max() < 12


def test_a_face_looks_at_the_camera_until_it_is_turned_away() -> None:
    straight = facing(laid())
    assert straight[[1, 4, 5, 195]].min() > 0.6
    assert np.abs(straight).max() <= 1.0001
    assert facing(laid(yaw=180))[[1, 4, 195]].max() < -0.6
    right, left = facing(laid(yaw=40)), facing(laid(yaw=-40))
    assert (right[234] - right[454]) * (left[234] - left[454]) < 0


def test_normals_have_length_one_and_turn_with_the_face() -> None:
    points = laid()
    lengths = np.linalg.norm(normals(points)[:MESH_POINTS], axis=1)
    assert lengths == pytest.approx(1, abs=1e-4)
    turn = turned(yaw=25, pitch=10)
    turned_points = with_skirt(mesh(150, 120, 120, pose=turn))
    assert np.abs(normals(turned_points)[:MESH_POINTS] - normals(points)[:MESH_POINTS] @ turn).max() < 0.01
