"""Decoding, letterboxing, merging and tiles, on puppets (see puppets.py)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.frames import ArrayFrame
from secondface.vision.detect import Detection, FaceDetector, suppress, tiles
from tests.unit.vision.puppets import GREEN, RED, SIX_POINTS, PuppetSessions, frame, picture


def detection(x: float, y: float, side: float, score: float = 0.9) -> Detection:
    points = (np.array([x, y]) + SIX_POINTS * side).astype(np.float32)
    return Detection((x - side / 2, y - side / 2, x + side / 2, y + side / 2), score, points)


@pytest.mark.parametrize(("width", "height"), [(640, 360), (360, 640), (512, 512), (1280, 200)])
def test_boxes_and_points_are_in_the_pictures_pixels(width: int, height: int):
    x, y, side = width // 3, height // 2, min(width, height) // 3
    detector = FaceDetector(PuppetSessions())
    rgb = picture(width, height, [(RED, x, y, side)])
    for nets in ([detector.near], [detector.far], None):
        (found,) = detector.detect(rgb, nets)
        tolerance = max(width, height) / 100
        np.testing.assert_allclose(found.place[0], (x, y), atol=tolerance)
        assert found.place[1] == pytest.approx(side, abs=2 * tolerance)
        np.testing.assert_allclose(found.points, np.array([x, y]) + SIX_POINTS * side, atol=2 * tolerance)
        assert found.score == pytest.approx(1 / (1 + np.exp(-3)), abs=1e-3)


def test_both_networks_seeing_one_face_make_one_detection():
    found = FaceDetector(PuppetSessions()).detect(picture(640, 360, [(RED, 200, 180, 120), (GREEN, 420, 180, 90)]))
    assert sorted(round(d.place[0][0], -1) for d in found) == [200, 420]


def test_suppress_averages_by_score_and_keeps_the_best_score():
    (merged,) = suppress([detection(100, 100, 50, 0.9), detection(104, 100, 50, 0.6)])
    assert merged.score == 0.9
    assert merged.place[0][0] == pytest.approx((100 * 0.9 + 104 * 0.6) / 1.5, abs=1e-3)


def test_suppress_drops_what_lies_inside_without_mixing_it_in():
    (kept,) = suppress([detection(100, 100, 80, 0.9), detection(110, 110, 20, 0.8)])
    assert kept.place[1] == pytest.approx(80)


def test_suppress_keeps_neighbours_and_order():
    found = suppress([detection(100, 100, 50, 0.6), detection(160, 100, 50, 0.9), detection(300, 100, 50, 0.7)])
    assert [d.score for d in found] == [0.9, 0.7, 0.6]
    assert suppress([]) == []


@given(st.integers(1, 6000), st.integers(1, 6000), st.sampled_from([480, 640]))
def test_tiles_lie_inside_and_overlap_by_more_than_the_faces_they_are_for(width: int, height: int, side: int):
    boxes = tiles(width, height, side)
    for box in boxes:
        assert box.clip(width, height) == box
        assert box.area > 0
    smallest = min((max(b.width, b.height) for b in boxes), default=0)
    # any small face away from the edges lies whole in one tile of the finest level
    finest = [b for b in boxes if max(b.width, b.height) == smallest]
    face = 0.1 * smallest
    rng = np.random.default_rng(width * 7 + height)
    for _ in range(20 if boxes else 0):
        x, y = rng.uniform(0, max(1e-6, width - face)), rng.uniform(0, max(1e-6, height - face))
        if x + face <= width and y + face <= height:
            assert any(b.x0 <= x and b.y0 <= y and b.x1 >= x + face and b.y1 >= y + face for b in finest)


def test_there_are_no_tiles_for_a_picture_of_a_tiles_size():
    assert tiles(640, 480) == []
    assert len(tiles(1920, 1080)) < 20
    assert len(tiles(12000, 9000)) < 200


def test_tiles_find_what_the_whole_picture_is_too_coarse_for():
    rgb = picture(1920, 1080, [(RED, 1500, 700, 6)])
    detector = FaceDetector(PuppetSessions())
    assert detector.detect_frame(frame(0, rgb), tiled=False) == []
    (found,) = detector.detect_frame(frame(0, rgb), tiled=True)
    np.testing.assert_allclose(found.place[0], (1500, 700), atol=4)


def test_a_face_on_the_border_of_tiles_is_found_once_and_whole():
    for x in range(400, 700, 37):
        rgb = picture(1920, 1080, [(RED, x, 500, 60)])
        (found,) = FaceDetector(PuppetSessions()).detect_frame(frame(0, rgb), tiled=True)
        assert found.place[1] == pytest.approx(60, abs=16)


def test_confirm_looks_level_and_answers_in_frame_pixels():
    rgb = picture(800, 600, [(RED, 300, 250, 80)])
    near = FaceDetector(PuppetSessions()).confirm(ArrayFrame(rgb), np.array([310, 245], np.float32), 90, 0.0)
    np.testing.assert_allclose(near[0].place[0], (300, 250), atol=3)
    np.testing.assert_allclose(near[0].points, np.array([300, 250]) + SIX_POINTS * 80, atol=4)
    assert FaceDetector(PuppetSessions()).confirm(ArrayFrame(rgb), np.array([-900, 0], np.float32), 90, 0.0) == []
