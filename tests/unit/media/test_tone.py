from __future__ import annotations

import numpy as np
import pytest

from secondface.media import transfer
from secondface.media.planes import deep_rgb_frame
from secondface.media.primaries import luma_weights, rgb_to_rgb
from secondface.media.still_frames import DeepFrame
from secondface.media.tone import WHITE, compressed, display_map, expanded
from secondface.media.ycbcr import ColourSpace

PQ = ColourSpace(9, primaries=9, transfer=16)
HLG = ColourSpace(9, primaries=9, transfer=18)
MAPPED = [PQ, HLG, ColourSpace(1, primaries=12, transfer=1), ColourSpace(9, primaries=9, transfer=14),
          ColourSpace(1, primaries=1, transfer=8), ColourSpace(1, primaries=11, transfer=1)]  # fmt: skip


def every_kind_of_rgb() -> np.ndarray:
    steps = np.arange(0, 256, 15)
    cube = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(-1, 3)
    gray = np.repeat(np.arange(256)[:, None], 3, 1)
    return np.concatenate([cube, gray]).astype(np.uint8)[None]


def gray_words(signal: float) -> np.ndarray:
    return np.full((1, 1, 3), round(signal * 65535), np.uint16)


@pytest.mark.parametrize("space", MAPPED, ids=str)
def test_a_picture_turned_into_the_signal_is_shown_as_itself(space: ColourSpace) -> None:
    found, rgb = display_map(space), every_kind_of_rgb()
    assert found is not None
    words = np.round(found.signal(rgb) * 257).astype(np.uint16)
    np.testing.assert_array_equal(found.shown(words), rgb)


@pytest.mark.parametrize("space", [ColourSpace(1, primaries=1, transfer=1), ColourSpace(6, primaries=6, transfer=6),
                                   ColourSpace(6, primaries=5, transfer=5), ColourSpace(1)], ids=str)  # fmt: skip
def test_ordinary_video_is_shown_as_it_is(space: ColourSpace) -> None:
    assert display_map(space) is None


def test_pq_has_the_values_of_the_standard() -> None:
    # ST 2084: 100 cd/m2 is 0.5081, 1000 is 0.7518 (BT.2408 table 1 gives 203 as 58 %)
    for light, signal in ((100.0, 0.5081), (203.0, 0.5807), (1000.0, 0.7518), (10_000.0, 1.0)):
        assert transfer.pq_signal(np.array(light)) == pytest.approx(signal, abs=2e-4)
        assert transfer.pq_light(np.array(signal)) == pytest.approx(light, rel=2e-3)


def test_hlg_has_the_values_of_the_standard() -> None:
    # BT.2100: the two parts meet at 1/12, and 1 is the peak; BT.2408: diffuse white is at 75 %
    for scene, signal in ((0.0, 0.0), (1 / 12, 0.5), (1.0, 1.0)):
        assert transfer.hlg_signal(np.array(scene)) == pytest.approx(signal, abs=1e-6)
        assert transfer.hlg_scene(np.array(signal)) == pytest.approx(scene, abs=1e-6)
    assert 1000 * transfer.hlg_scene(np.array(0.75)) ** 1.2 == pytest.approx(203, rel=0.01)


def test_diffuse_white_and_skin_look_the_same_by_pq_and_by_hlg() -> None:
    pq, hlg = display_map(PQ), display_map(HLG)
    assert pq is not None
    assert hlg is not None
    for light, expected in ((WHITE * 0.2, 124), (WHITE * 0.5, 188), (WHITE, 231)):
        by_pq = pq.shown(gray_words(float(transfer.pq_signal(np.array(light)))))
        scene = (light / 1000) ** (1 / 1.2)
        by_hlg = hlg.shown(gray_words(float(transfer.hlg_signal(np.array(scene)))))
        assert np.abs(by_pq.astype(int) - expected).max() <= 1
        assert np.abs(by_hlg.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("space", [PQ, HLG], ids=str)
def test_more_light_is_never_shown_darker(space: ColourSpace) -> None:
    found = display_map(space)
    assert found is not None
    words = np.repeat(np.arange(0, 65536, 16, dtype=np.uint16)[None, :, None], 3, 2)
    for shown in (found.shown(words), found.shown_deep(words)):
        assert (np.diff(shown.astype(int), axis=1) >= 0).all()
        assert np.ptp(shown, axis=2).max() <= shown.max() // 255, "gray stays gray"


def test_highlights_above_1000_keep_their_shape_in_sdr() -> None:
    found = display_map(PQ)
    assert found is not None
    bright = [found.shown_deep(gray_words(float(transfer.pq_signal(np.array(nits)))))[0, 0, 0]
              for nits in (1000.0, 2000.0, 4000.0, 10_000.0)]  # fmt: skip
    assert np.all(np.diff(np.array(bright, int)) > 100)
    assert bright[-1] == 65535


def test_white_that_is_painted_is_not_the_brightest_light_of_pq() -> None:
    found = display_map(PQ)
    assert found is not None
    signal = found.signal(np.full((1, 1, 3), 255, np.uint8)) / 255
    np.testing.assert_allclose(transfer.pq_light(signal.astype(float)), 1000, rtol=0.01)


def test_the_tone_curve_goes_both_ways() -> None:
    light = np.linspace(0, 5, 1001)
    np.testing.assert_allclose(expanded(compressed(light, 5.0), 5.0), light, atol=1e-9)
    assert compressed(np.array(5.0), 5.0) == pytest.approx(1.0)
    np.testing.assert_array_equal(compressed(light[light <= 0.6], 5.0), light[light <= 0.6])


def test_gamuts_agree_with_the_recommendations() -> None:
    # BT.2087: the matrix from BT.709 to BT.2020
    expected = [[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]]
    np.testing.assert_allclose(rgb_to_rgb(1, 9), expected, atol=5e-5)
    for source in (4, 8, 9, 11, 12):
        np.testing.assert_allclose(rgb_to_rgb(source, 1) @ np.ones(3), 1, atol=1e-9)
    np.testing.assert_allclose(luma_weights(1), (0.2126, 0.0722), atol=1e-4)
    np.testing.assert_allclose(luma_weights(9), (0.2627, 0.0593), atol=1e-4)


@pytest.mark.parametrize("code", [transfer.PQ, transfer.HLG])
def test_a_label_in_hdr_is_as_bright_as_paper(code: int) -> None:
    space = ColourSpace(9, False, 9, code)
    look = display_map(space)
    assert look is not None
    white = np.full((1, 1, 3), look.white, np.uint8)
    signal = look.signal(white).astype(np.float64).mean(keepdims=True) / 255
    light = transfer.pq_light(signal) if code == transfer.PQ else 1000 * transfer.hlg_scene(signal) ** 1.2
    assert light.item() == pytest.approx(WHITE, rel=0.04)  # a step of eight bits


def test_a_label_in_sdr_is_white() -> None:
    look = display_map(ColourSpace(9, primaries=9, transfer=14))
    assert look is not None
    assert look.white == 255


def test_frames_say_how_bright_a_label_may_be() -> None:
    words = np.zeros((4, 4, 3), np.uint16)
    assert [DeepFrame(words, look).graphics_white for look in (None, display_map(PQ), display_map(HLG))] == [
        255, 231, 231,
    ]  # fmt: skip
    assert deep_rgb_frame(words, ColourSpace(0, True, 9, transfer.PQ)).graphics_white == 231
