"""Crops and decoding of the mesh network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from secondface.frames import ArrayFrame
from secondface.vision.align import apply
from secondface.vision.mesh import CROP_SCALE, SIDE, FaceMesher, crop_of_detection, crop_of_points, disagreement
from secondface.vision.mesh_indices import mesh_indices
from tests.unit.vision.puppets import RED, Mesh, PuppetSessions, canonical_mesh, picture
from tests.unit.vision.test_detect import detection


class Scripted:
    """A mesh network that answers what it is told to."""

    name = "face_mesh_478"

    def __init__(self, **outputs: np.ndarray) -> None:
        self.outputs = outputs
        self.seen: list[np.ndarray] = []

    def get(self, name: str) -> Scripted:
        return self

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.seen.append(inputs["input_1"])
        return self.outputs


def outputs(flag: float = 5.0) -> dict[str, np.ndarray]:
    mesh = np.zeros((468, 3), np.float32)
    mesh[:, 0], mesh[:, 1], mesh[:, 2] = np.arange(468) % 100 + 40, np.arange(468) % 90 + 40, 10
    indices = mesh_indices()
    refined = {"lips": 80, "left_eye": 71, "right_eye": 71, "left_iris": 5, "right_iris": 5}
    assert {name: len(getattr(indices, name)) for name in refined} == refined
    parts = {
        f"output_{name}": np.full((1, 1, 1, 2 * n), 60 + k, np.float32) for k, (name, n) in enumerate(refined.items())
    }
    return {
        "output_mesh_identity": mesh.reshape(1, 1, 1, -1),
        "conv_faceflag": np.full((1, 1, 1, 1), flag, np.float32),
        **parts,
    }


def test_refined_points_replace_the_mesh_points_and_z_is_in_pixels():
    sessions = Scripted(**outputs())
    start = np.concatenate([canonical_mesh() * 100 + 200, np.zeros((478, 1))], 1).astype(np.float32)
    face = FaceMesher(sessions).follow(ArrayFrame(np.full((400, 400, 3), 128, np.uint8)), start)
    assert face is not None
    to_frame = crop_of_points(start)
    indices = mesh_indices()
    # what two lists share (brows, none today) would belong to the later; each point is where its own output says
    for k, name in enumerate(("lips", "left_eye", "right_eye", "left_iris", "right_iris")):
        expected = apply(to_frame, np.full((1, 2), 60.0 + k))[0]
        np.testing.assert_allclose(face.points[list(getattr(indices, name)), :2] - expected, 0, atol=1e-3)
    nose = apply(to_frame, np.array([[1 % 100 + 40.0, 1 % 90 + 40.0]]))[0]
    np.testing.assert_allclose(face.points[1, :2], nose, atol=1e-3)
    np.testing.assert_allclose(face.points[:, 2], 10 * 150 / SIDE, rtol=1e-4)
    assert face.score == pytest.approx(1 / (1 + np.exp(-5)), abs=1e-5)
    assert sessions.seen[0].shape == (1, SIDE, SIDE, 3)
    assert np.allclose(sessions.seen[0], 128 / 255)


@pytest.mark.parametrize("flag", [-3.0, -0.1])
def test_no_face_is_none(flag: float):
    frame = ArrayFrame(np.zeros((300, 300, 3), np.uint8))
    mesher = FaceMesher(Scripted(**outputs(flag)))
    start = np.concatenate([canonical_mesh() * 100 + 150, np.zeros((478, 1))], 1).astype(np.float32)
    assert mesher.follow(frame, start) is None
    assert mesher.from_detection(frame, detection(150, 150, 80)) is None


def test_points_that_are_nowhere_or_on_one_spot_are_no_face():
    frame = ArrayFrame(np.zeros((300, 300, 3), np.uint8))
    mesher = FaceMesher(Scripted(**outputs()))
    assert mesher.follow(frame, np.full((478, 3), 50, np.float32)) is None
    assert mesher.follow(frame, np.full((478, 3), np.nan, np.float32)) is None
    far = np.concatenate([canonical_mesh() * 100 - 5000, np.zeros((478, 1))], 1).astype(np.float32)
    assert mesher.follow(frame, far) is None


def test_a_detection_is_refined_until_the_mesh_lies_on_the_face():
    rgb = picture(640, 360, [(RED, 300, 180, 120)])
    sessions = PuppetSessions()
    face = FaceMesher(sessions).from_detection(ArrayFrame(rgb), detection(315, 170, 100))
    assert face is not None
    assert sessions.mesh.calls == 3
    np.testing.assert_allclose(face.points[:468, :2], [300, 180] + canonical_mesh()[:468] * 120, atol=1.5)


def test_crops_are_level_with_the_eyes_and_half_again_as_long_as_the_face():
    angle = 0.5
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = np.concatenate([canonical_mesh() @ turn.T * 100 + 300, np.zeros((478, 1))], 1).astype(np.float32)
    to_frame = crop_of_points(points)
    assert np.arctan2(to_frame[1, 0], to_frame[0, 0]) == pytest.approx(angle, abs=1e-5)
    length = np.ptp(points[:468, :2], axis=0).max()
    assert np.hypot(*to_frame[:, 0]) * SIDE == pytest.approx(CROP_SCALE * length, rel=1e-5)
    level = crop_of_detection(detection(50, 60, 40))
    np.testing.assert_allclose(apply(level, np.array([[SIDE / 2, SIDE / 2]]))[0], (50, 60), atol=1e-4)
    assert np.hypot(*level[:, 0]) * SIDE == pytest.approx(60)


def test_disagreement_is_small_on_a_face_and_large_beside_it():
    out = Mesh().run({"input_1": picture(192, 192, [(RED, 96, 96, 120)])[None].astype(np.float32) / 255})
    points = out["output_mesh_identity"].reshape(-1, 3)
    points = np.concatenate([points, np.zeros((10, 3), np.float32)])
    assert disagreement(points, detection(96, 96, 120)) < 0.03
    assert disagreement(points, detection(120, 96, 120)) > 0.15
    assert disagreement(points, detection(96, 96, 40)) > 0.12
