"""Frames of more than eight bits: what vision's eight bits cannot say is kept."""

from __future__ import annotations

import numpy as np
import pytest

from secondface.frames import Box
from secondface.media.layouts import layout_of
from secondface.media.planes import PlanarFrame, deep_rgb_frame, deep_rgb_of
from secondface.media.ycbcr import ColourSpace


def deep_noise(height: int = 40, width: int = 60) -> np.ndarray:
    return np.random.default_rng(4).integers(0, 65536, (height, width, 3), dtype=np.uint16)


def ramp10(height: int = 32) -> PlanarFrame:
    """Limited-range 10-bit gray, one code a column."""
    layout = layout_of("yuv420p10le")
    assert layout is not None
    luma = np.repeat(np.arange(200, 712, dtype=np.uint16)[None], height, 0)
    chroma = np.full((height // 2, 256), 512, np.uint16)
    return PlanarFrame([luma, chroma, chroma.copy()], layout, ColourSpace(1))


def test_a_16_bit_picture_reads_as_its_nearest_8_bit_one() -> None:
    deep = deep_noise()
    frame = deep_rgb_frame(deep)
    np.testing.assert_array_equal(frame.read(), ((deep.astype(int) + 128) // 257).astype(np.uint8))
    assert (frame.width, frame.height) == (60, 40)


def test_a_16_bit_picture_keeps_what_is_not_changed_to_the_last_bit() -> None:
    deep = deep_noise()
    frame = deep_rgb_frame(deep.copy())
    frame.fill(frame.read())
    np.testing.assert_array_equal(deep_rgb_of(frame), deep)
    box = Box(10, 5, 30, 25)
    rgb = frame.read(box)
    rgb[8, 9] = (1, 200, 3)
    frame.write(box, rgb)
    after = deep_rgb_of(frame)
    assert np.abs(after[13, 19].astype(int) - np.array([1, 200, 3]) * 257).max() <= 257
    after[13, 19] = deep[13, 19]
    np.testing.assert_array_equal(after, deep)


def test_a_change_is_added_to_the_16_bits() -> None:
    deep = np.linspace(10_000, 50_000, 3 * 64 * 64).astype(np.uint16).reshape(64, 64, 3)
    frame = deep_rgb_frame(deep)
    frame.fill(frame.read() + np.uint8(7))
    np.testing.assert_array_equal(deep_rgb_of(frame), deep + 7 * 257)


def test_the_callers_array_is_not_changed() -> None:
    deep = deep_noise()
    before = deep.copy()
    frame = deep_rgb_frame(deep)
    frame.fill(255 - frame.read())
    np.testing.assert_array_equal(deep, before)


def test_only_16_bit_rgb_is_taken_apart_as_such() -> None:
    with pytest.raises(ValueError, match="yuv420p10le is not"):
        deep_rgb_of(ramp10())


def test_a_10_bit_ramp_made_brighter_has_no_steps_of_8_bits() -> None:
    frame = ramp10()
    before = frame.planes[0].copy()
    rgb = frame.read()
    frame.fill(rgb + np.uint8(9))
    moved = frame.planes[0].astype(int) - before
    assert np.unique(moved).size == 1, "every code moves alike, so the ramp stays as smooth as it was"
    assert moved[0, 0] == round(9 * 219 / 255 * 4)
    assert set(np.unique(frame.planes[1])) == {512}


def test_a_clipped_value_is_kept_by_a_small_change_and_given_up_by_a_large_one() -> None:
    frame = ramp10()
    frame._planes[0][:] = 1000  # superwhite: reads as 255
    assert frame.read().min() == 255
    box = Box(0, 0, 512, 32)
    faint, strong = frame.read(), frame.read()
    faint[:16] -= 2
    strong[16:] = 100
    faint[16:] = strong[16:]
    frame.write(box, faint)
    assert frame.planes[0][0, 0] > 980, "a face's edge must not cut a highlight"
    assert abs(int(frame.planes[0][20, 0]) - round(64 + 100 / 255 * 876)) <= 1
