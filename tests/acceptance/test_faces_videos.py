"""Faces through real and synthetic clips: always there, always the same number, steadier than single frames, cheap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
import numpy.typing as npt
import pytest

from secondface.frames import Face, Frame, Session
from secondface.media.read import VideoReader
from secondface.models.sessions import OrtSessions
from secondface.vision.detect import FaceDetector
from secondface.vision.mesh import FaceMesher
from secondface.vision.track import FaceTracker
from tests.sample_media import MEDIA, needs_media

pytestmark = needs_media
ONE_FACE = [
    "real_intel_headpose_male_480x270_p12.mp4", "synth_talk_P006_360p25.mp4", "synth_talk_P006_720p25.mp4",
    "synth_talk_P009_480p30_lightchange.mp4",
]  # fmt: skip
TWO = "synth_two_speakers_P010_P002_720p25.mp4"
FILM = "real_tos_actor_800x332_p24.mp4"
CORNERS = [33, 263, 1, 61, 291]
GROUP = 8


class Counted:
    """Sessions that count what is run on them."""

    def __init__(self, sessions: OrtSessions) -> None:
        self._sessions = sessions
        self.runs: dict[str, int] = {}

    def get(self, name: str) -> Session:
        session, runs = self._sessions.get(name), self.runs

        class Counting:
            def __init__(self) -> None:
                self.name = name

            def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
                runs[name] = runs.get(name, 0) + 1
                return session.run(inputs)

        return Counting()


@pytest.fixture(scope="module")
def sessions() -> OrtSessions:
    return OrtSessions("cpu")


def frames(name: str, most: int = 1000) -> list[Frame]:
    with VideoReader(MEDIA / "videos" / name) as reader:
        return list(islice(reader.frames(), most))


def groups(items: list[Frame]) -> Iterator[list[Frame]]:
    for k in range(0, len(items), GROUP):
        yield items[k : k + GROUP]


def track(sessions: OrtSessions | Counted, items: list[Frame]) -> list[tuple[list[Face], int]]:
    tracker = FaceTracker(sessions)
    return [seen for group in groups(items) for seen in tracker.track_batch(group)]


@pytest.mark.parametrize("name", ONE_FACE)
def test_one_face_one_number_in_every_frame(sessions: OrtSessions, name: str) -> None:
    counted = Counted(sessions)
    items = frames(name)
    result = track(counted, items)
    assert [[face.track_id for face in faces] for faces, _ in result] == [[0]] * len(items)
    assert {scene for _, scene in result} == {0}
    assert counted.runs["face_mesh_478"] <= 1.06 * len(items)
    assert counted.runs["face_detect_full192"] + counted.runs["face_detect_back256"] <= 0.3 * len(items)
    assert counted.runs["face_id_dlib128"] <= 0.06 * len(items)


def test_two_speakers_keep_their_numbers(sessions: OrtSessions) -> None:
    result = track(sessions, frames(TWO))
    assert [[face.track_id for face in faces] for faces, _ in result] == [[0, 1]] * len(result)
    left, right = (np.array([faces[k].points[:, 0].mean() for faces, _ in result]) for k in (0, 1))
    assert left.max() < right.min() or right.max() < left.min()


def test_the_actor_is_there_in_every_frame_through_light_pan_and_turn(sessions: OrtSessions) -> None:
    """A second person in sunglasses passes behind him for some frames; she is somebody else."""
    result = track(sessions, frames(FILM))
    assert all(0 in [face.track_id for face in faces] for faces, _ in result)
    assert {scene for _, scene in result} == {0}
    others = [face for faces, _ in result for face in faces if face.track_id != 0]
    assert len(others) <= 12
    assert {face.track_id for face in others} <= {1}


@pytest.mark.parametrize("name", [*ONE_FACE[:2], ONE_FACE[3], TWO])
def test_tracked_points_are_steadier_than_single_frames_and_not_late(sessions: OrtSessions, name: str) -> None:
    items = frames(name, 64)
    detector, mesher = FaceDetector(sessions), FaceMesher(sessions)
    single: list[np.ndarray] = []
    for item in items:
        first = min(detector.detect_frame(item, tiled=False), key=lambda d: d.box[0])
        face = mesher.from_detection(item, first)
        assert face is not None
        single.append(face.points)
    tracked = [min(faces, key=lambda f: f.points[1, 0]).points for faces, _ in track(sessions, items)]
    raw, steady = np.stack(single)[:, CORNERS, :2], np.stack(tracked)[:, CORNERS, :2]
    assert np.abs(np.diff(steady, 2, axis=0)).mean() <= 0.9 * np.abs(np.diff(raw, 2, axis=0)).mean()
    # compared with a path that is smooth and not late: the mean of each frame and its neighbours
    path = (raw[:-2] + raw[1:-1] + raw[2:]) / 3
    here, before = (float(np.abs(steady[1:-1] - p).mean()) for p in (path, np.roll(path, 1, 0)))
    assert here < before
    assert here < 0.006 * np.ptp(np.stack(tracked)[:, :468, 0], axis=1).mean()


def test_blinks_and_words_keep_their_range(sessions: OrtSessions) -> None:
    items = frames("synth_talk_P006_360p25.mp4", 120)
    tracker, mesher = FaceTracker(sessions), FaceMesher(sessions)
    steady, raw = [], []
    previous: np.ndarray | None = None
    for group in groups(items):
        for item, (faces, _) in zip(group, tracker.track_batch(group), strict=True):
            steady.append(faces[0].points)
            face = mesher.follow(item, faces[0].points if previous is None else previous)
            assert face is not None
            previous = face.points
            raw.append(face.points)
    for upper, lower in ((13, 14), (159, 145), (386, 374)):
        opening = [
            np.linalg.norm(np.stack(points)[:, upper, :2] - np.stack(points)[:, lower, :2], axis=1)
            for points in (steady, raw)
        ]
        assert np.ptp(opening[0]) > 0.9 * np.ptp(opening[1])
        assert np.corrcoef(opening[0], opening[1])[0, 1] > 0.98
