"""A printed picture of somebody in a video is a face like others: swapped and judged in the cage as outside of it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import av
import cv2
import numpy as np
import pytest

from secondface.domain.jobs import Job
from secondface.fleet.caged_runs import RUN
from secondface.fleet.guards import Guards
from secondface.fleet.runs import DirectRuns, Runs
from secondface.frames import RGB8, Float
from secondface.media.cage import worker_cage_reason
from secondface.pipeline.moderation import Opinion, Sample
from tests.unit.fleet.caged_shop import Shop, opened
from tests.unit.fleet.test_caged_guard import Judge
from tests.unit.fleet.workshop import face

pytestmark = pytest.mark.skipif(worker_cage_reason() is not None, reason=f"no cage here: {worker_cage_reason()}")

RATE, FRAMES, FIRST = 10, 24, 9
"""The card is there from frame 9 on, after a cut."""
WIDTH, HEIGHT, CARD = 320, 240, 150


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from opened(tmp_path_factory.mktemp("card"), walls=False, task=RUN)


def rgb_of(person: str, side: int) -> RGB8:
    decoded = np.asarray(cv2.imdecode(np.frombuffer(face(person, side), np.uint8), cv2.IMREAD_COLOR))
    return np.ascontiguousarray(decoded[..., ::-1])


def card() -> RGB8:
    """A picture on white paper, printed with less contrast than the original, and a line of text below."""
    paper = np.full((CARD + 40, CARD + 16, 3), 235, np.uint8)
    printed = rgb_of("b", CARD).astype(np.float32) * 0.85 + 20
    paper[8 : 8 + CARD, 8 : 8 + CARD] = printed.clip(0, 255).astype(np.uint8)
    cv2.putText(paper, "VISITOR 0042", (14, CARD + 30), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (40, 40, 40), 1)
    return paper


def picture(number: int) -> RGB8:
    """A dark room; then a lit wall on which the card hangs, while the camera drifts."""
    if number < FIRST:
        return np.full((HEIGHT, WIDTH, 3), 30, np.uint8)
    wall = np.full((HEIGHT, WIDTH, 3), (150, 160, 140), np.uint8)
    paper, at = card(), 20 + 2 * (number - FIRST)
    wall[20 : 20 + paper.shape[0], at : at + paper.shape[1]] = paper
    return wall


@cache
def film() -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(RATE), options={"crf": "12"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(FRAMES):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture(number), format="rgb24")))
        container.mux(stream.encode())
    return file.getvalue()


def run(shop: Shop, judge: Judge, runs: Runs | None = None) -> Job:
    shop.guards = Guards(judge)
    return shop.run(shop.attempt(runs, target=film(), output_name="out.mp4"))


def report_of(shop: Shop, job: Job) -> dict[str, Any]:
    return json.loads(b"".join(shop.shop.objects.read(f"jobs/{job.id}/1/report.json")))


def frames_of(content: bytes) -> list[RGB8]:
    with av.open(io.BytesIO(content), "r") as container:
        return [np.asarray(frame.to_ndarray(format="rgb24"), np.uint8) for frame in container.decode(video=0)]


def looks_of(frame: RGB8, number: int) -> Float:
    """The face on the card without what is finer than it: two jobs have two watermarks."""
    left = 60 + 2 * (number - FIRST)
    return np.asarray(cv2.blur(frame[40:130, left : left + 90].astype(np.float32), (9, 9)))


def refuses(where: Callable[[Sample], bool]) -> Judge:
    def say(sample: Sample) -> Sequence[Opinion]:
        return [Opinion(rule="house", verdict="refuse")] if where(sample) else []

    return Judge(say)


def test_a_card_is_swapped_and_judged_as_outside_of_the_cage(shop: Shop) -> None:
    outside, inside = Judge(), Judge()
    direct, caged = run(shop, outside, DirectRuns()), run(shop, inside)
    assert (direct.state, caged.state) == ("succeeded", "succeeded"), caged.attempts
    assert [each.place for each in inside.shown] == [each.place for each in outside.shown]
    for one, other in zip(inside.shown, outside.shown, strict=True):
        np.testing.assert_array_equal(one.rgb, other.rgb)
    assert [each.place.frame for each in inside.shown[1:]] == [0, FIRST, 19, FRAMES - 1]
    said = report_of(shop, caged)
    assert (said["kind"], said["frames"], said["faces"]) == ("video", FRAMES, 1)
    assert (said["swapped_frames"], said["unswapped"]) == (FRAMES - FIRST, [[0, FIRST - 1]])
    mine, theirs = frames_of(shop.output(caged)), frames_of(shop.output(direct))
    assert len(mine) == len(theirs) == FRAMES
    for number in (FIRST, FRAMES - 1):
        caged_face, direct_face = looks_of(mine[number], number), looks_of(theirs[number], number)
        assert np.abs(caged_face - looks_of(picture(number), number)).mean() > 2, "somebody else is on the card"
        assert np.abs(caged_face - direct_face).mean() < 1.2, "the same person as outside of the cage"


def test_a_card_that_is_refused_ends_the_run_and_nothing_is_handed_out(shop: Shop) -> None:
    job = run(shop, refuses(lambda each: each.place.input == "target" and each.rgb.mean() > 100))
    assert (job.state, job.error, job.attempts[0].fault) == ("failed", "content_refused", "caller")
    found = [(each.rule, each.verdict, each.input, each.frame, each.at_ms) for each in job.findings]
    assert found == [("house", "refuse", "target", FIRST, FIRST * 1000 // RATE)]
    assert shop.shop.results(job.id) == []
