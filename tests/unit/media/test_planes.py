from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondface.frames import Box
from secondface.media.layouts import PlaneLayout, layout_of
from secondface.media.pixel_codes import PixelCodes
from secondface.media.planes import PlanarFrame, planes_from_rgb
from secondface.media.ycbcr import ColourSpace

FORMATS = ["yuv420p", "yuv422p", "yuv444p", "yuv440p", "yuv411p", "yuv420p10le", "yuv444p12le", "gbrp", "gbrp10le"]
SPACES = [ColourSpace(matrix, full) for matrix in (1, 6, 9) for full in (False, True)]


def layout(name: str) -> PlaneLayout:
    found = layout_of(name)
    assert found is not None
    return found


BT709 = ColourSpace(1)


def frame_of(rgb: np.ndarray, name: str, space: ColourSpace = BT709) -> PlanarFrame:
    return PlanarFrame(planes_from_rgb(rgb, layout(name), space), layout(name), space)


def chart(width: int = 128, height: int = 96) -> np.ndarray:
    """Eight colour bars over a gray ramp and a smooth ramp of each colour."""
    rgb = np.zeros((height, width, 3), np.uint8)
    bars = np.array([[255, 255, 255], [255, 255, 0], [0, 255, 255], [0, 255, 0],
                     [255, 0, 255], [255, 0, 0], [0, 0, 255], [0, 0, 0]])  # fmt: skip
    rgb[: height // 2] = np.repeat(bars, width // 8, 0)[None]
    ramp = np.linspace(0, 255, width).round()
    rgb[height // 2 : height * 3 // 4] = ramp[None, :, None]
    rgb[height * 3 // 4 :] = np.stack([ramp, np.full(width, 128), 255 - ramp], -1)[None]
    return rgb


def noise(width: int, height: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("name", ["yuv420p", "yuv444p", "yuv420p10le", "gbrp"])
def test_a_chart_comes_back_within_two_levels(name: str, space: ColourSpace) -> None:
    wanted = chart()
    got = frame_of(wanted, name, space).read().astype(int)
    difference = np.abs(got - wanted)
    if layout(name).shift_x:
        # between two bars 4:2:0 has no room for both colours
        edges = np.zeros(difference.shape[:2], bool)
        edges[:50, [x for bar in range(16, 128, 16) for x in range(bar - 2, bar + 2)]] = True
        edges[46:50] = edges[70:74] = True
        difference[edges] = 0
    assert difference.max() <= 2


@pytest.mark.parametrize("name", FORMATS)
def test_writing_what_was_read_changes_no_code(name: str) -> None:
    frame = frame_of(noise(64, 48), name)
    # real planes hold codes that no RGB picture has: above white, below black, colours out of gamut
    rng = np.random.default_rng(2)
    planes = [rng.integers(0, 1 << frame.layout.depth, p.shape).astype(p.dtype) for p in frame.planes]
    frame = PlanarFrame([p.copy() for p in planes], frame.layout, frame.space)
    for box in (Box(0, 0, 64, 48), Box(3, 5, 41, 33), Box(63, 47, 64, 48)):
        frame.write(box, frame.read(box))
    for before, after in zip(planes, frame.planes, strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", FORMATS)
def test_a_region_reads_as_the_same_place_of_the_whole(name: str) -> None:
    frame = frame_of(noise(65, 49), name)
    whole = frame.read()
    for box in (Box(0, 0, 1, 1), Box(7, 3, 40, 29), Box(20, 20, 65, 49), Box(64, 48, 65, 49), Box(0, 10, 65, 11)):
        np.testing.assert_array_equal(frame.read(box), whole[box.y0 : box.y1, box.x0 : box.x1])


@pytest.mark.parametrize("name", FORMATS)
def test_codes_outside_the_written_box_stay_as_they_are(name: str) -> None:
    frame = frame_of(noise(64, 48), name)
    before = [p.copy() for p in frame.planes]
    box = Box(9, 7, 38, 30)
    frame.write(box, np.full((23, 29, 3), (200, 40, 90), np.uint8))
    for index, (old, new) in enumerate(zip(before, frame.planes, strict=True)):
        chroma = frame.layout.family == "yuv" and index in (1, 2)
        sx, sy = (frame.layout.shift_x, frame.layout.shift_y) if chroma else (0, 0)
        outside = np.ones(old.shape, bool)
        outside[box.y0 >> sy : -(-box.y1 >> sy), box.x0 >> sx : -(-box.x1 >> sx)] = False
        np.testing.assert_array_equal(old[outside], new[outside])
    inner = frame.read(Box(16, 12, 32, 24)).astype(int)
    assert np.abs(inner - (200, 40, 90)).max() <= 2


def test_only_changed_pixels_inside_the_box_get_new_codes() -> None:
    frame = frame_of(noise(64, 48), "yuv420p")
    before = [p.copy() for p in frame.planes]
    box = Box(8, 8, 40, 40)
    rgb = frame.read(box)
    rgb[10:12, 14:18] = (255, 0, 0)
    frame.write(box, rgb)
    luma = np.argwhere(before[0] != frame.planes[0])
    assert luma.min(0).tolist() >= [18, 22] and luma.max(0).tolist() <= [19, 25]
    assert np.count_nonzero(before[1] != frame.planes[1]) <= 2


@pytest.mark.parametrize("size", [(641, 361), (1, 1), (2, 3), (5, 2)])
@pytest.mark.parametrize("name", ["yuv420p", "yuv411p", "yuv444p10le"])
def test_odd_sizes(size: tuple[int, int], name: str) -> None:
    width, height = size
    frame = frame_of(np.full((height, width, 3), (90, 150, 210), np.uint8), name)
    assert np.abs(frame.read().astype(int) - (90, 150, 210)).max() <= 2
    box = Box(width - 1, height - 1, width, height)
    frame.write(box, np.full((1, 1, 3), 255, np.uint8))
    assert frame.read(box).min() >= 180  # its chroma may be shared with pixels outside the box


def test_gray_holds_lightness() -> None:
    frame = frame_of(np.full((8, 8, 3), 77, np.uint8), "gray")
    assert np.abs(frame.read().astype(int) - 77).max() <= 1
    frame.write(Box(0, 0, 4, 4), np.full((4, 4, 3), 200, np.uint8))
    assert np.abs(frame.read(Box(0, 0, 4, 4)).astype(int) - 200).max() <= 1


def test_alpha_is_not_touched() -> None:
    found = layout("yuva420p")
    planes = planes_from_rgb(noise(16, 16), found, ColourSpace(1))
    planes[3][:] = np.arange(256).reshape(16, 16)
    frame = PlanarFrame(planes, found, ColourSpace(1))
    frame.write(Box(0, 0, 16, 16), noise(16, 16, 3))
    np.testing.assert_array_equal(frame.planes[3], np.arange(256).reshape(16, 16))


@pytest.mark.parametrize("name", ["yuv420p", "yuv420p10le", "gbrp", "gray"])
@pytest.mark.parametrize("longest", [256, 37])
def test_a_thumbnail_is_the_area_average(name: str, longest: int) -> None:
    x, y = np.meshgrid(np.linspace(20, 230, 1280), np.linspace(20, 230, 720))
    gray = ((x + y) / 2).astype(np.uint8)
    frame = frame_of(np.repeat(gray[:, :, None], 3, 2), name)
    small = frame.thumbnail(longest)
    assert small.shape == (round(720 * longest / 1280), longest, 3)
    edges_x = np.linspace(0, 1280, longest + 1)
    expected = 20 + 210 * (edges_x[:-1] + edges_x[1:]) / 2 / 1280
    assert np.abs(small[small.shape[0] // 2, :, 1] - (expected + 125) / 2).max() <= 3


def test_a_small_frame_is_its_own_thumbnail() -> None:
    frame = frame_of(noise(40, 30), "yuv420p")
    np.testing.assert_array_equal(frame.thumbnail(256), frame.read())


@given(st.data())
@settings(max_examples=60)
def test_any_box_can_be_written_and_read_back(data: st.DataObject) -> None:
    width, height = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    x0, y0 = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    box = Box(x0, y0, data.draw(st.integers(x0 + 1, width)), data.draw(st.integers(y0 + 1, height)))
    frame = frame_of(noise(width, height), data.draw(st.sampled_from(FORMATS)))
    before = frame.read()
    colour = np.array(data.draw(st.tuples(*[st.integers(0, 255)] * 3)), np.uint8)
    frame.write(box, np.broadcast_to(colour, (box.height, box.width, 3)).copy())
    after = frame.read()
    far = np.ones((height, width), bool)
    far[max(0, y0 - 8) : box.y1 + 8, max(0, x0 - 8) : box.x1 + 8] = False
    np.testing.assert_array_equal(before[far], after[far])


@pytest.mark.parametrize("box", [Box(0, 0, 0, 4), Box(-1, 0, 4, 4), Box(0, 0, 17, 4)])
def test_a_box_outside_the_frame_is_refused(box: Box) -> None:
    with pytest.raises(ValueError, match="not inside"):
        frame_of(noise(16, 16), "yuv420p").read(box)


@pytest.mark.parametrize("name", ["yuv420p", "yuv420p10le"])
def test_only_the_cells_of_a_region_are_converted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = frame_of(noise(640, 360), name)
    converted: list[int] = []
    convert = PixelCodes.rgb

    def counted(self: PixelCodes, parts: Sequence[np.ndarray], chroma_gain: int = 1) -> np.ndarray:
        converted.append(parts[0].size)
        return convert(self, parts, chroma_gain)

    monkeypatch.setattr(PixelCodes, "rgb", counted)
    box = Box(101, 51, 301, 251)
    frame.write(box, 255 - frame.read(box))
    assert sum(converted) <= 2 * 204 * 204, "once to read, once to see what changes"


def grey_art(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """A plate with a bright bar on it, in its own margin that changes nothing."""
    keep, add = np.full((height, width), 255, np.uint8), np.zeros((height, width), np.uint8)
    keep[4:-4, 4:-4] = 97
    keep[10:-10, 10:-10], add[10:-10, 10:-10] = 0, 250
    return keep, add


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("name", ["yuv420p", "yuv422p", "yuv444p", "yuv440p"])
def test_what_is_laid_over_planes_looks_as_if_it_was_laid_over_rgb(name: str, space: ColourSpace) -> None:
    frame = frame_of(chart(), name, space)
    box = Box(0, 40, 64, 90)
    keep, add = grey_art(box.width, box.height)
    before = frame.read()
    wanted = before.astype(float)
    region = wanted[box.y0 : box.y1, box.x0 : box.x1]
    region[:] = region * (keep[:, :, None] / 255) + add[:, :, None]
    old_luma = frame.luma.copy()
    assert frame.overlay(box, keep, add)
    difference = np.abs(frame.read() - wanted)
    # of each edge the chroma sample that lies across it, and the bars of the chart, which 4:2:0 cannot hold apart
    inner = np.s_[44 + 8 : 90 - 12, 12:52]
    assert difference[inner].max() <= 3
    assert np.array_equal(frame.luma[:44], old_luma[:44])  # the art's own margin changes nothing


@pytest.mark.parametrize(("name", "box"), [("yuv420p10le", Box(0, 0, 32, 32)), ("gbrp", Box(0, 0, 32, 32)),
                                           ("yuv420p", Box(1, 0, 33, 32)), ("yuv420p", Box(0, 2, 32, 33))])  # fmt: skip
def test_what_planes_cannot_be_overlaid_with_is_left_to_rgb(name: str, box: Box) -> None:
    frame = frame_of(chart(), name)
    before = [plane.copy() for plane in frame.planes]
    assert not frame.overlay(box, *grey_art(box.width, box.height))
    assert all(np.array_equal(one, other) for one, other in zip(frame.planes, before, strict=True))
