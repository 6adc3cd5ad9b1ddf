"""Less jitter, no lag, blinks and words untouched."""

from __future__ import annotations

import numpy as np
import pytest

from secondface.vision.mesh_indices import mesh_indices
from secondface.vision.smooth import PointSmoother
from tests.unit.vision.puppets import canonical_mesh

DT = 1 / 25
LENGTH = 200.0
CORNERS = [33, 263, 1, 61, 291]


def meshes(count: int, noise: float, speed: float = 0.0, seed: int = 0) -> np.ndarray:
    """[count,478,3] of a face of 200 px that moves `speed` px a frame, with `noise` px on each point."""
    rng = np.random.default_rng(seed)
    shape = np.concatenate([canonical_mesh() * LENGTH + 400, np.zeros((478, 1))], 1)
    out = np.repeat(shape[None], count, 0)
    out[:, :, 0] += speed * np.arange(count)[:, None]
    return (out + rng.normal(0, noise, out.shape)).astype(np.float32)


def smooth(raw: np.ndarray, group: int) -> np.ndarray:
    smoother = PointSmoother()
    out: list[np.ndarray] = []
    for k in range(0, len(raw), group):
        part = list(raw[k : k + group])
        out += smoother.smooth(part, [DT] * len(part))
    return np.stack(out)


def jitter(points: np.ndarray) -> float:
    return float(np.abs(np.diff(points[:, CORNERS, :2], 2, axis=0)).mean())


@pytest.mark.parametrize("group", [1, 8])
def test_a_still_face_stands_stiller(group: int):
    raw = meshes(60, noise=0.6)
    assert jitter(smooth(raw, group)) < 0.7 * jitter(raw)


def test_what_trembles_is_drawn_to_the_middle_of_its_neighbours():
    """Every second frame off by half a pixel, lips and lids too, which are smoothed the least."""
    raw = meshes(40, noise=0.0)
    raw[::2, :, 0] += 0.5
    assert jitter(smooth(raw, 8)) < 0.55 * jitter(smooth(raw, 1))


@pytest.mark.parametrize("group", [1, 8])
@pytest.mark.parametrize("speed", [2.0, 8.0, 40.0])
def test_a_moving_face_is_not_left_behind(group: int, speed: float):
    raw = meshes(40, noise=0.0, speed=speed)
    lag = np.abs(smooth(raw, group) - raw)[10:, :, 0].mean()
    assert lag < 0.004 * LENGTH
    if group == 8:
        assert lag < 0.002 * LENGTH


def test_a_sudden_stop_does_not_overshoot():
    raw = np.concatenate([meshes(20, 0.0, speed=10), np.repeat(meshes(20, 0.0, speed=10)[-1:], 20, 0)])
    out = smooth(raw, 1)
    assert (out[:, 1, 0].max() - raw[:, 1, 0].max()) < 0.01


@pytest.mark.parametrize("group", [1, 8])
def test_a_blink_of_three_frames_passes(group: int):
    raw = meshes(30, noise=0.0)
    lids = list(mesh_indices().left_eye[:16])
    middle = raw[0, lids, 1].mean()
    for k, share in ((14, 0.4), (15, 0.0), (16, 0.4)):
        raw[k, lids, 1] = middle + share * (raw[k, lids, 1] - middle)
    out = smooth(raw, group)
    opening = np.ptp(out[:, lids, 1], axis=1) / np.ptp(raw[0, lids, 1])
    assert opening[15] < 0.15
    assert opening[18:].min() > 0.9


def test_speech_keeps_its_range():
    raw = meshes(50, noise=0.0)
    lips = list(mesh_indices().lips)
    raw[:, lips, 1] += (8 * np.sin(np.arange(50) * 1.3))[:, None].astype(np.float32)
    for group, least in ((1, 0.9), (8, 0.95)):
        out = smooth(raw, group)
        assert np.ptp(out[10:40, lips, 1].mean(1)) > least * np.ptp(raw[10:40, lips, 1].mean(1))


def test_turning_and_growing_are_followed():
    shape = canonical_mesh() * LENGTH
    frames: list[np.ndarray] = []
    for k in range(30):
        angle, size = 0.1 * k, 1.03**k
        turn = size * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        frames.append(np.concatenate([shape @ turn.T + 500, np.full((478, 1), 5.0 * size)], 1))
    raw = np.stack(frames).astype(np.float32)
    out = smooth(raw, 1)
    assert np.abs(out - raw)[5:, :, :2].max() < 0.06 * LENGTH
    assert np.abs(out - raw)[5:, :, :2].mean() < 0.01 * LENGTH


def test_frame_rate_changes_the_share_not_the_path():
    raw = meshes(40, noise=0.5)
    slow = PointSmoother().smooth(list(raw), [1.0] * 40)
    assert jitter(np.stack(slow)) == pytest.approx(jitter(raw), rel=0.1)


def test_one_frame_is_returned_as_it_is():
    raw = meshes(1, noise=1.0)
    np.testing.assert_array_equal(PointSmoother().smooth([raw[0]], [DT])[0], raw[0])
