"""A face laid out for the swap: where it is, what of it is seen, and what is left alone."""

from __future__ import annotations

import numpy as np
import pytest

from secondface.frames import ArrayFrame, Box
from secondface.vision.mesh_layout import FaceLayout, lay_out
from secondface.vision.mesh_topology import LEFT_EYE, MESH_POINTS, RIGHT_EYE
from tests.unit.vision.drawn_faces import face, mesh, turned

STILL = np.zeros((MESH_POINTS, 2), np.float32)


def lay(points: np.ndarray, size: tuple[int, int] = (400, 400), step: np.ndarray = STILL) -> FaceLayout | None:
    return lay_out(ArrayFrame(np.zeros((*size, 3), np.uint8)), face(points), step, 0.06)


def test_without_a_step_the_target_stays_where_it_is() -> None:
    layout = lay(mesh())
    assert layout is not None
    y, x = np.mgrid[: layout.coarse_shape[0], : layout.coarse_shape[1]] + 0.5
    scale = layout.width_px / layout.coarse_width
    drawn = layout.covered > 0
    assert np.abs(layout.target_map[drawn] / scale - np.stack([x, y], -1)[drawn]).max() < 0.6


def test_the_box_holds_the_face_and_lies_in_the_frame() -> None:
    layout = lay(mesh(200, 60, 380))
    assert layout is not None
    assert layout.box == layout.box.clip(400, 400)
    outline = Box.around(mesh(200, 60, 380)[:MESH_POINTS]).clip(400, 400)
    assert layout.box.intersect(outline) == outline


@pytest.mark.parametrize("width", [20, 100, 1000])
def test_masks_are_coarse_and_soft(width: int) -> None:
    layout = lay(mesh(width, width, width), (2 * width, 2 * width))
    assert layout is not None
    assert layout.coarse_width == pytest.approx(min(width, 128), rel=0.01)
    for mask in (layout.seen, layout.covered, layout.heart()):
        assert mask.shape == layout.coarse_shape
        assert 0 <= mask.min() <= mask.max() <= 1.0001
    assert 0.05 < layout.heart().mean() < 0.6
    lengths = np.linalg.norm(layout.normals[layout.heart() > 0], axis=-1)
    assert np.median(lengths) == pytest.approx(1, abs=0.05)  # between shut lips, slivers are drawn a pixel too far


def test_openings_are_eyes_and_mouth_and_nothing_else() -> None:
    points = mesh(opened=0.1)
    layout = lay(points)
    assert layout is not None
    openings = layout.openings()
    for place in (points[list(RIGHT_EYE)].mean(0), points[list(LEFT_EYE)].mean(0), (points[13] + points[14]) / 2):
        assert openings[int(place[1]) - layout.box.y0, int(place[0]) - layout.box.x0] > 0.95
    nose = points[1]
    assert openings[int(nose[1]) - layout.box.y0, int(nose[0]) - layout.box.x0] == 0
    assert openings.mean() < 0.1
    shut = lay(mesh())
    assert shut is not None
    assert shut.openings().sum() < openings.sum()


@pytest.mark.parametrize(
    "points",
    [mesh(11, 200, 200), mesh(200, 900, 200), mesh(200, -300, 200), mesh(200, 200, 560), mesh(pose=turned(yaw=90))],
    ids=["tiny", "right of the frame", "left of it", "below it", "in profile"],
)
def test_what_cannot_be_swapped_is_none(points: np.ndarray) -> None:
    assert lay(points) is None


def test_the_far_cheek_of_a_turned_head_is_not_seen() -> None:
    right, left = (lay(mesh(pose=turned(yaw=yaw))) for yaw in (35, -35))
    assert right is not None
    assert left is not None
    assert 0 < right.trust <= 1
    halves = [layout.seen[:, : layout.seen.shape[1] // 2].sum() / layout.seen.sum() for layout in (right, left)]
    assert (halves[0] - 0.5) * (halves[1] - 0.5) < 0
