"""The restorer on the embedded models: sizes, joints, the auto rule, and what must stay as it is."""

from collections.abc import Mapping
from typing import Self

import cv2
import numpy as np
import pytest

from secondface.errors import Cancelled
from secondface.frames import RGB8, ArrayFrame, Box, Face
from secondface.models.sessions import OrtSessions
from secondface.vision.restore import FaceRestorer, auto_strength, choose_denoise
from secondface.vision.sharpness import sharpness


@pytest.fixture(scope="module")
def restorer() -> FaceRestorer:
    return FaceRestorer(OrtSessions())


def picture(width: int, height: int, soft: float = 0.0) -> RGB8:
    rng = np.random.default_rng(2)
    coarse = rng.integers(30, 220, (max(2, height // 6), max(2, width // 6), 3), dtype=np.uint8)
    rgb = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_NEAREST)
    return np.asarray(cv2.GaussianBlur(rgb, (0, 0), soft) if soft else rgb, np.uint8)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 40), (64, 48), (171, 165)])
def test_enlarging_doubles_any_size_and_keeps_the_picture_in_place(
    restorer: FaceRestorer, width: int, height: int
) -> None:
    rgb = picture(width, height, soft=1.0)
    large = restorer.enlarge2x(rgb)
    assert large.shape == (2 * height, 2 * width, 3)
    back = cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA)
    assert np.abs(back.astype(int) - rgb).mean() < 4


def test_tiles_join_without_a_seam(restorer: FaceRestorer) -> None:
    rgb = picture(200, 40)
    whole = restorer.enlarge2x(rgb)
    left = restorer.enlarge2x(np.ascontiguousarray(rgb[:, :150]))
    # away from its own right border the shorter picture is computed from the same pixels, but in other tiles
    assert np.abs(whole[:, : 2 * 140].astype(int) - left[:, : 2 * 140]).max() <= 1


def test_four_times_is_twice_twice(restorer: FaceRestorer) -> None:
    rgb = picture(20, 16)
    assert np.array_equal(restorer.upscale(rgb, 4), restorer.enlarge2x(restorer.enlarge2x(rgb)))


def test_denoising_quiets_noise_and_level_none_copies(restorer: FaceRestorer) -> None:
    rgb = np.clip(np.random.default_rng(0).normal(128, 12, (48, 48, 3)), 0, 255).astype(np.uint8)
    assert restorer.denoise(rgb, "strong").std() < 0.5 * rgb.std()
    assert np.array_equal(restorer.denoise(rgb, "none"), rgb)


def test_strength_zero_and_crisp_input_change_nothing(restorer: FaceRestorer) -> None:
    soft, crisp = picture(64, 64, soft=1.5), picture(64, 64)
    assert np.array_equal(restorer.restore(soft, 0.0), soft)
    assert np.array_equal(restorer.restore(crisp, 1.0), crisp)


def test_restoring_sharpens_by_strength_and_keeps_colour(restorer: FaceRestorer) -> None:
    soft = picture(96, 96, soft=1.6)
    half, full = restorer.restore(soft, 0.5), restorer.restore(soft, 1.0)
    assert sharpness(soft) < sharpness(half) < sharpness(full)
    assert np.abs(full.mean((0, 1)) - soft.mean((0, 1))).max() < 1.5


def test_a_region_too_small_to_judge_is_left_alone(restorer: FaceRestorer) -> None:
    tiny = picture(9, 30, soft=2.0)
    assert np.array_equal(restorer.restore(tiny, 1.0), tiny)


def oval(x: float, y: float, radius: float) -> Face:
    angle = np.linspace(0, 2 * np.pi, 478)
    points = np.stack([x + radius * np.cos(angle), y + 1.3 * radius * np.sin(angle), 0 * angle], 1)
    return Face(points.astype(np.float32), 1.0)


