"""Colour correction: exactly nothing when neutral, gentle at the ends, steady in video, and undone casts."""

import numpy as np
import pytest

from secondface.frames import RGB8, ArrayFrame, Box
from secondface.vision.colour import ColourCorrector, ColourLook, apply_look, measure_look


def scene(seed: int = 3) -> RGB8:
    """A grey and coloured test picture with a full range of light."""
    rng = np.random.default_rng(seed)
    grey = np.linspace(20, 235, 160)[None, :, None] * np.ones((80, 1, 3))
    grey[20:40, 40:80] *= (1.0, 0.7, 0.5)
    return np.clip(grey + rng.normal(0, 3, grey.shape), 0, 255).astype(np.uint8)


def test_a_neutral_look_is_bit_exact_and_writes_nothing() -> None:
    rgb = scene()
    assert np.array_equal(apply_look(rgb, ColourLook()), rgb)
    assert ColourCorrector().correct(ArrayFrame(rgb.copy())) is None


@pytest.mark.parametrize("exposure", [-3.0, -1.0, 0.5, 1.0, 3.0])
def test_exposure_never_reverses_or_wraps_levels(exposure: float) -> None:
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    out = apply_look(ramp, ColourLook(exposure=exposure))[0, :, 0].astype(int)
    assert (np.diff(out) >= 0).all()
    assert out[0] == 0
    if exposure > 0:
        assert out[255] == 255
        assert (out >= np.arange(256)).all()


def test_one_stop_doubles_the_light_of_middle_grey() -> None:
    grey = np.full((1, 1, 3), 118, np.uint8)  # 18 % of the light
    assert apply_look(grey, ColourLook(exposure=1))[0, 0, 0] == pytest.approx(162, abs=1)  # 36 %


@pytest.mark.parametrize("contrast", [-1.0, -0.4, 0.4, 1.0])
def test_contrast_keeps_black_grey_and_white(contrast: float) -> None:
    levels = np.array([[[0] * 3, [64] * 3, [127] * 3, [192] * 3, [255] * 3]], np.uint8)
    black, dark, grey, light, white = apply_look(levels, ColourLook(contrast=contrast))[0, :, 0].astype(int)
    assert (black, white) == (0, 255)
    assert abs(grey - 127) <= 1
    assert (dark < 64 and light > 192) == (contrast > 0)


def test_saturation_runs_from_grey_to_vivid_and_keeps_greys() -> None:
    rgb = np.array([[[200, 100, 50], [90, 90, 90]]], np.uint8)
    grey, vivid = (apply_look(rgb, ColourLook(saturation=amount)).astype(int) for amount in (-1.0, 0.5))
    assert np.ptp(grey[0, 0]) <= 1
    assert np.ptp(vivid[0, 0]) > 150
    assert np.abs(vivid[0, 1] - 90).max() <= 1


@pytest.mark.parametrize("temperature", [-0.6, 0.6])
def test_warm_and_cool_move_red_against_blue_at_equal_luminance(temperature: float) -> None:
    red, green, blue = apply_look(np.full((1, 1, 3), 120, np.uint8), ColourLook(temperature=temperature))[0, 0] / 255
    assert (red > blue) == (temperature > 0)
    linear = ((np.array([red, green, blue]) + 0.055) / 1.055) ** 2.4
    assert linear @ [0.2126, 0.7152, 0.0722] == pytest.approx(((120 / 255 + 0.055) / 1.055) ** 2.4, rel=0.02)


@pytest.mark.parametrize("cast", [ColourLook(temperature=0.6), ColourLook(temperature=-0.6), ColourLook(tint=0.4)])
def test_the_measured_look_takes_back_part_of_a_cast(cast: ColourLook) -> None:
    before = apply_look(scene(), cast).astype(int)
    look = measure_look(before.astype(np.uint8))
    after = apply_look(before.astype(np.uint8), look).astype(int)
    grey = np.s_[50:, 40:120]

    def spread(rgb: np.ndarray) -> float:
        return float(np.ptp(rgb[grey].mean((0, 1))))

    assert spread(after) < 0.75 * spread(before)


def test_ordinary_pictures_keep_their_exposure_and_night_stays_dark() -> None:
    assert measure_look(scene()).exposure == 0
    night = (scene() * 0.12).astype(np.uint8)
    assert 0 < measure_look(night).exposure <= 1.2


@pytest.mark.parametrize("picture", [np.zeros((9, 9, 3)), np.full((9, 9, 3), 255), np.full((9, 9, 3), (255, 0, 0))])
def test_pictures_without_grey_are_taken_as_they_are(picture: np.ndarray) -> None:
    assert measure_look(picture.astype(np.uint8)).neutral


def test_auto_follows_slowly_within_a_scene_and_starts_anew_at_a_cut() -> None:
    corrector = ColourCorrector(auto=True)
    warm, cool = (apply_look(scene(), ColourLook(temperature=t)) for t in (0.5, -0.5))
    first = corrector.look_for(ArrayFrame(warm), scene=0)
    second = corrector.look_for(ArrayFrame(cool), scene=0)
    full = measure_look(cool)
    assert abs(second.temperature - first.temperature) < 0.1 * abs(full.temperature - first.temperature)
    assert corrector.look_for(ArrayFrame(cool), scene=1) == full


def test_only_the_asked_region_changes() -> None:
    rgb = scene()
    frame = ArrayFrame(rgb.copy())
    box = Box(10, 10, 50, 40)
    assert ColourCorrector(ColourLook(exposure=1)).correct(frame, box=box) == box
    changed = (frame.rgb != rgb).any(2)
    assert changed[10:40, 10:50].any()
    changed[10:40, 10:50] = False
    assert not changed.any()
