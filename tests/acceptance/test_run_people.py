"""Source pictures on real portraits: the largest face counts, one person is combined, strangers are noted."""

from __future__ import annotations

import numpy as np
import pytest

from secondface.errors import NoFaceInSource, ReferenceFaceNotFound
from secondface.frames import RGB8
from secondface.media.images import read_still
from secondface.models.sessions import OrtSessions
from secondface.pipeline.people import Picture, build_sources, describe_reference
from secondface.vision.identity import SAME_PERSON, distance
from secondface.vision.track import FaceTracker
from tests.sample_media import MEDIA, needs_media

pytestmark = needs_media
PORTRAITS = MEDIA / "portraits"


@pytest.fixture(scope="module")
def tracker() -> FaceTracker:
    return FaceTracker(OrtSessions("cpu"))


def picture(name: str) -> Picture:
    return Picture(name, read_still(PORTRAITS / name).frame.rgb)


def as_it_is(rgb: RGB8) -> RGB8:
    return rgb.repeat(2, 0).repeat(2, 1)


def test_pictures_of_one_person_are_combined_without_a_note(tracker: FaceTracker) -> None:
    pictures = [picture("synth_P009_woman_dark_long_front.jpg"), picture("synth_P009_selfie_smile.jpg")]
    built = build_sources([pictures], tracker, as_it_is)
    assert len(built.people) == 1
    assert built.notes == ()


def test_a_stranger_among_the_pictures_is_noted(tracker: FaceTracker) -> None:
    pictures = [picture("synth_P009_woman_dark_long_front.jpg"), picture("synth_P005_man_beard_older_front.jpg")]
    (note,) = build_sources([pictures], tracker, as_it_is).notes
    assert "P005" in note
    assert build_sources([[each] for each in pictures], tracker, as_it_is).notes == ()


def test_a_picture_without_a_face_is_named(tracker: FaceTracker) -> None:
    empty = Picture("wall.png", np.full((300, 300, 3), 120, np.uint8))
    with pytest.raises(NoFaceInSource, match=r"wall\.png"):
        build_sources([[empty]], tracker, as_it_is)
    with pytest.raises(ReferenceFaceNotFound, match=r"wall\.png"):
        describe_reference(empty, tracker)


def test_the_largest_face_of_a_picture_is_meant(tracker: FaceTracker) -> None:
    large, small = (
        picture("synth_P010_woman_bun_light_front.jpg").rgb,
        picture("synth_P005_man_beard_older_front.jpg").rgb,
    )
    both = np.zeros((1024, 1536, 3), np.uint8)
    both[:, :1024] = large
    both[256:768, 1024:] = small[::2, ::2]
    meant = describe_reference(Picture("both", both), tracker)
    assert distance(meant, describe_reference(Picture("large", large), tracker)) < SAME_PERSON
