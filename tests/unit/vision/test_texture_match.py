"""Sharpness and grain: nothing is done where nothing is to be done, and bands do what they say."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from secondface.vision.texture_match import TextureGains, add_grain, equalise, luma, measure


def detailed(height: int = 160, width: int = 144, seed: int = 0) -> np.ndarray:
    """[h,w,3] detail at every scale: noise whose amplitude falls with its frequency."""
    generator = np.random.default_rng(seed)
    rgb = np.full((height, width, 3), 120, np.float32)
    for scale in (1, 2, 4, 8, 16, 32):
        small = generator.normal(0, 4 + scale / 2, (height // scale + 2, width // scale + 2)).astype(np.float32)
        rgb += cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)[..., None]
    return rgb


def finest(rgb: np.ndarray) -> np.ndarray:
    """Detail that half the resolution cannot show."""
    return rgb - cv2.pyrUp(cv2.pyrDown(rgb), dstsize=(rgb.shape[1], rgb.shape[0]))


def everywhere(rgb: np.ndarray) -> np.ndarray:
    return np.ones(rgb.shape[:2], np.float32)


def gains(new: np.ndarray, target: np.ndarray, skin: float = 0.0) -> TextureGains:
    return measure(luma(new), luma(target), everywhere(new), everywhere(new) * np.float32(skin))


@pytest.mark.parametrize("size", [(160, 144), (37, 53), (12, 12)])
def test_gains_of_one_change_nothing(size: tuple[int, int]) -> None:
    rgb = detailed(*size)
    assert (equalise(rgb, (1.0, 1.0, 1.0)) == rgb).all()
    assert (equalise(rgb, ()) == rgb).all()
    # The bands that are taken apart fit together again when one of them is turned up and down.
    assert equalise(rgb, (1.0, 1.07, 1.0)) == pytest.approx(rgb, abs=6)


def test_a_gain_of_zero_takes_its_band_away() -> None:
    rgb = detailed()
    without = equalise(rgb, (0.0, 1.0))
    assert without == pytest.approx(rgb - finest(rgb), abs=1e-3)
    coarser = equalise(rgb, (1.0, 0.0))
    assert finest(coarser) == pytest.approx(finest(rgb), abs=8)
    assert np.abs(coarser - rgb).mean() > 1


def test_odd_sizes_keep_their_size() -> None:
    assert equalise(detailed(37, 53), (0.5, 0.2)).shape == (37, 53, 3)


def test_equal_pictures_need_nothing() -> None:
    found = gains(detailed(), detailed())
    assert found.bands == pytest.approx([1.0] * len(found.bands), abs=0.03)
    assert found.blur_px == 0
    assert max(found.grain) < 0.1


@pytest.mark.parametrize("sigma", [1.5, 3.0])
def test_a_blurred_target_blurs_the_new_pixels_as_much(sigma: float) -> None:
    target = cv2.GaussianBlur(detailed(seed=1), (0, 0), sigma)
    found = gains(detailed(), target)
    assert found.bands[0] < 0.4
    assert found.blur_px > 0
    assert list(found.bands) == sorted(found.bands)
    after = equalise(detailed(), found.bands)
    left, wanted = (float(np.abs(finest(image)).mean()) for image in (after, target))
    assert left < 1.3 * wanted + 0.3


def test_a_sharper_target_does_not_turn_source_noise_up() -> None:
    found = gains(cv2.GaussianBlur(detailed(), (0, 0), 2), detailed(seed=1))
    assert max(found.bands) <= 1.15


def test_grain_that_is_missing_is_added_and_grain_that_is_there_is_not() -> None:
    flat = np.full((160, 144, 3), 120, np.float32)
    grainy = flat + np.random.default_rng(3).normal(0, 6, (160, 144, 1)).astype(np.float32)
    missing = gains(flat, grainy, skin=1.0)
    assert missing.grain[0] > 0.5
    assert gains(grainy, grainy, skin=1.0).grain[0] < 0.1
    assert gains(grainy, flat, skin=1.0).grain[0] == 0
    after = add_grain(flat, grainy, everywhere(flat), missing.grain)
    assert 0.5 < luma(after).std() / luma(grainy).std() < 1.2


def test_grain_is_added_on_skin_only_and_only_when_there_is_some() -> None:
    flat, grainy = np.full((64, 64, 3), 120, np.float32), detailed(64, 64)
    skin = np.zeros((64, 64), np.float32)
    skin[:, :32] = 1
    after = add_grain(flat, grainy, skin, (0.8, 0.0))
    assert (after[:, 32:] == flat[:, 32:]).all()
    assert (after[:, :32] != flat[:, :32]).any()
    assert (add_grain(flat, grainy, skin, (0.0, 0.0)) == flat).all()


def test_steps_between_gains_are_steps() -> None:
    old, new = TextureGains((1.0, 0.5), (0.0, 0.2)), TextureGains((0.0, 0.5), (1.0, 0.2))
    assert old.toward(new, 0.0) == old
    assert old.toward(new, 0.25) == TextureGains((0.75, 0.5), (0.25, 0.2))
    more = TextureGains((0.1, 0.2, 0.3), (0.0, 0.0))
    assert old.toward(more, 0.25) == more


def test_luma_weighs_green_most() -> None:
    assert luma(np.eye(3, dtype=np.float32)[None] * 100)[0] == pytest.approx([29.9, 58.7, 11.4], abs=0.1)


@pytest.mark.parametrize("size", [(2, 2), (3, 40), (25, 25)])
def test_tiny_pictures_are_no_fault(size: tuple[int, int]) -> None:
    rgb = detailed(*size)
    found = gains(rgb, rgb)
    assert np.isfinite(equalise(rgb, found.bands)).all()
    assert np.isfinite(equalise(rgb, (0.3,) * len(found.bands))).all()
