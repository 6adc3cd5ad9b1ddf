"""Swaps of all sample clips, measured from outside: frames, times, sound, who is seen, and how steady it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondface.models.sessions import OrtSessions
from tests.sample_media import MEDIA, SHARED, needs_media
from tools.quality_sheet.cases import CLIP_RUNS, ClipRun, portrait
from tools.quality_sheet.figures import CLIP_BOUNDS, ClipMeasure, measure_clip, steadiness, swapped_share
from tools.quality_sheet.outside import OutsideView

pytestmark = [needs_media, pytest.mark.slow]
ASK_EVERY = 6
TWO_PEOPLE = [run for run in CLIP_RUNS if len(run.sources) == 2]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[ClipRun, ClipMeasure]:
    """Filled by the first test that asks for a clip: each is swapped and measured once."""
    return {}


@pytest.fixture(scope="module")
def tools() -> tuple[OutsideView, OrtSessions]:
    return OutsideView(SHARED), OrtSessions("cpu")


@pytest.fixture
def measure(
    request: pytest.FixtureRequest,
    measured: dict[ClipRun, ClipMeasure],
    tools: tuple[OutsideView, OrtSessions],
    tmp_path: Path,
) -> ClipMeasure:
    run: ClipRun = request.param
    if run not in measured:
        sources = [portrait(MEDIA, source) for source in run.sources]
        # Two people swapped for each other would pass for one person in most figures: look at more of their frames.
        every = ASK_EVERY // len(sources)
        measured[run] = measure_clip(
            *tools, run.name, sources, MEDIA / "videos" / run.clip, tmp_path / "out.mp4", ask_every=every
        )
    return measured[run]


each_clip = pytest.mark.parametrize("measure", CLIP_RUNS, indirect=True, ids=lambda run: run.name)


@each_clip
def test_frames_times_and_sound_are_kept(measure: ClipMeasure) -> None:
    assert len(measure.times_after) > 50
    assert measure.times_after == measure.times_before
    assert measure.sound_after == measure.sound_before


@each_clip
def test_the_new_face_is_seen(measure: ClipMeasure) -> None:
    for person in measure.people:
        assert not person.lost
        figure = swapped_share(person)
        assert figure.holds is not False, figure


@each_clip
def test_the_new_face_is_as_steady_as_the_old_one(measure: ClipMeasure) -> None:
    figures = [steadiness(person) for person in measure.people]
    failing = [(name, value) for each in figures for name, value in each.items() if value > CLIP_BOUNDS[name]]
    assert not failing


@pytest.mark.parametrize("measure", TWO_PEOPLE, indirect=True, ids=lambda run: run.name)
def test_each_of_two_people_gets_the_right_source_in_every_frame(measure: ClipMeasure) -> None:
    for person in measure.people:
        assert len(person.rows) == len(measure.times_before)
        assert [row.index for row in person.asked if not row.has_right_source] == []


# Open defect: in one of 50 frames, with the mouth wide open, the new face is as near (0.40) to the woman who was there
# as to the new one; the two are 0.41 apart from each other. What brings it nearer takes a pair's mouth over its bound.
TOO_ALIKE = pytest.mark.xfail(reason="two people who look alike, in one frame")


@pytest.mark.parametrize(
    "measure",
    [
        pytest.param(run, id=run.name, marks=[TOO_ALIKE] if run.sources == ("P006_woman", "P009_woman") else [])
        for run in TWO_PEOPLE
    ],
    indirect=True,
)
def test_each_of_two_people_is_somebody_new_in_every_frame(measure: ClipMeasure) -> None:
    for person in measure.people:
        assert [row.index for row in person.asked if not row.is_swapped] == []
