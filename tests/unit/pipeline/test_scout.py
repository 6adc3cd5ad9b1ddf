"""The first look across a video, on puppets: it ends when all are there, and refuses when somebody never comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from secondface.errors import MappingUnresolved, NoFaceInTarget, ReferenceFaceNotFound, TooManySources
from secondface.frames import ArrayFrame
from secondface.pipeline.scout import scout
from secondface.vision.choose import FaceChooser
from tests.unit.vision.puppets import BLUE, GREEN, RED, PuppetSessions, frame, picture

Shown = Sequence[tuple[tuple[int, int, int], int, int, int]]
ONE: Shown = [(RED, 200, 180, 120)]
TWO: Shown = [(RED, 150, 180, 120), (GREEN, 450, 180, 120)]
NOBODY: Shown = []


def looked_at(story: Sequence[Shown], seen: list[int]) -> Iterator[ArrayFrame]:
    for index, shown in enumerate(story):
        seen.append(index)
        yield frame(index, picture(640, 360, shown))


def person(channel: int) -> np.ndarray:
    descriptor = np.zeros(128, np.float32)
    descriptor[channel] = 0.64
    return descriptor


def test_it_ends_as_soon_as_everybody_was_seen() -> None:
    seen: list[int] = []
    scouted = scout(looked_at([ONE, NOBODY, TWO, TWO, TWO], seen), FaceChooser(2), PuppetSessions())
    assert (scouted.frames, scouted.people, seen) == (3, 2, [0, 1, 2])


def test_people_in_different_shots_count_together() -> None:
    green: Shown = [(GREEN, 300, 180, 120)]
    assert scout(looked_at([ONE, green], []), FaceChooser(2), PuppetSessions()).people == 2


@pytest.mark.parametrize(
    ("story", "chooser", "error"),
    [
        ([ONE] * 3, FaceChooser(2), TooManySources),
        ([TWO] * 3, FaceChooser(1, "5"), MappingUnresolved),
        ([TWO] * 3, FaceChooser(1, mapping=[(0, 2)]), MappingUnresolved),
        ([TWO] * 3, FaceChooser(1, "like:x.png", like=person(2)), ReferenceFaceNotFound),
        ([NOBODY] * 3, FaceChooser(1), NoFaceInTarget),
    ],
)
def test_what_never_comes_is_refused_with_the_number_of_frames(
    story: Sequence[Shown], chooser: FaceChooser, error: type[Exception]
) -> None:
    with pytest.raises(error, match="3 frames"):
        scout(looked_at(story, []), chooser, PuppetSessions())


def test_a_reference_is_looked_for_until_it_is_clearly_there() -> None:
    blue: Shown = [(BLUE, 300, 180, 120)]
    chooser = FaceChooser(1, "like:x.png", like=person(2))
    scouted = scout(looked_at([ONE, TWO, blue, ONE], []), chooser, PuppetSessions())
    assert scouted.frames == 3
    assert scouted.gaps == [pytest.approx(0, abs=1e-5)]
