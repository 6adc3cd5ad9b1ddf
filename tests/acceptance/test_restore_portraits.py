"""The super-resolution models on the synthetic portraits: the figures that their conversion was accepted with."""

import cv2
import numpy as np
import pytest

from secondface.frames import RGB8
from secondface.models.sessions import OrtSessions
from secondface.vision.restore import FaceRestorer, auto_strength, choose_denoise
from secondface.vision.sharpness import sharpness
from tests.sample_media import PORTRAITS, needs_media

FRONTAL = (
    "synth_P001_woman_short_curly_front", "synth_P002_woman_light_curly_front", "synth_P005_man_beard_older_front",
    "synth_P006_woman_slick_medium_dark_front", "synth_P007_man_afro_dark_front", "synth_P009_woman_dark_long_front",
)  # fmt: skip

pytestmark = needs_media


@pytest.fixture(scope="module")
def restorer() -> FaceRestorer:
    return FaceRestorer(OrtSessions(threads=2))


def portrait(name: str, side: int) -> RGB8:
    bgr = cv2.imread(str(PORTRAITS / f"{name}.jpg"), cv2.IMREAD_COLOR)
    assert bgr is not None
    return resized(np.asarray(bgr[:, :, ::-1], np.uint8), side)


def resized(rgb: RGB8, side: int, how: int = cv2.INTER_AREA) -> RGB8:
    return np.asarray(cv2.resize(rgb, (side, side), interpolation=how), np.uint8)


def psnr(one: RGB8, other: RGB8) -> float:
    return float(10 * np.log10(255**2 / np.mean((one.astype(np.float64) - other) ** 2)))


def test_twice_the_size_beats_lanczos_by_a_decibel(restorer: FaceRestorer) -> None:
    gains: list[float] = []
    for name in FRONTAL:
        truth = portrait(name, 256)
        small = resized(truth, 128)
        gains.append(psnr(restorer.enlarge2x(small), truth) - psnr(resized(small, 256, cv2.INTER_LANCZOS4), truth))
    assert min(gains) > 0.5
    assert np.mean(gains) > 0.9, gains


def test_noise_of_ten_levels_is_taken_down_by_six_decibels(restorer: FaceRestorer) -> None:
    gains: list[float] = []
    for name in FRONTAL[:3]:
        clean = portrait(name, 256)
        grain = np.random.default_rng(0).normal(0, 10, clean.shape)
        noisy = np.clip(clean + grain, 0, 255).round().astype(np.uint8)
        assert choose_denoise(noisy) == "strong"
        gains.append(psnr(restorer.denoise(noisy, "strong"), clean) - psnr(noisy, clean))
    assert min(gains) > 4.5
    assert np.mean(gains) > 6, gains


def test_coded_blocks_are_smoothed(restorer: FaceRestorer) -> None:
    clean = portrait(FRONTAL[0], 256)
    data = cv2.imencode(".jpg", clean, [cv2.IMWRITE_JPEG_QUALITY, 30])[1]
    coded = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    assert choose_denoise(coded) == "light"
    assert psnr(restorer.denoise(coded, "light"), clean) > psnr(coded, clean) + 0.5


@pytest.mark.parametrize("name", FRONTAL[:3])
@pytest.mark.parametrize("blur", [0.9, 1.35])
def test_a_blurred_face_becomes_crisper_and_no_less_true(restorer: FaceRestorer, name: str, blur: float) -> None:
    truth = portrait(name, 384)[96:352, 64:320]
    soft = np.asarray(cv2.GaussianBlur(truth, (0, 0), blur), np.uint8)
    strength = auto_strength(soft, is_still=True)
    restored = restorer.restore(soft, strength)
    assert strength == 1.0
    assert sharpness(restored) > 1.3 * sharpness(soft)
    assert psnr(restored, truth) > psnr(soft, truth) - 0.3


@pytest.mark.parametrize("name", FRONTAL)
def test_crisp_faces_are_left_alone(name: str) -> None:
    assert auto_strength(portrait(name, 512)[128:448, 96:416], is_still=True) == 0


def test_sharpness_is_the_same_scale_for_every_face_and_size() -> None:
    for name in FRONTAL:
        for side in (128, 256, 400):
            crisp = portrait(name, side)
            halved = resized(resized(crisp, side // 2), side, cv2.INTER_CUBIC)
            assert sharpness(crisp) > 0.85
            assert 0.42 < sharpness(halved) < 0.62
