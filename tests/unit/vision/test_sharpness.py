"""Sharpness, noise and blockiness on one scale each, and sharpening that makes no halo."""

import cv2
import numpy as np
import pytest

from secondface.frames import RGB8
from secondface.vision.sharpness import blockiness, match_sharpness, noise_sigma, sharpened, sharpness


def natural(side: int = 256, seed: int = 0) -> RGB8:
    """A picture whose spectrum falls like a photograph's, filled to the pixel grid."""
    rng = np.random.default_rng(seed)
    large = sum(
        cv2.resize(rng.normal(0, 1, (n, n)), (4 * side, 4 * side), interpolation=cv2.INTER_CUBIC) * 0.65**octave
        for octave, n in enumerate((8, 16, 32, 64, 128, 256, 512, 1024))
    )
    grey = cv2.resize(np.asarray(large), (side, side), interpolation=cv2.INTER_AREA)
    calm = np.clip(np.abs(np.linspace(-1.6, 1.6, side)) - 0.4, 0, 1)[:, None]  # photographs have calm parts
    grey = (grey - grey.mean()) / grey.std() * 40 * calm + 128
    return np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def reduced(rgb: RGB8, times: float) -> RGB8:
    side = rgb.shape[0]
    small = cv2.resize(rgb, None, fx=1 / times, fy=1 / times, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (side, side), interpolation=cv2.INTER_CUBIC), np.uint8)


def noisy(rgb: RGB8, sigma: float) -> RGB8:
    grain = np.random.default_rng(9).normal(0, sigma, rgb.shape[:2])[:, :, None]
    return np.clip(rgb + grain, 0, 255).round().astype(np.uint8)


def test_sharpness_falls_with_each_blur() -> None:
    values = [sharpness(reduced(natural(), times)) for times in (1, 1.5, 2, 3, 4)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.8
    assert values[2] == pytest.approx(0.5, abs=0.1)
    assert values[-1] < 0.3


def jpeg(rgb: RGB8, quality: int) -> RGB8:
    data = cv2.imencode(".jpg", rgb, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)


@pytest.mark.parametrize("sigma", [4.0, 8.0])
def test_noise_is_not_taken_for_sharpness(sigma: float) -> None:
    soft = reduced(natural(), 2.5)
    assert sharpness(noisy(soft, sigma)) == pytest.approx(sharpness(soft), abs=0.12)


def test_the_mask_says_what_is_measured() -> None:
    half = natural()
    half[:, 128:] = reduced(natural(), 3)[:, 128:]
    mask = np.zeros(half.shape[:2], np.float32)
    mask[:, 140:] = 1
    assert sharpness(half, mask) < 0.5 < sharpness(half, 1 - mask)


@pytest.mark.parametrize("rgb", [np.full((64, 64, 3), 90, np.uint8), np.zeros((3, 2, 3), np.uint8)])
def test_a_flat_region_has_nothing_to_sharpen(rgb: RGB8) -> None:
    assert sharpness(rgb) == 1.0
    assert noise_sigma(rgb) == pytest.approx(0, abs=1e-3)
    assert blockiness(rgb) == 0.0


@pytest.mark.parametrize("sigma", [2.0, 5.0, 10.0, 20.0])
def test_noise_is_measured_within_a_tenth(sigma: float) -> None:
    assert noise_sigma(noisy(reduced(natural(), 4), sigma)) == pytest.approx(sigma, rel=0.1)


def test_coding_blocks_are_told_from_clean_pixels() -> None:
    clean = reduced(natural(), 1.5)
    assert blockiness(jpeg(clean, 20)[3:, 5:]) > 0.45
    assert blockiness(jpeg(clean, 95)[3:, 5:]) < 0.3
    assert blockiness(clean) < 0.15


@pytest.mark.parametrize("wanted", [0.4, 0.6, 0.8])
def test_a_region_is_brought_to_a_wanted_sharpness_from_both_sides(wanted: float) -> None:
    for start in (natural(), reduced(natural(), 1.8)):
        assert sharpness(match_sharpness(start, wanted)) == pytest.approx(wanted, abs=0.06)


def test_a_region_that_is_right_already_keeps_its_pixels() -> None:
    rgb = natural()
    assert np.array_equal(match_sharpness(rgb, sharpness(rgb)), rgb)


def test_sharpening_an_edge_makes_no_halo_and_no_fringe() -> None:
    edge = np.full((40, 40, 3), (60, 50, 40), np.uint8)
    edge[:, 20:] = (190, 180, 170)
    soft = np.asarray(cv2.GaussianBlur(edge, (0, 0), 1.5), np.uint8)
    crisp = sharpened(soft, 3.0)
    for channel in range(3):
        assert crisp[:, :, channel].min() >= soft[:, :, channel].min() - 1
        assert crisp[:, :, channel].max() <= soft[:, :, channel].max() + 1
    assert np.abs(np.diff(crisp[20, :, 0].astype(int))).max() > np.abs(np.diff(soft[20, :, 0].astype(int))).max()
    assert np.ptp(crisp.astype(int)[:, :, 0] - crisp[:, :, 2]) <= 2
