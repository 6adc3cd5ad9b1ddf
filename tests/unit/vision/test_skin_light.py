"""Light on skin: what is flat stays flat, what is not skin says nothing, and brightness carries through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondface.vision.skin_light import body_share, light_field, skin_likelihood

SKIN = (190.0, 140.0, 112.0)


def flat(height: int = 96, width: int = 80, colour: tuple[float, float, float] = SKIN) -> np.ndarray:
    return np.broadcast_to(np.array(colour, np.float32), (height, width, 3)).copy()


def everywhere(rgb: np.ndarray) -> np.ndarray:
    return np.ones(rgb.shape[:2], np.float32)


@given(
    height=st.integers(8, 140), width=st.integers(8, 140), reach=st.floats(2, 40),
    colour=st.tuples(*[st.floats(0, 255)] * 3),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_a_constant_picture_has_constant_light(
    height: int, width: int, reach: float, colour: tuple[float, float, float]
) -> None:
    rgb = flat(height, width, colour)
    assert light_field(rgb, everywhere(rgb), reach) == pytest.approx(rgb, abs=0.5)


def test_light_is_carried_over_what_is_not_skin() -> None:
    rgb, skin = flat(), everywhere(flat())
    rgb[30:60, 20:70] = (10, 20, 200)
    skin[26:64, 16:74] = 0
    assert light_field(rgb, skin, 12) == pytest.approx(flat(), abs=1.5)


def test_a_little_skin_far_away_lights_everything() -> None:
    rgb, skin = flat() * 0, np.zeros((96, 80), np.float32)
    rgb[:8, :8], skin[:8, :8] = SKIN, 1
    assert light_field(rgb, skin, 6)[-8:, -8:] == pytest.approx(flat()[-8:, -8:], abs=15)


def test_without_any_skin_there_is_no_light_and_no_fault() -> None:
    assert np.isfinite(light_field(flat(), np.zeros((96, 80), np.float32), 12)).all()


@given(factor=st.floats(0.1, 1.3))
@settings(max_examples=15, deadline=None)
def test_twice_the_brightness_is_twice_the_light(factor: float) -> None:
    rgb = np.random.default_rng(2).uniform(40, 190, (64, 64, 3)).astype(np.float32)
    skin = everywhere(rgb)
    assert light_field(rgb * np.float32(factor), skin, 9) == pytest.approx(light_field(rgb, skin, 9) * factor, rel=1e-3)


def test_a_slope_of_light_is_followed_in_the_middle() -> None:
    rgb = flat(120, 120) * np.linspace(0.7, 1.2, 120, dtype=np.float32)[None, :, None]
    found = light_field(rgb, everywhere(rgb), 8)
    assert found[40:80, 40:80] == pytest.approx(rgb[40:80, 40:80], rel=0.03)


def test_skin_is_likely_and_cloth_and_hair_are_not() -> None:
    rgb = flat() + np.random.default_rng(1).normal(0, 4, (96, 80, 3)).astype(np.float32)
    rgb[70:] = (40, 60, 190)
    rgb[:12] = (25, 22, 20)
    core = np.zeros((96, 80), np.float32)
    core[30:60, 20:60] = 1
    likely = skin_likelihood(rgb, core)
    assert likely[20:65].min() > 0.7
    assert max(likely[72:].max(), likely[:10].max()) < 0.1
    assert likely.dtype == np.float32


def test_the_light_that_is_known_excuses_shade() -> None:
    light = flat() * np.linspace(0.35, 1.1, 80, dtype=np.float32)[None, :, None]
    core = np.zeros((96, 80), np.float32)
    core[:, 50:70] = 1
    assert skin_likelihood(light, core)[:, :8].max() < 0.55
    assert skin_likelihood(light, core, light).min() > 0.9


def test_without_a_core_everything_may_be_skin() -> None:
    assert (skin_likelihood(flat(), np.zeros((96, 80), np.float32)) == 1).all()


def test_exposure_does_not_matter() -> None:
    rgb = np.random.default_rng(4).uniform(60, 180, (64, 64, 3)).astype(np.float32)
    core = np.zeros((64, 64), np.float32)
    core[20:40, 20:40] = 1
    bright, dark = skin_likelihood(rgb, core), skin_likelihood(rgb * np.float32(0.5), core)
    assert np.abs(bright - dark).mean() < 0.03


@pytest.mark.parametrize("skin", [SKIN, (230.0, 190.0, 170.0), (96.0, 62.0, 46.0)])
def test_skin_that_shines_is_skin_and_white_paint_is_not(skin: tuple[float, float, float]) -> None:
    rgb = flat(colour=skin) + np.random.default_rng(1).normal(0, 3, (96, 80, 3)).astype(np.float32)
    rgb[:20] += min(60.0, 248 - max(skin) - 12)
    rgb[20:40] *= min(1.25, 240 / max(skin))
    rgb[76:] = 240
    core = np.zeros((96, 80), np.float32)
    core[42:74] = 1
    likely = skin_likelihood(rgb, core, flat(colour=skin))
    assert likely[:40].mean() > 0.9
    assert likely[76:].mean() < 0.1
    held = body_share(rgb.reshape(-1, 3).T, flat(colour=skin).reshape(-1, 3).T).reshape(96, 80)
    assert held[:40].min() > 0.9
    assert held[76:].max() < 0.1


def test_the_colour_of_grey_or_burnt_out_skin_is_not_missed() -> None:
    grey, white = np.full((3, 4), 120.0, np.float32), np.full((3, 4), 255.0, np.float32)
    assert body_share(white * 0.8, grey).min() == 1
    assert body_share(white, np.array([SKIN] * 4, np.float32).T).min() == 1
