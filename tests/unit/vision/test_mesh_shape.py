"""Proportions are carried over, poses and expressions are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondface.vision.mesh_shape import (
    align_rigid,
    lip_rings,
    mouth_corners,
    parted_lips,
    pose_trust,
    proportion_step,
    symmetric,
    within_mouth,
    yaw_degrees,
)
from secondface.vision.mesh_topology import LEFT_EYE, MESH_POINTS, OVAL, RIGHT_EYE, topology
from tests.unit.vision.drawn_faces import mesh, turned

ANGLE = st.floats(-60, 60)
NARROW_NOSE = (1, 2, 98, 327, 64, 294, 48, 278, 115, 344)


def wide_nosed(points: np.ndarray, times: float = 1.3) -> np.ndarray:
    """The same face, unposed, with another nose."""
    changed = points.copy()
    middle = changed[1, 0]
    for index in NARROW_NOSE:
        changed[index, 0] = middle + times * (changed[index, 0] - middle)
    return changed


def moved_by(target: np.ndarray, source: np.ndarray, strength: float = 1.0) -> np.ndarray:
    """[468,2] in pixels."""
    return proportion_step(target, source[:MESH_POINTS], strength) * np.ptp(target[:MESH_POINTS, 0])


@given(yaw=ANGLE, pitch=ANGLE, roll=st.floats(-180, 180), scale=st.floats(0.2, 9), shift=st.floats(-500, 500))
@settings(max_examples=40, deadline=None)
def test_any_similarity_is_found_again(yaw: float, pitch: float, roll: float, scale: float, shift: float) -> None:
    face = mesh(width=100)
    there = face @ turned(yaw, pitch, roll) * scale + [shift, -shift, 0]
    laid = align_rigid(face, there.astype(np.float32))
    assert np.abs(laid - there).max() < 2e-3 * 100 * scale


def test_a_mirrored_face_is_not_mirrored_back() -> None:
    lopsided = wide_nosed(mesh())
    lopsided[50:90, 0] += 8
    flipped = lopsided * np.array([-1, 1, 1], np.float32)
    assert np.abs(align_rigid(lopsided, flipped) - flipped).max() > 4


def test_weights_decide_what_is_fitted() -> None:
    face = mesh()
    there = face + np.float32(10)
    there[0] += 500
    weights = np.ones(len(face), np.float32)
    weights[0] = 0
    assert np.abs(align_rigid(face, there, weights)[1:] - there[1:]).max() < 0.01


@pytest.mark.parametrize("pose", [None, turned(yaw=20), turned(roll=30), turned(15, 10, -20)])
def test_the_same_proportions_do_not_move_in_any_pose(pose: np.ndarray | None) -> None:
    assert np.abs(moved_by(mesh(180, 90, 300, pose=pose), mesh(400))).max() < 0.2


def test_strength_zero_is_nothing_and_half_is_half() -> None:
    target, source = mesh(), wide_nosed(mesh(300))
    assert (proportion_step(target, source, 0) == 0).all()
    assert (proportion_step(target, source, -1) == 0).all()
    assert moved_by(target, source, 0.5) == pytest.approx(moved_by(target, source) / 2, abs=1e-4)


def test_the_outline_never_moves() -> None:
    generator = np.random.default_rng(3)
    for yaw in (0, 25, -40):
        source = mesh(300) + generator.normal(0, 6, (478, 3)).astype(np.float32)
        assert (moved_by(mesh(pose=turned(yaw)), source)[list(OVAL)] == 0).all()


def test_a_wider_nose_becomes_wider_and_the_rest_stays() -> None:
    target = mesh()
    step = moved_by(target, wide_nosed(mesh(300)))
    left, right = (step[index, 0] for index in (98, 327))
    assert left < -0.5
    assert right > 0.5
    assert np.abs(step[[10, 152, 234, 454]]).max() == 0
    assert np.abs(step).max() < 0.1 * 200


@given(yaw=st.floats(-50, 50), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_steps_are_small_and_finite_for_any_source(yaw: float, seed: int) -> None:
    source = mesh(250) + np.random.default_rng(seed).normal(0, 5, (478, 3)).astype(np.float32)
    step = moved_by(mesh(pose=turned(yaw)), source)
    assert np.isfinite(step).all()
    assert np.abs(step).max() < 0.12 * 200


@pytest.mark.parametrize("opened", [0.0, 0.06, 0.12])
def test_an_open_mouth_stays_as_open_and_a_blink_as_shut(opened: float) -> None:
    target = mesh(opened=opened)
    for ring in (RIGHT_EYE, LEFT_EYE):
        target[list(ring), 1] = target[list(ring), 1].mean() + 0.2 * (
            target[list(ring), 1] - target[list(ring), 1].mean()
        )
    moved = target.copy()
    moved[:MESH_POINTS, :2] += moved_by(target, wide_nosed(mesh(300)))

    def gap(points: np.ndarray, a: int, b: int) -> float:
        return float(np.linalg.norm(points[a, :2] - points[b, :2]))

    for a, b in ((13, 14), (159, 145), (386, 374)):
        assert gap(moved, a, b) == pytest.approx(gap(target, a, b), abs=0.01 * 200)


def test_an_expression_of_the_source_is_left_behind() -> None:
    step = moved_by(mesh(), mesh(opened=0.12))
    assert float(np.linalg.norm(step[13] - step[14])) < 1.5


@pytest.mark.parametrize("yaw", [-55, -30, -10, 0, 10, 30, 55])
@pytest.mark.parametrize("pitch", [-15, 0, 15])
def test_yaw_is_the_angle_that_the_head_was_turned_by(yaw: float, pitch: float) -> None:
    found = yaw_degrees(mesh(77, 5, 900, pose=turned(yaw=yaw, pitch=pitch)))
    assert abs(found) == pytest.approx(abs(yaw), abs=4)
    assert yaw == 0 or (found > 0) == (yaw_degrees(mesh(pose=turned(yaw=abs(yaw) if yaw > 0 else -abs(yaw)))) > 0)


def test_a_profile_is_not_trusted_and_does_not_move() -> None:
    trusts = [pose_trust(mesh(pose=turned(yaw=yaw))) for yaw in range(0, 91, 5)]
    assert trusts[0] == 1
    assert trusts[-1] == 0
    assert trusts == sorted(trusts, reverse=True)
    assert pose_trust(mesh(pose=turned(yaw=-50))) == pytest.approx(pose_trust(mesh(pose=turned(yaw=50))), abs=0.05)
    assert (proportion_step(mesh(pose=turned(yaw=80)), wide_nosed(mesh(300)), 1.0) == 0).all()


def test_a_symmetric_mesh_stays_and_a_lopsided_one_becomes_even() -> None:
    face = mesh()[:MESH_POINTS]
    assert np.abs(symmetric(face) - face).max() < 0.3
    lopsided = face.copy()
    lopsided[61] += [6, 4, 0]
    even = symmetric(lopsided)
    flipped = even[topology().mirror[:MESH_POINTS]] * np.array([-1, 1, 1], np.float32)
    assert np.abs(align_rigid(flipped, even) - even).max() < 0.3


def test_shut_lips_take_their_texture_from_where_it_is() -> None:
    assert np.abs(parted_lips(mesh()) - topology().atlas).max() < 1e-5
    assert np.abs(within_mouth(mesh())).max() < 1e-3
    assert [share for _, share in mouth_corners(mesh())] == pytest.approx([0, 0], abs=1e-3)


def test_parted_lips_leave_the_seam_and_keep_their_outer_edge() -> None:
    outer, inner, middle, near = lip_rings()
    moved = np.linalg.norm(parted_lips(mesh(opened=0.15)) - topology().atlas, axis=1)
    assert moved[outer].max() < 1e-6
    assert moved[inner][[5, 15]] == pytest.approx(0.016, abs=0.003)
    assert (moved[near] <= moved[inner] + 1e-6).all()
    assert (moved[middle] <= moved[near] + 1e-6).all()
    rest = np.setdiff1d(np.arange(len(moved)), lip_rings())
    assert moved[rest].max() == 0


@pytest.mark.parametrize("opened", [0.02, 0.05, 0.3])
def test_an_open_mouth_begins_within_the_edge_of_the_lips(opened: float) -> None:
    points = mesh(opened=opened)
    inner = points[lip_rings()[1], :2]
    step = within_mouth(points)
    inward = (step * (inner.mean(0) - inner)).sum(1)
    assert (inward >= 0).all()
    assert np.linalg.norm(step, axis=1).max() <= 0.0161 * np.ptp(points[:MESH_POINTS, 0])


def test_corners_open_with_the_lips_beside_them() -> None:
    shares = [mouth_corners(mesh(opened=opened))[0][1] for opened in (0, 0.03, 0.08, 0.3)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9
    (left, _), (right, _) = mouth_corners(mesh(opened=0.1))
    assert left[0] < right[0]
