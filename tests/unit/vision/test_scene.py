"""Cuts are noticed; light, pans and flashes are not cuts."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from secondface.vision.scene import CutDetector


def place(seed: int) -> np.ndarray:
    """A large random scene, 360 x 640."""
    rng = np.random.default_rng(seed)
    out = np.zeros((360, 640, 3))
    for step, strength in ((20, 25), (60, 40), (120, 50)):
        part = rng.normal(0, strength, (360 // step + 2, 640 // step + 2, 3))
        out += cv2.resize(part, (640, 360), interpolation=cv2.INTER_CUBIC)
    return (out + 120).clip(0, 255).astype(np.uint8)


def thumb(rgb: np.ndarray) -> np.ndarray:
    return cv2.resize(rgb, (64, 36), interpolation=cv2.INTER_AREA)


def verdicts(pictures: list[np.ndarray]) -> list[str]:
    detector = CutDetector()
    return [detector.update(thumb(p)) for p in pictures]


@pytest.mark.parametrize("seed", range(6))
def test_another_place_is_a_cut_and_the_same_is_not(seed: int):
    a, b = place(seed), place(seed + 100)
    assert verdicts([a] * 5 + [b] * 5 + [a] * 2) == ["same"] * 5 + ["cut"] + ["same"] * 4 + ["cut", "same"]


def test_light_is_no_cut():
    a = place(1).astype(float)
    side = np.linspace(0.4, 1.3, 640)[None, :, None]
    lit = [a, a * 0.5, a * [1.2, 0.9, 0.6], a * 1.5, a * side, a * side[:, ::-1], a * 0.3 + 100]
    assert "cut" not in verdicts([p.clip(0, 255).astype(np.uint8) for p in lit])


def test_a_pan_is_no_cut():
    wide = np.concatenate([place(1), place(2), place(3)], 1)
    assert set(verdicts([wide[:, x : x + 640] for x in range(0, 1200, 30)])) == {"same"}


def test_noise_and_movement_are_no_cut():
    rng = np.random.default_rng(0)
    pictures: list[np.ndarray] = []
    for k in range(20):
        p = place(4).astype(float)
        p[100:260, 100 + 10 * k : 260 + 10 * k] = place(9)[100:260, 100:260]
        pictures.append((p + rng.normal(0, 15, p.shape)).clip(0, 255).astype(np.uint8))
    assert "cut" not in verdicts(pictures)


def test_black_and_one_coloured_pictures_do_not_break_it():
    black, grey = np.zeros((360, 640, 3), np.uint8), np.full((360, 640, 3), 90, np.uint8)
    assert verdicts([black, black, grey, grey]) == ["same"] * 4
    assert verdicts([black, place(1)])[1] in {"cut", "suspect"}


def test_another_size_is_a_cut():
    detector = CutDetector()
    detector.update(place(1)[:36, :64])
    assert detector.update(place(1)[:48, :64]) == "cut"


@pytest.mark.parametrize("size", [(1, 1), (3, 64), (64, 2)])
def test_tiny_pictures_are_judged_too(size: tuple[int, int]):
    detector = CutDetector()
    tiny = np.zeros((*size, 3), np.uint8)
    assert [detector.update(tiny), detector.update(tiny)] == ["same", "same"]