def test_a_face_is_restored_inside_its_outline_only(restorer: FaceRestorer) -> None:
    rgb = picture(160, 160, soft=1.8)
    frame = ArrayFrame(rgb.copy())
    box = restorer.restore_face(frame, oval(80, 80, 40), 1.0)
    assert box is not None
    changed = (frame.rgb != rgb).any(2)
    assert changed[60:100, 60:100].mean() > 0.5
    assert not changed[box.y0, box.x0 : box.x1].any()
    assert not changed[:, : box.x0].any()


def test_auto_leaves_a_crisp_face_untouched(restorer: FaceRestorer) -> None:
    frame = ArrayFrame(picture(160, 160))
    assert restorer.restore_face(frame, oval(80, 80, 40)) is None


def test_a_face_outside_the_frame_is_nothing_to_do(restorer: FaceRestorer) -> None:
    assert restorer.restore_face(ArrayFrame(picture(64, 64)), oval(-200, 30, 20), 1.0) is None


def test_the_auto_rule_spends_on_soft_stills_and_never_on_video() -> None:
    soft, crisp = picture(128, 128, soft=2.0), picture(128, 128)
    assert auto_strength(soft, is_still=True) > 0.8
    assert auto_strength(crisp, is_still=True) == 0
    assert auto_strength(soft, is_still=False) == 0
    # a soft face in a soft picture stays as soft as its surroundings
    assert auto_strength(soft, is_still=True, reference_sharpness=sharpness(soft)) == 0
    grain = np.random.default_rng(4).normal(0, 6, soft.shape)
    assert auto_strength(np.clip(soft + grain, 0, 255).astype(np.uint8), is_still=True) == 0


def test_a_grainy_source_is_enlarged_without_its_grain(restorer: FaceRestorer) -> None:
    flat = np.clip(np.random.default_rng(0).normal(128, 8, (48, 48, 3)), 0, 255).astype(np.uint8)
    assert restorer.enlarge_source(flat).std() < 0.5 * restorer.enlarge2x(flat).std()
    clean = picture(48, 48, soft=1.0)
    assert np.array_equal(restorer.enlarge_source(clean), restorer.enlarge2x(clean))


def test_noise_and_blocks_choose_their_models() -> None:
    clean = picture(128, 128, soft=1.5)
    grain = np.random.default_rng(4).normal(0, 6, clean.shape)
    assert choose_denoise(clean) == "none"
    assert choose_denoise(np.clip(clean + grain, 0, 255).astype(np.uint8)) == "strong"
    coded = cv2.imdecode(cv2.imencode(".jpg", clean, [cv2.IMWRITE_JPEG_QUALITY, 25])[1], 1)
    assert choose_denoise(np.asarray(coded, np.uint8)) == "light"


def test_the_checkpoint_stops_an_enlargement() -> None:
    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        FaceRestorer(OrtSessions(), checkpoint=stop).enlarge2x(picture(32, 32))


def test_boxes_are_whole_pixels_inside_the_frame(restorer: FaceRestorer) -> None:
    box = restorer.restore_face(ArrayFrame(picture(100, 100, soft=2.0)), oval(90, 90, 30), 1.0)
    assert box is not None
    assert box == box.clip(100, 100)
    assert isinstance(box, Box)


class CountingNet:
    """Enlarges by repeating pixels, and counts how often it is asked."""

    name = "sr2x_photo"

    def __init__(self) -> None:
        self.calls = 0

    def get(self, name: str) -> Self:
        return self

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.calls += 1
        inner = inputs["Input1"][:, :, 7:-7, 7:-7]
        return {"output": inner.repeat(2, 2).repeat(2, 3)}


@pytest.mark.parametrize("side", [1600, 2600])
def test_a_huge_face_costs_no_more_tiles_than_its_detail_needs(side: int) -> None:
    net = CountingNet()
    FaceRestorer(net).restore(picture(side, side, soft=4))
    assert 0 < net.calls <= 25
