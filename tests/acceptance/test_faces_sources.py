"""What of real source pictures goes along: the beard and the glasses of a person, not the hand before a mouth."""

from __future__ import annotations

import numpy as np
import pytest

from secondface.media.images import read_still
from secondface.models.sessions import OrtSessions
from secondface.vision.mesh_topology import zones
from secondface.vision.source_atlas import COARSE_DENSITY, build_atlas
from secondface.vision.track import FaceTracker
from tests.sample_media import PORTRAITS, needs_media

pytestmark = needs_media


@pytest.fixture(scope="module")
def tracker() -> FaceTracker:
    return FaceTracker(OrtSessions("cpu"))


def certain(tracker: FaceTracker, name: str) -> np.ndarray:
    """[h,w] on the coarse atlas: where the picture shows the person."""
    frame = read_still(PORTRAITS / name).frame
    return build_atlas([(frame.read(), tracker.still(frame)[0])]).known[..., 0]


def share(mask: np.ndarray, zone: np.ndarray) -> float:
    return float((mask * zone).sum() / zone.sum())


def below_the_nose() -> np.ndarray:
    zone = zones(COARSE_DENSITY, 0.1)
    return zone.beard * zone.skin * zone.middle


def test_a_beard_goes_along(tracker: FaceTracker) -> None:
    assert share(certain(tracker, "synth_P005_man_beard_older_front.jpg"), below_the_nose()) > 0.85


def test_a_hand_before_the_mouth_does_not(tracker: FaceTracker) -> None:
    assert share(certain(tracker, "synth_P002_hand_over_mouth.jpg"), below_the_nose()) < 0.8


def test_glasses_go_along(tracker: FaceTracker) -> None:
    under_eyes = np.sum(zones(COARSE_DENSITY, 0.1).glasses, axis=0)
    assert share(certain(tracker, "synth_P007_glasses_derived.jpg"), under_eyes) > 0.9
