"""Numbers, cuts, gaps and new faces, on puppets (see puppets.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from secondface.frames import Face
from secondface.vision.detect import FaceDetector
from secondface.vision.find import same_place
from secondface.vision.track import FaceTracker
from tests.unit.vision.puppets import BLUE, GREEN, RED, PuppetSessions, canonical_mesh, frame, picture

SIZE = (640, 360)
GROUP = 8


def track(pictures: Sequence[np.ndarray], group: int = GROUP, **options: int) -> list[tuple[list[Face], int]]:
    tracker = FaceTracker(PuppetSessions(), **options)
    frames = [frame(k, rgb) for k, rgb in enumerate(pictures)]
    return [seen for k in range(0, len(frames), group) for seen in tracker.track_batch(frames[k : k + group])]


def numbers(result: Sequence[tuple[list[Face], int]]) -> list[tuple[int, ...]]:
    return [tuple(face.track_id for face in faces) for faces, _ in result]


def centres(result: Sequence[tuple[list[Face], int]], number: int) -> np.ndarray:
    return np.array(
        [f.points[:468, :2].mean(0) for faces, _ in result for f in faces if f.track_id == number], np.float64
    )


def test_one_face_keeps_its_number_and_costs_one_mesh_a_frame():
    sessions = PuppetSessions()
    tracker = FaceTracker(sessions)
    for k in range(48):
        faces, scene = tracker.track(frame(k, picture(*SIZE, [(RED, 200 + 2 * k, 180, 120)])))
        assert [f.track_id for f in faces] == [0]
        assert scene == 0
    assert sessions.mesh.calls <= 48 + 3
    assert sessions.near.calls + sessions.far.calls <= 48 / 6 + 6
    assert sessions.identity.calls <= 4


def test_points_lie_on_the_face():
    result = track([picture(*SIZE, [(RED, 200, 180, 120)])] * 4)
    expected = np.array([200, 180]) + canonical_mesh()[:468] * 120
    for faces, _ in result:
        np.testing.assert_allclose(faces[0].points[:468, :2], expected, atol=1.5)


def test_people_keep_their_numbers_over_cuts():
    two = picture(*SIZE, [(RED, 150, 180, 120), (GREEN, 450, 180, 120)])
    rng = np.random.default_rng(3)
    other = np.repeat(rng.integers(0, 2, (9, 16, 1), np.uint8).repeat(40, 0).repeat(40, 1) * 120 + 60, 3, 2)
    other[100:220, 250:370] = GREEN
    result = track([two] * 10 + [other] * 10 + [two] * 10)
    assert numbers(result) == [(0, 1)] * 10 + [(1,)] * 10 + [(0, 1)] * 10
    assert [scene for _, scene in result] == [0] * 10 + [1] * 10 + [2] * 10


def test_a_person_who_returns_after_a_gap_has_the_same_number():
    here, gone = picture(*SIZE, [(BLUE, 300, 180, 120)]), picture(*SIZE, [])
    assert numbers(track([here] * 10 + [gone] * 30 + [here] * 10))[9:41] == [(0,)] + [()] * 30 + [(0,)]


def test_a_person_who_returns_elsewhere_is_recognised():
    first, gone = picture(*SIZE, [(BLUE, 150, 180, 120)]), picture(*SIZE, [])
    last = picture(*SIZE, [(BLUE, 500, 150, 90), (RED, 200, 200, 100)])
    assert numbers(track([first] * 6 + [gone] * 40 + [last] * 6))[-1] == (0, 1)


def test_a_face_that_enters_late_is_followed_back_in_its_batch():
    def at(k: int) -> np.ndarray:
        faces = [(RED, 150, 180, 120)] + ([(GREEN, 450, 180, 120)] if k >= 9 else [])
        return picture(*SIZE, faces)

    alone = numbers(track([at(k) for k in range(32)], group=1))
    grouped = numbers(track([at(k) for k in range(32)], group=16))
    assert (0, 1) in alone[9:18], "found within eight frames"
    assert grouped == [(0,)] * 9 + [(0, 1)] * 23


def test_nobody_is_found_without_the_detector_agreeing_twice():
    class OnlyFar(PuppetSessions):
        def __init__(self) -> None:
            super().__init__()
            self.near.run = lambda _: {  # type: ignore[method-assign]
                "a": np.zeros((1, 2304, 16), np.float32), "b": np.full((1, 2304, 1), -9, np.float32)
            }  # fmt: skip

    tracker = FaceTracker(OnlyFar())
    seen = picture(*SIZE, [(RED, 300, 180, 120)])
    assert all(tracker.track(frame(k, seen))[0] == [] for k in range(12))
    assert tracker.still(frame(0, seen)) == []


def test_two_tracks_never_lie_on_one_face():
    def at(k: int) -> np.ndarray:
        # the green face walks behind the red one and out on the other side
        return picture(*SIZE, [(GREEN, 120 + 8 * k, 180, 100), (RED, 320, 180, 140)])

    result = track([at(k) for k in range(50)])
    for faces, _ in result:
        for k, face in enumerate(faces):
            assert not any(same_place(face.points, other.points) for other in faces[:k])
    assert numbers(result)[0] == (0, 1)
    assert numbers(result)[-1] == (0, 1)
    red = 0 if centres(result[:1], 0)[0, 0] > 200 else 1
    np.testing.assert_allclose(centres(result, red)[:, 0], 320, atol=8)
    assert len(centres(result, red)) == 50


def test_a_face_that_leaves_the_frame_ends():
    result = track([picture(*SIZE, [(RED, 300 - 12 * k, 180, 120)]) for k in range(40)])
    assert numbers(result)[0] == (0,)
    assert numbers(result)[-1] == ()


def test_somebody_else_in_the_same_place_after_an_unseen_cut_gets_another_number():
    def one(colour: tuple[int, int, int]) -> np.ndarray:
        return picture(*SIZE, [(colour, 300, 180, 60)])

    result = numbers(track([one(RED)] * 20 + [one(GREEN)] * 80, group=4))
    assert result[19] == (0,)
    assert result[-1] == (1,)


def test_fast_motion_is_followed_without_lag():
    xs = [100 + 30 * k for k in range(16)]
    result = track([picture(*SIZE, [(RED, x, 180, 120)]) for x in xs], group=1)
    assert numbers(result) == [(0,)] * 16
    expected = np.array(xs) + canonical_mesh()[:468, 0].mean() * 120
    assert np.abs(centres(result, 0)[2:, 0] - expected[2:]).max() < 6


def test_at_most_max_faces_and_the_largest_of_them():
    crowd = picture(*SIZE, [(RED, 100, 100, 60), (GREEN, 300, 180, 140), (BLUE, 520, 180, 100)])
    (faces, _), *_ = track([crowd] * 2, max_faces=2)
    assert sorted(round(f.size_px, -1) for f in faces) == [100, 140]


@pytest.mark.parametrize(("most", "passed_over"), [(1, 2), (2, 1), (3, 0)])
def test_faces_that_are_not_followed_are_counted(most: int, passed_over: int):
    crowd = frame(0, picture(*SIZE, [(RED, 100, 100, 60), (GREEN, 300, 180, 140), (BLUE, 520, 180, 100)]))
    for look in (lambda tracker: tracker.track(crowd), lambda tracker: tracker.still(crowd)):
        tracker = FaceTracker(PuppetSessions(), max_faces=most)
        look(tracker)
        assert tracker.passed_over == passed_over


def test_still_goes_from_left_to_right_with_identities():
    crowd = picture(*SIZE, [(RED, 520, 100, 60), (GREEN, 300, 180, 140), (BLUE, 100, 180, 100)])
    faces = FaceTracker(PuppetSessions()).still(frame(0, crowd))
    assert [f.track_id for f in faces] == [0, 1, 2]
    assert [int(np.argmax(f.identity)) for f in faces if f.identity is not None] == [2, 1, 0]


def test_turned_looks_land_on_the_face():
    rgb = picture(600, 400, [(RED, 450, 120, 100)])
    found = FaceDetector(PuppetSessions()).detect_turned(frame(0, rgb))
    assert found
    for detection in found:
        np.testing.assert_allclose(detection.place[0], (450, 120), atol=3)
