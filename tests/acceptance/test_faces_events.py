"""What happens to faces in films, composed from portraits and clips: cuts, entries, exits, crossings, flashes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import cv2
import numpy as np
import pytest

from secondface.frames import RGB8, ArrayFrame, Face
from secondface.media.read import VideoReader
from secondface.models.sessions import OrtSessions
from secondface.vision.choose import FaceChooser
from secondface.vision.find import same_place
from secondface.vision.track import FaceTracker
from tests.sample_media import MEDIA, needs_media

pytestmark = needs_media
WIDTH, HEIGHT = SIZE = (640, 360)
Story = list[tuple[list[Face], int]]


@pytest.fixture(scope="module")
def sessions() -> OrtSessions:
    return OrtSessions("cpu")


@pytest.fixture(scope="module")
def foliage() -> RGB8:
    return cv2.GaussianBlur(cv2.resize(picture("synth_P006_selfie_outdoor.jpg")[:120], SIZE), (0, 0), 2)  # type: ignore


def picture(name: str) -> RGB8:
    return np.ascontiguousarray(cv2.imread(str(MEDIA / "portraits" / name))[..., ::-1])  # type: ignore[index]


def head(name: str, height: int = 220) -> RGB8:
    """A head cut from a studio portrait."""
    part = picture(name)[100:850, 200:824]
    return cv2.resize(part, (round(height * 624 / 750), height), interpolation=cv2.INTER_AREA)  # type: ignore


@pytest.fixture(scope="module")
def woman() -> RGB8:
    return head("synth_P001_woman_short_curly_front.jpg")


@pytest.fixture(scope="module")
def man() -> RGB8:
    return head("synth_P007_man_afro_dark_front.jpg")


def put(canvas: RGB8, part: RGB8, x: float, y: float) -> RGB8:
    """A head with soft edges at a place that need not be whole pixels or inside."""
    height, width = part.shape[:2]
    mask = np.zeros((height, width), np.float32)
    cv2.ellipse(mask, (width // 2, height // 2), (int(width * 0.46), int(height * 0.48)), 0, 0, 360, 1, -1)
    mask = cv2.GaussianBlur(mask, (0, 0), width * 0.015)
    move = np.array([[1, 0, x], [0, 1, y]], np.float32)
    front = cv2.warpAffine(part, move, (canvas.shape[1], canvas.shape[0]))
    share = cv2.warpAffine(mask, move, (canvas.shape[1], canvas.shape[0]))[..., None]
    return (canvas * (1 - share) + front * share).astype(np.uint8)


def clip(name: str, start: int, count: int) -> list[RGB8]:
    with VideoReader(MEDIA / "videos" / name) as reader:
        shown = [frame.read() for k, frame in enumerate(reader.frames()) if start <= k < start + count]
    return [cv2.resize(rgb, SIZE, interpolation=cv2.INTER_AREA) for rgb in shown]  # type: ignore[misc]


def follow(sessions: OrtSessions, story: list[RGB8], chooser: FaceChooser | None = None) -> Story:
    tracker = FaceTracker(sessions)
    out: Story = []
    for k in range(0, len(story), 8):
        frames = [ArrayFrame(rgb.copy(), k + i, k + i, Fraction(1, 25)) for i, rgb in enumerate(story[k : k + 8])]
        seen = tracker.track_batch(frames)
        if chooser is not None:
            chooser.choose_batch([faces for faces, _ in seen])
        out += seen
    return out


def numbers(story: Story) -> list[tuple[int, ...]]:
    return [tuple(face.track_id for face in faces) for faces, _ in story]


def tell(count: int, frame: Callable[[int], RGB8]) -> list[RGB8]:
    return [frame(k) for k in range(count)]


def test_a_dialogue_of_cuts_keeps_each_speakers_number(sessions: OrtSessions) -> None:
    first = clip("synth_talk_P006_360p25.mp4", 0, 20)
    second = clip("synth_talk_P009_480p30_lightchange.mp4", 0, 20)
    third = clip("real_intel_headpose_male_480x270_p12.mp4", 0, 10)
    story = follow(sessions, [*first[:10], *second[:10], *first[10:], *third, *second[10:]])
    assert numbers(story) == [(0,)] * 10 + [(1,)] * 10 + [(0,)] * 10 + [(2,)] * 10 + [(1,)] * 10
    assert [scene for _, scene in story] == [k for k in range(5) for _ in range(10)]


def test_who_enters_is_there_from_the_first_frames(sessions: OrtSessions, foliage: RGB8, woman: RGB8) -> None:
    story = numbers(follow(sessions, tell(48, lambda k: put(foliage, woman, max(640 - 8 * k, 320), 70))))
    half_inside = 13
    assert set(story[half_inside:]) == {(0,)}
    assert story[:6] == [()] * 6


def test_who_leaves_is_gone_and_stays_gone(sessions: OrtSessions, foliage: RGB8, woman: RGB8) -> None:
    story = numbers(follow(sessions, tell(56, lambda k: put(foliage, woman, 300 - 10 * k, 70))))
    assert set(story[:36]) == {(0,)}
    assert set(story[44:]) == {()}


def test_a_board_in_front_hides_the_face_and_gives_the_same_number_back(
    sessions: OrtSessions, foliage: RGB8, woman: RGB8
) -> None:
    def frame(k: int) -> RGB8:
        rgb = put(foliage, woman, 230, 70)
        if 20 <= k < 32:
            rgb[40:330, 200:460] = 90
        return rgb

    assert numbers(follow(sessions, tell(48, frame))) == [(0,)] * 20 + [()] * 12 + [(0,)] * 16


def test_two_who_cross_keep_their_numbers_and_never_share_a_face(
    sessions: OrtSessions, foliage: RGB8, woman: RGB8, man: RGB8
) -> None:
    story = follow(
        sessions, tell(70, lambda k: put(put(foliage, man, 20 + 6 * k, 60), woman, 440 - 6 * k, 80)), FaceChooser(2)
    )  # fmt: skip
    assert numbers(story)[0] == numbers(story)[-1] == (0, 1)
    before, after = ({f.track_id: f.points[1, 0] for f in story[k][0]} for k in (0, -1))
    assert (before[0] < before[1]) != (after[0] < after[1])
    for faces, _ in story:
        assert not (len(faces) > 1 and same_place(faces[0].points, faces[1].points))
        assert all(face.source == (0 if before[face.track_id] == min(before.values()) else 1) for face in faces)
    assert sum(len(faces) for faces, _ in story) > 110


@pytest.mark.parametrize("pace", [0.5, 0.9])
def test_shaking_is_followed(sessions: OrtSessions, foliage: RGB8, woman: RGB8, pace: float) -> None:
    xs = [240 + 100 * np.sin(k * pace) for k in range(48)]
    story = follow(sessions, tell(48, lambda k: put(foliage, woman, xs[k], 70 + 20 * np.cos(k * 0.7))))
    assert set(numbers(story)) == {(0,)}
    nose = np.array([faces[0].points[1, 0] for faces, _ in story]) - xs
    assert np.abs(nose - np.median(nose)).max() < 6


def test_flashes_fades_and_coloured_light_are_no_new_people(sessions: OrtSessions, foliage: RGB8, woman: RGB8) -> None:
    base = put(foliage, woman, 240, 70).astype(np.float32)

    def frame(k: int) -> RGB8:
        light = np.array([1.2, 0.9, 0.6] if k // 10 % 2 else [0.8, 0.9, 1.2]) * (2.2 if k % 16 == 15 else 1)
        return (base * light * max(0.05, abs(24 - k) / 24)).clip(0, 255).astype(np.uint8)

    story = follow(sessions, tell(48, frame))
    assert {n for seen in numbers(story) for n in seen} == {0}
    assert sum(seen == (0,) for seen in numbers(story)) >= 45


def test_a_pan_over_a_group_finds_each_once(sessions: OrtSessions) -> None:
    crew = cv2.imread(str(MEDIA / "groups/real_nasa_apollo11_crew_3faces.jpg"))
    assert crew is not None
    crew = cv2.resize(crew[..., ::-1], None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
    story = follow(sessions, tell(60, lambda k: np.ascontiguousarray(crew[200:560, 9 * k : 9 * k + WIDTH])))
    assert {n for seen in numbers(story) for n in seen} == {0, 1, 2}
    assert {scene for _, scene in story} == {0}


def test_the_cat_and_the_foliage_are_never_faces(sessions: OrtSessions, foliage: RGB8) -> None:
    cat = cv2.resize(picture("neg_cat.png"), SIZE)
    assert set(numbers(follow(sessions, tell(40, lambda k: np.roll(cat, 3 * k, 1))))) == {()}
    assert set(numbers(follow(sessions, [foliage] * 16))) == {()}


def test_small_faces_in_full_hd_video(sessions: OrtSessions, foliage: RGB8, woman: RGB8) -> None:
    wide = cv2.resize(foliage, (1920, 1080))
    small = cv2.resize(woman, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    story = follow(sessions, tell(24, lambda k: put(wide, small, 1200 + 3 * k, 400)))
    assert numbers(story) == [(0,)] * 24
    assert 25 < story[0][0][0].size_px < 40


def test_the_main_person_stays_chosen_when_another_comes_nearer(
    sessions: OrtSessions, foliage: RGB8, woman: RGB8, man: RGB8
) -> None:
    def frame(k: int) -> RGB8:
        size = max(0.6, min(1.5, k / 20))
        near = cv2.resize(man, None, fx=size, fy=size)
        return put(put(foliage, woman, 40, 100), near, 380, 20)

    story = follow(sessions, tell(40, frame), FaceChooser(1))
    assert all(face.source == (0 if face.points[1, 0] < 300 else None) for faces, _ in story for face in faces)
    assert sum(face.source == 0 for faces, _ in story for face in faces) == 40
