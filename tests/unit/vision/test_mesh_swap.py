"""The whole swap on drawn faces: what changes, what never does, and every odd place a face can be in."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondface.frames import ArrayFrame, Box, Face
from secondface.vision.mesh_swap import MeshSwapper, SwapOptions, SwapSource
from secondface.vision.mesh_topology import topology
from tests.unit.vision.drawn_faces import DARK, PALE, TAN, face, mesh, picture, turned


def source_of(skin: tuple[int, int, int] = PALE, x: float = 300) -> SwapSource:
    points = mesh(340, x, 300)
    return SwapSource.build([(picture(points, (600, 600), skin), face(points))])


@pytest.fixture(scope="module")
def pale() -> SwapSource:
    return source_of()


def swap(
    rgb: np.ndarray, who: Face, source: SwapSource, options: SwapOptions | None = None
) -> tuple[np.ndarray, Box | None]:
    frame = ArrayFrame(rgb.copy())
    box = MeshSwapper([source], options).swap(frame, who)
    return frame.rgb, box


def test_pixels_outside_the_box_keep_every_bit_and_the_face_changes(pale: SwapSource) -> None:
    points = mesh()
    rgb = picture(points, skin=DARK)
    after, box = swap(rgb, face(points), pale)
    assert box is not None
    outside = np.ones(rgb.shape[:2], bool)
    outside[box.y0 : box.y1, box.x0 : box.x1] = False
    assert (after[outside] == rgb[outside]).all()
    assert (after != rgb).any(2)[~outside].mean() > 0.2
    outline = Box.around(points[:468], 12)
    assert box.intersect(outline) == box


def test_the_corners_of_the_box_are_not_the_face_and_stay(pale: SwapSource) -> None:
    points = mesh()
    rgb = picture(points)
    after, box = swap(rgb, face(points), pale)
    assert box is not None
    for y in (box.y0, box.y1 - 8):
        for x in (box.x0, box.x1 - 8):
            assert (after[y : y + 8, x : x + 8] == rgb[y : y + 8, x : x + 8]).all()


@pytest.mark.parametrize("who", [None, 0])
def test_a_face_without_a_source_stays(pale: SwapSource, who: int | None) -> None:
    points = mesh() if who is None else mesh(8)
    rgb = picture(points)
    after, box = swap(rgb, face(points, source=who), pale)
    assert box is None
    assert (after == rgb).all()


@pytest.mark.parametrize("skin", [TAN, PALE, DARK])
def test_the_same_face_again_changes_little(skin: tuple[int, int, int]) -> None:
    points = mesh(340, 300, 300)
    rgb = picture(points, (600, 600), skin)
    after, box = swap(rgb, face(points), SwapSource.build([(rgb, face(points))]))
    assert box is not None
    change = np.abs(after.astype(int) - rgb.astype(int))[box.y0 : box.y1, box.x0 : box.x1]
    assert change.mean() < 3
    assert np.percentile(change, 99) < 20


def test_the_same_input_gives_the_same_bits(pale: SwapSource) -> None:
    points = mesh(pose=turned(15, 5, 10))
    rgb = picture(points, skin=TAN)
    first, second = swap(rgb, face(points), pale)[0], swap(rgb, face(points), source_of())[0]
    assert (first == second).all()


def test_eyes_and_the_inside_of_the_mouth_are_the_targets(pale: SwapSource) -> None:
    points = mesh(opened=0.12)
    rgb = picture(points, noise=0)
    after, _ = swap(rgb, face(points), pale)
    for place in (points[468], points[473], (points[13] + points[14]) / 2):
        x, y = place[:2].astype(int)
        assert after[y - 1 : y + 2, x - 1 : x + 2].astype(int) == pytest.approx(
            rgb[y - 1 : y + 2, x - 1 : x + 2], abs=14
        )


def test_a_mirrored_face_gives_the_mirrored_swap() -> None:
    points = mesh(pose=turned(yaw=15))
    rgb = picture(points, noise=0)
    flipped = points * np.array([-1, 1, 1], np.float32) + np.array([400, 0, 0], np.float32)
    flipped[:468] = flipped[topology().mirror[:468]]
    flipped[468:] = np.concatenate([flipped[473:], flipped[468:473]])
    straight, _ = swap(rgb, face(points), source_of())
    mirrored, _ = swap(np.ascontiguousarray(rgb[:, ::-1]), face(flipped), source_of())
    change = np.abs(straight.astype(int) - rgb.astype(int)).mean()
    assert np.abs(straight.astype(int) - mirrored[:, ::-1].astype(int)).mean() < max(0.35 * change, 0.6)


@pytest.mark.parametrize("width", [13, 20, 45, 380])
def test_any_size_of_face(pale: SwapSource, width: int) -> None:
    points = mesh(width)
    after, box = swap(picture(points), face(points), pale)
    assert box is not None
    assert after.shape == (400, 400, 3)


@given(
    x=st.floats(-250, 650), y=st.floats(-250, 650), width=st.floats(5, 500), yaw=st.floats(-90, 90),
    pitch=st.floats(-40, 40), roll=st.floats(-180, 180),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_faces_at_the_edges_in_any_pose_never_crash_and_never_touch_other_pixels(
    x: float, y: float, width: float, yaw: float, pitch: float, roll: float
) -> None:
    points = mesh(width, x, y, pose=turned(yaw, pitch, roll))
    rgb = np.random.default_rng(1).integers(0, 256, (120, 200, 3), np.uint8)
    after, box = swap(rgb, face(points), _PALE)
    outside = np.ones(rgb.shape[:2], bool)
    if box is not None:
        assert box == box.clip(200, 120)
        outside[box.y0 : box.y1, box.x0 : box.x1] = False
    assert (after[outside] == rgb[outside]).all()


@pytest.mark.parametrize("level", [0, 128, 255])
def test_flat_pictures_are_no_fault(pale: SwapSource, level: int) -> None:
    points = mesh()
    after, _ = swap(np.full((400, 400, 3), level, np.uint8), face(points), pale)
    assert after.shape == (400, 400, 3)


def test_shape_zero_leaves_features_in_their_places() -> None:
    points = mesh(340, 300, 300)
    narrow = points.copy()
    narrow[:, 0] = 300 + 0.85 * (narrow[:, 0] - 300)
    source = SwapSource.build([(picture(narrow, (600, 600)), face(narrow))])
    target = mesh(opened=0.05)
    rgb = picture(target)
    shaped, plain = (swap(rgb, face(target), source, SwapOptions(shape=shape))[0] for shape in (0.9, 0.0))
    assert (shaped != plain).any()


def test_a_new_scene_forgets_the_last_one(pale: SwapSource) -> None:
    points = mesh()
    rgb, blurred = picture(points), picture(points, noise=12)
    swapper = MeshSwapper([pale])
    for index in range(3):
        swapper.swap(ArrayFrame(blurred.copy(), index), face(points), scene=0)
    frame = ArrayFrame(rgb.copy(), 3)
    swapper.swap(frame, face(points), scene=1)
    assert (frame.rgb == swap(rgb, face(points), pale)[0]).all()


def test_people_are_remembered_apart(pale: SwapSource) -> None:
    left, right = mesh(150, 100, 200), mesh(150, 300, 200)
    rgb = np.where(np.arange(400)[None, :, None] < 200, picture(left, skin=TAN), picture(right, skin=DARK))
    frame = ArrayFrame(rgb.copy())
    swapper = MeshSwapper([pale, source_of(DARK)])
    swapper.swap(frame, face(left, 0, 0))
    swapper.swap(frame, face(right, 1, 1))
    alone = ArrayFrame(rgb.copy())
    MeshSwapper([pale, source_of(DARK)]).swap(alone, face(right, 1, 1))
    assert (frame.rgb[:, 210:] == alone.rgb[:, 210:]).all()


def test_a_still_scene_stays_still(pale: SwapSource) -> None:
    """Frame after frame of the same picture: nothing may creep or pulse."""
    points = mesh()
    rgb = picture(points)
    swapper = MeshSwapper([pale])
    shown = list[np.ndarray]()
    for index in range(12):
        frame = ArrayFrame(rgb.copy(), index)
        swapper.swap(frame, face(points))
        shown.append(frame.rgb.astype(int))
    steps = [np.abs(b - a).mean() for a, b in pairwise(shown[3:])]
    assert max(steps) < 0.05


_PALE = source_of()
