"""The watermark is found again in what becomes of pictures, moves no level by more than two, and is never imagined."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from secondface.vision.watermark import STILL, VIDEO, Grade, Watermark, WatermarkReader, embed, find, find_all
from secondface.vision.watermark_code import CODED_BITS, coded, decoded
from secondface.vision.watermark_tile import TILE, carriers, tile_of

Grey = npt.NDArray[np.uint8]
IDENTITY = 0x0123_4567_89AB_CDEF


def scenery(width: int = 1024, height: int = 768, seed: int = 3) -> Grey:
    """Soft hills under a sky, with grain: busy and calm places, like a photograph's."""
    random = np.random.default_rng(seed)
    picture = np.zeros((height, width), np.float32)
    for octave in range(2, 8):
        rough = random.standard_normal((2**octave, 2**octave)).astype(np.float32)
        picture += cv2.resize(rough, (width, height), interpolation=cv2.INTER_CUBIC) * np.float32(64 / octave**2)
    picture[height // 2 :] += random.standard_normal((height - height // 2, width)).astype(np.float32) * 4
    return np.clip(picture + 120, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def marked() -> Grey:
    return embed(scenery(), IDENTITY)


def coded_as(suffix: str, setting: int, quality: int) -> Callable[[Grey], Grey]:
    def change(luma: Grey) -> Grey:
        done, content = cv2.imencode(suffix, luma, [setting, quality])
        assert done
        return np.asarray(cv2.imdecode(content, cv2.IMREAD_GRAYSCALE), np.uint8)

    return change


def halved_and_back(luma: Grey) -> Grey:
    height, width = luma.shape
    half = cv2.resize(luma, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(half, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


WHOLE: dict[str, Callable[[Grey], Grey]] = {
    "as it is": lambda luma: luma,
    "JPEG 90": coded_as(".jpg", cv2.IMWRITE_JPEG_QUALITY, 90),
    "JPEG 75": coded_as(".jpg", cv2.IMWRITE_JPEG_QUALITY, 75),
    "JPEG 50": coded_as(".jpg", cv2.IMWRITE_JPEG_QUALITY, 50),
    "WebP 75": coded_as(".webp", cv2.IMWRITE_WEBP_QUALITY, 75),
    "half and back": halved_and_back,
    "half": lambda luma: np.asarray(cv2.resize(luma, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA), np.uint8),
    "brighter": lambda luma: np.clip(luma * 1.1 + 6, 0, 255).astype(np.uint8),
    "twice as large": lambda luma: np.asarray(cv2.resize(luma, None, fx=2, fy=2), np.uint8),
}


@pytest.mark.parametrize("change", WHOLE.values(), ids=WHOLE.keys())
def test_a_whole_picture_is_read_at_once(marked: Grey, change: Callable[[Grey], Grey]) -> None:
    found = find(change(marked), parts=False)
    assert found is not None
    assert (found.identity, found.scale, found.mirrored) == (IDENTITY, 1.0, False)


def test_a_mirrored_picture_is_read_and_said_to_be_one(marked: Grey) -> None:
    found = find(np.ascontiguousarray(marked[:, ::-1]), parts=False)
    assert found is not None
    assert (found.identity, found.mirrored) == (IDENTITY, True)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("left", "top", "share"), [(51, 38, 0.9), (0, 0, 0.9), (97, 70, 0.85), (3, 5, 0.97)])
def test_a_part_is_read_wherever_it_was_cut_out(
    marked: Grey, left: int, top: int, share: float, mirrored: bool
) -> None:  # fmt: skip
    height, width = (round(side * share) for side in marked.shape)
    part = np.ascontiguousarray(marked[top : top + height, left : left + width][:, :: -1 if mirrored else 1])
    found = find(part)
    assert found is not None
    assert (found.identity, found.mirrored) == (IDENTITY, mirrored)
    assert abs(found.scale - share) < 0.01


@pytest.mark.parametrize("size", [(256, 256), (480, 270), (1280, 720), (1920, 1080), (1080, 1920)])
@pytest.mark.parametrize("grade", [STILL, VIDEO, Grade(1.0)])
def test_no_level_moves_by_more_than_two_and_the_picture_stays_as_good(size: tuple[int, int], grade: Grade) -> None:
    plain = scenery(*size)
    moved = embed(plain, IDENTITY, grade).astype(np.int16) - plain
    assert np.abs(moved).max() <= 2
    assert 10 * np.log10(255**2 / np.square(moved, dtype=np.float64).mean()) >= 43


def test_flat_ground_moves_less_than_busy_ground() -> None:
    picture = np.full((600, 800), 120, np.uint8)
    picture[300:] = np.random.default_rng(9).integers(80, 160, (300, 800), np.uint8)
    moved = np.abs(embed(picture, IDENTITY).astype(np.int16) - picture)
    assert 0 < moved[:280].mean() < 0.65
    assert moved[:280].max() == 1
    assert moved[320:].mean() > 2 * moved[:280].mean()


@pytest.mark.parametrize("depth", [10, 12, 16])
def test_deep_planes_are_moved_in_their_own_steps(depth: int) -> None:
    plain = scenery().astype(np.uint16) << np.uint16(depth - 8)
    out = embed(plain, IDENTITY, depth=depth)
    steps = np.abs(out.astype(np.int32) - plain)
    assert steps.max() <= 2 << (depth - 8)
    assert len(np.unique(steps)) > 3, "a step of eight bits would show in a picture that has finer ones"
    assert int(out.max()) < 1 << depth
    found = find(out)
    assert found is not None
    assert found.identity == IDENTITY


def test_the_mark_stays_inside_the_codes() -> None:
    for level in (0, 255):
        out = embed(np.full((256, 256), level, np.uint8), IDENTITY, Grade(1.0)).astype(np.int32)
        assert np.abs(out - level).max() <= 2
    deep = embed(np.full((256, 256), 1023, np.uint16), IDENTITY, Grade(1.0), 10)
    assert 1023 - 8 <= int(deep.min()) < int(deep.max()) == 1023


def test_a_still_place_stays_still_while_another_moves() -> None:
    first = scenery()
    second = first.copy()
    second[100:200, 100:200] = 30
    watermark = Watermark(IDENTITY)
    same = (watermark.mark(first) == watermark.mark(second)) | (first != second)
    assert same[300:].all()
    assert same[:, 300:].all()


def test_all_channels_of_a_picture_move_alike() -> None:
    grey = scenery()
    rgb = np.dstack([grey // 2 + 40, grey // 2 + 60, grey // 3 + 50])
    before = rgb.astype(np.int16)
    Watermark(IDENTITY).mark_all([rgb], grey)
    moved = rgb - before
    assert moved.any()
    assert (moved[:, :, 0] == moved[:, :, 1]).all()
    assert (moved[:, :, 0] == moved[:, :, 2]).all()


def test_a_picture_that_was_marked_before_is_read_twice() -> None:
    other = 0xFEDC_BA98_7654_3210
    found = {each.identity for each in find_all(embed(embed(scenery(), other), IDENTITY))}
    assert found == {IDENTITY, other}


def test_frames_together_say_what_none_of_them_says_alone() -> None:
    reader, alone = WatermarkReader(), list[bool]()
    random = np.random.default_rng(11)
    for seed in range(12):
        luma = embed(scenery(640, 360, seed), IDENTITY, VIDEO).astype(np.float32)
        noisy = np.clip(luma + random.standard_normal(luma.shape).astype(np.float32) * 28, 0, 255).astype(np.uint8)
        alone.append(find(noisy, parts=False) is not None)
        reader.add(noisy)
    assert not all(alone)
    assert [each.identity for each in reader.readings()] == [IDENTITY]


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((400, 600), np.uint8), np.full((400, 600), 255, np.uint8), np.tile(scenery(128, 128), (5, 6)),
        np.tile(np.arange(256, dtype=np.uint8), (300, 3)), np.zeros((1, 1), np.uint8), np.zeros((47, 900), np.uint8),
        np.zeros((64, 6000), np.uint8),
        np.random.default_rng(2).integers(0, 256, (540, 960), dtype=np.uint8),
    ],
    ids=["black", "white", "tiles", "ramp", "a pixel", "a strip", "a long strip", "noise"],
)  # fmt: skip
def test_nothing_is_found_where_nothing_is_and_nothing_breaks(picture: Grey) -> None:
    assert find(picture) is None
    out = embed(picture, IDENTITY)
    assert out.shape == picture.shape
    assert np.abs(out.astype(np.int16) - picture).max() <= 2


def test_unmarked_pictures_are_never_taken_for_marked_ones() -> None:
    reader_hits = [find(scenery(320, 240, seed), parts=False) for seed in range(120)]
    assert reader_hits == [None] * 120


def test_noise_is_never_decoded() -> None:
    random = np.random.default_rng(5)
    heard = random.standard_normal((600, CODED_BITS)).astype(np.float32)
    assert all(decoded(each) is None for each in heard)


@pytest.mark.parametrize("wrong_bytes", [0, 3, 5])
def test_wrong_bytes_are_put_right(wrong_bytes: int) -> None:
    heard = coded(IDENTITY).astype(np.float32) * 2 - 1
    for place in range(wrong_bytes):
        heard[place * 32] *= -1
    assert decoded(heard) == IDENTITY


def test_what_is_unsure_may_be_wrong_more_often() -> None:
    heard = coded(IDENTITY).astype(np.float32) * 2 - 1
    for place in range(8):
        heard[place * 16] *= -0.2
    assert decoded(heard) == IDENTITY


def test_the_patterns_are_what_they_always_were() -> None:
    """Outputs in the world carry them: this must never change."""
    own = carriers()
    assert own.bits.shape == (CODED_BITS, 2 * len(own.places))
    assert np.allclose(own.bits @ own.bits.T, np.eye(CODED_BITS), atol=1e-4)
    assert np.allclose(own.bits @ own.sync, 0, atol=1e-4)
    tile = tile_of(IDENTITY)
    assert tile.shape == (TILE, TILE)
    assert np.allclose(tile[:2, :4].ravel(), CORNER, atol=0.01)


CORNER = [-0.58, 0.37, 0.72, -1.0, -2.28, 0.62, 1.96, 0.15]
"""The first values of a tile that was made when the pattern was fixed."""
