"""Transforms against algebra, resampling against a brute-force supersampled reference."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.frames import ArrayFrame, Box
from secondface.vision.align import (
    apply,
    crop_frame,
    crop_rgb,
    fit_similarity,
    invert,
    resample,
    scale_of,
    square_to_frame,
)
from secondface.vision.frame_levels import FrameLevels, crop_level


def textured(height: int, width: int) -> np.ndarray:
    """Detail at all scales, up to the finest."""
    rng = np.random.default_rng(5)
    out = np.zeros((height, width, 3))
    for step in (1, 2, 5, 16):
        part = rng.normal(0, 22, (height // step + 2, width // step + 2, 3))
        out += cv2.resize(part, (width, height), interpolation=cv2.INTER_LINEAR)
    return (out + 128).clip(0, 255).astype(np.uint8)


def reference(rgb: np.ndarray, to_input: np.ndarray, size: tuple[int, int], grid: int = 10) -> np.ndarray:
    """The mean of `grid` squared bilinear samples spread over each output pixel."""
    width, height = size
    offsets = (np.arange(grid) + 0.5) / grid
    xs, ys = (np.arange(width)[:, None] + offsets).ravel(), (np.arange(height)[:, None] + offsets).ravel()
    x, y = np.meshgrid(xs, ys)
    u = to_input[0, 0] * x + to_input[0, 1] * y + to_input[0, 2] - 0.5
    v = to_input[1, 0] * x + to_input[1, 1] * y + to_input[1, 2] - 0.5
    fine = cv2.remap(
        rgb.astype(np.float32), u.astype(np.float32), v.astype(np.float32), cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )  # fmt: skip
    return fine.reshape(height, grid, width, grid, 3).mean((1, 3))


@given(
    st.floats(0.05, 20), st.floats(-3.1, 3.1), st.floats(-500, 500), st.floats(-500, 500), st.integers(2, 3)
)  # fmt: skip
def test_fit_finds_the_similarity_that_made_the_points(scale: float, angle: float, x: float, y: float, dimensions: int):
    points = np.random.default_rng(2).normal(0, 10, (12, dimensions))
    turn = np.eye(dimensions)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    shift = np.array([x, y, 3.0])[:dimensions]
    moved = scale * points @ turn.T + shift
    fit = fit_similarity(points, moved)
    np.testing.assert_allclose(fit[:, :-1], scale * turn, atol=1e-6 * max(1, scale))
    np.testing.assert_allclose(fit[:, -1], shift, atol=1e-5 * max(1, scale))


def test_fit_never_mirrors():
    points = np.array([[0, 0], [1, 0], [0, 1.0]])
    assert np.linalg.det(fit_similarity(points, points * [-1, 1])[:, :2]) > 0


def test_fit_is_the_least_squares_one():
    rng = np.random.default_rng(4)
    a, b = rng.normal(0, 1, (8, 2)), rng.normal(0, 1, (8, 2))
    fit = fit_similarity(a, b)
    best = ((apply(fit, a) - b) ** 2).sum()
    for _ in range(200):
        other = fit + rng.normal(0, 0.02, fit.shape)
        other[1, :2] = -other[0, 1], other[0, 0]
        assert ((apply(other, a) - b) ** 2).sum() >= best - 1e-12


@given(st.floats(1, 1000), st.floats(-3, 3), st.floats(-100, 100))
def test_invert_undoes(side: float, angle: float, x: float):
    transform = square_to_frame(np.array([x, 2 * x]), side, angle, 192)
    points = np.array([[0, 0], [192, 0], [5.5, 7]], float)
    np.testing.assert_allclose(apply(invert(transform), apply(transform, points)), points, atol=1e-6)
    np.testing.assert_allclose(apply(transform, np.array([[96.0, 96.0]]))[0], [x, 2 * x], atol=1e-6)
    assert scale_of(transform) == pytest.approx(side / 192)


@pytest.mark.parametrize("angle", [0.0, 0.4, -1.3, 2.8])
@pytest.mark.parametrize("scale", [1.0, 1.3, 1.7, 2.4, 3.1, 5.5, 9.0])
def test_a_shrunk_crop_is_the_mean_over_each_pixels_footprint(scale: float, angle: float):
    rgb = textured(720, 900)
    to_frame = square_to_frame(np.array([431.3, 352.7]), 72 * scale, angle, 72)
    crop = crop_rgb(rgb, to_frame, (72, 72)).astype(float)
    expected = reference(rgb, to_frame, (72, 72))
    naive = cv2.warpAffine(
        rgb, _half_pixel(to_frame), (72, 72), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    ).astype(float)  # fmt: skip
    error = np.sqrt(((crop - expected) ** 2).mean())
    assert error < 5.0
    if scale > 1.5:
        assert error < 0.35 * np.sqrt(((naive - expected) ** 2).mean())


def _half_pixel(transform: np.ndarray) -> np.ndarray:
    shifted = transform.copy()
    shifted[:, 2] += shifted[:, :2] @ [0.5, 0.5] - 0.5
    return shifted


def test_a_crop_without_scale_or_turn_is_exact():
    rgb = textured(60, 80)
    to_frame = np.array([[1.0, 0, 11], [0, 1, 7]])
    np.testing.assert_array_equal(crop_rgb(rgb, to_frame, (40, 30)), rgb[7:37, 11:51])


def test_flat_colours_stay_flat_beyond_the_edge():
    rgb = np.full((50, 70, 3), (10, 200, 90), np.uint8)
    to_frame = square_to_frame(np.array([0.0, 0.0]), 130, 0.7, 64)
    assert (crop_rgb(rgb, to_frame, (64, 64)) == (10, 200, 90)).all()
    assert (resample(rgb, to_frame, (64, 64), outside=0.0)[0, 0] == 0).all()


def test_crop_frame_reads_only_what_it_needs_and_sees_the_same():
    rgb = textured(400, 500)
    boxes: list[Box] = []

    class Watched(ArrayFrame):
        def read(self, box: Box | None = None) -> np.ndarray:
            assert box is not None
            boxes.append(box)
            return super().read(box)

    to_frame = square_to_frame(np.array([300.0, 200.0]), 90, 0.3, 60)
    crop = crop_frame(Watched(rgb), to_frame, (60, 60))
    assert crop is not None
    np.testing.assert_allclose(crop, crop_rgb(rgb, to_frame, (60, 60)), atol=1)
    assert boxes[0].area < 140 * 140
    assert crop_frame(Watched(rgb), square_to_frame(np.array([-500.0, 0.0]), 90, 0, 60), (60, 60)) is None


@pytest.mark.parametrize("side", [90, 200, 390])
def test_a_crop_from_a_level_is_the_same_picture(side: int):
    rgb = textured(480, 642)
    to_frame = square_to_frame(np.array([300.0, 230.0]), side, 0.2, 96)
    crop = crop_level(FrameLevels(ArrayFrame(rgb)), to_frame, 96)
    assert crop is not None
    error = crop.astype(float) - reference(rgb, to_frame, (96, 96))
    assert np.sqrt((error**2).mean()) < 7
    assert abs(error.mean()) < 0.3
