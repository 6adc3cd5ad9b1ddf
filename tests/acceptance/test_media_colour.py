"""A test chart through real encoders: what a pipeline that changes nothing gives back, in every common colour space."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.stream import VideoStream

from secondface.frames import Box
from secondface.media import transfer
from secondface.media.encoders import VideoOptions
from secondface.media.layouts import PlaneLayout, layout_of
from secondface.media.pictures import picture_of
from secondface.media.planes import PlanarFrame, planes_from_rgb
from secondface.media.primaries import rgb_to_rgb
from secondface.media.read import VideoReader
from secondface.media.write import VideoWriter
from secondface.media.ycbcr import ColourSpace, codes_from_rgb, rgb_from_codes

WIDTH, HEIGHT = 256, 96
SAMPLINGS = ["420", "422", "444"]
SPACES = [ColourSpace(matrix, full, tag, tag) for matrix, tag in ((6, 6), (5, 5), (1, 1), (9, 1))
          for full in (False, True)]  # fmt: skip
"""BT.2020's matrix here with BT.709's primaries, so that only the matrix is looked at."""
HDR = [ColourSpace(9, False, 9, 16), ColourSpace(9, False, 9, 18)]


def chart() -> np.ndarray:
    """Eight bars, gray ramp, and a ramp from blue to red."""
    bars = [
        [255, 255, 255],
        [255, 255, 0],
        [0, 255, 255],
        [0, 255, 0],
        [255, 0, 255],
        [255, 0, 0],
        [0, 0, 255],
        [0] * 3,
    ]
    ramp = np.linspace(0, 255, WIDTH).round()
    rgb = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    rgb[:48] = np.repeat(np.array(bars), WIDTH // 8, 0)
    rgb[48:72] = ramp[None, :, None]
    rgb[72:] = np.stack([ramp, np.full(WIDTH, 128), 255 - ramp], -1)
    return rgb


def away_from_edges() -> np.ndarray:
    """[h,w]: where chroma samples do not straddle two colours."""
    inside = np.ones((HEIGHT, WIDTH), bool)
    for x in range(32, WIDTH, 32):
        inside[:50, x - 3 : x + 3] = False
    for y in (48, 72):
        inside[y - 3 : y + 3] = False
    return inside


def layout(sampling: str, depth: int) -> PlaneLayout:
    found = layout_of(f"yuv{sampling}p" + ("10le" if depth == 10 else ""))
    assert found is not None
    return found


def encoded(path: Path, planes: list[np.ndarray], kept: PlaneLayout, space: ColourSpace, count: int = 2) -> Path:
    """`planes` as a lossless clip with the tags of `space`; x265 forgets to time the B frames of a very short one."""
    name, options = ("libx264", {"qp": "0"}) if kept.depth == 8 else (
        "libx265", {"x265-params": "lossless=1:bframes=0:log-level=none"})  # fmt: skip
    with av.open(path, "w") as output:
        stream = output.add_stream(name, rate=25, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = planes[0].shape[1], planes[0].shape[0], kept.name
        context = stream.codec_context
        context.colorspace, context.color_range = space.matrix, 2 if space.full_range else 1
        context.color_primaries, context.color_trc = space.primaries, space.transfer
        for index in range(count):
            picture = picture_of(planes, kept)
            picture.pts, picture.time_base = index, Fraction(1, 25)
            output.mux(stream.encode(picture))
        output.mux(stream.encode(None))
    return path


def first(path: Path) -> tuple[PlanarFrame, ColourSpace]:
    with VideoReader(path) as reader:
        return next(iter(reader.frames())), reader.picture.space


def difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.abs(one.astype(int) - other.astype(int)).max(2)


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_chart_in_a_file_is_read_and_rewritten_as_it_is(
    tmp_path: Path, space: ColourSpace, sampling: str, depth: int
) -> None:
    kept, rgb = layout(sampling, depth), chart()
    path = encoded(tmp_path / "chart.mkv", planes_from_rgb(rgb, kept, space), kept, space)
    frame, found = first(path)
    assert (found.matrix, found.full_range, found.primaries, found.transfer) == (
        space.matrix, space.full_range, space.primaries, space.transfer,
    )  # fmt: skip
    where = np.ones((HEIGHT, WIDTH), bool) if sampling == "444" else away_from_edges()
    shown = frame.read()
    assert difference(shown, rgb)[where].max() <= 2
    before = [plane.copy() for plane in frame.planes]
    frame.fill(shown)
    for old, new in zip(before, frame.planes, strict=True):
        np.testing.assert_array_equal(old, new)
    again = PlanarFrame(planes_from_rgb(shown, kept, found), kept, found).read()
    assert difference(again, rgb)[where].max() <= 2


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("space", [each for each in SPACES if each.matrix != 5], ids=str)
def test_ffmpeg_shows_the_same_colours(tmp_path: Path, space: ColourSpace, depth: int) -> None:
    kept, rgb = layout("444", depth), chart()
    path = encoded(tmp_path / "chart.mkv", planes_from_rgb(rgb, kept, space), kept, space)
    with av.open(path) as file:
        picture = next(file.decode(video=0))
        other = picture.reformat(
            format="rgb24", src_colorspace={6: 5}.get(space.matrix, space.matrix), dst_colorspace=1,
            src_color_range=2 if space.full_range else 1, dst_color_range=2,
        ).to_ndarray()  # fmt: skip
    assert difference(first(path)[0].read(), other).max() <= 2


@pytest.mark.parametrize("space", [*SPACES, *HDR, ColourSpace(9, False, 9, 14), ColourSpace(1, False, 12, 1)], ids=str)
def test_a_pipeline_that_changes_nothing_keeps_every_code_and_tag(tmp_path: Path, space: ColourSpace) -> None:
    kept = layout("420", 10)
    rng = np.random.default_rng(5)
    smooth = [np.linspace(100, 900, plane.size).reshape(plane.shape) + rng.normal(0, 4, plane.shape)
              for plane in planes_from_rgb(chart(), kept, space)]  # fmt: skip
    source = encoded(tmp_path / "in.mkv", [plane.astype(np.uint16) for plane in smooth], kept, space, count=8)
    target = tmp_path / "out.mkv"
    with VideoReader(source) as reader, VideoWriter(target, reader, VideoOptions(quality=0)) as writer:
        for frame in reader.frames():
            box = Box(32, 16, 160, 80)
            frame.write(box, frame.read(box))
            writer.write(frame)
        writer.close()
    (before, was), (after, found) = first(source), first(target)
    assert found == was
    assert after.layout == before.layout
    for old, new in zip(before.planes, after.planes, strict=True):
        moved = np.abs(old.astype(int) - new)
        assert moved.max() <= 8, "two of 255 levels, after the best that a lossy encoder does"
        assert moved.mean() < 1.5


def hdr_planes(light: np.ndarray, space: ColourSpace) -> tuple[list[np.ndarray], PlaneLayout]:
    """10-bit 4:4:4 planes of light in cd/m2 [h,w,3] (BT.709 primaries), by the standards' own formulas."""
    wide = np.maximum(light @ rgb_to_rgb(1, 9).T, 0)
    if space.transfer == transfer.PQ:
        signal = transfer.pq_signal(wide)
    else:
        luminance = np.maximum((wide / 1000) @ [0.2627, 0.6780, 0.0593], 1e-7)
        signal = transfer.hlg_signal(wide / 1000 * luminance[..., None] ** (1 / 1.2 - 1))
    factors = codes_from_rgb(space, 10).astype(float)
    codes = signal * 255 @ factors[:, :3].T + factors[:, 3]
    return [np.round(codes[:, :, index]).clip(0, 1023).astype(np.uint16) for index in range(3)], layout("444", 10)


def seen(planes: list[np.ndarray], space: ColourSpace) -> np.ndarray:
    """sRGB 0..255 of light up to where the tone curve bends, straight from the codes by the standards' formulas."""
    codes = np.stack(planes, -1).astype(float)
    factors = rgb_from_codes(space, 10).astype(float)
    signal = (codes @ factors[:, :3].T + factors[:, 3]) / 255
    if space.transfer == transfer.PQ:
        wide = transfer.pq_light(signal)
    else:
        scene = transfer.hlg_scene(signal)
        wide = 1000 * scene * np.maximum(scene @ [0.2627, 0.6780, 0.0593], 1e-7)[..., None] ** 0.2
    return transfer.srgb_signal(np.maximum(wide @ rgb_to_rgb(9, 1).T / 203, 0)) * 255


@pytest.mark.parametrize("space", HDR, ids=["PQ", "HLG"])
def test_hdr_looks_like_sdr_and_a_change_leaves_its_highlights_and_fine_steps(
    tmp_path: Path, space: ColourSpace
) -> None:
    rgb = np.clip(chart().astype(int), 0, 200)  # up to where the tone curve bends
    light = transfer.srgb_light(rgb / 255) * 203
    light[60:66, 100:140] = 900.0
    planes, kept = hdr_planes(light, space)
    frame, _ = first(encoded(tmp_path / "hdr.mkv", planes, kept, space))
    shown = frame.read()
    plain = np.ones(shown.shape[:2], bool)
    plain[60:66, 100:140] = False
    expected = seen(planes, space)
    assert np.abs(shown - expected)[plain].max() <= 1
    assert difference(shown, rgb)[48:60].max() <= 1, "gray"
    assert difference(shown, rgb)[plain].max() <= 8, "where 10-bit codes of strong colours are this far apart"
    assert shown[62, 120].min() > 245
    shown[48:72] = np.where(shown[48:72] > 2, shown[48:72] - 2, shown[48:72])
    frame.write(Box(0, 0, WIDTH, HEIGHT), shown)
    after = frame.planes[0].astype(int)
    np.testing.assert_array_equal(after[:48], planes[0][:48])
    ramp = after[50, 20:200]
    assert np.unique(ramp).size >= 0.95 * np.unique(planes[0][50, 20:200]).size, "as many steps as before"
    assert 0 < (planes[0][62, 120] - after[62, 120]) < 40, "a highlight a little lower, not cut to white"


@pytest.mark.parametrize("space", HDR, ids=["PQ", "HLG"])
def test_hdr_becomes_sdr_on_request(tmp_path: Path, space: ColourSpace) -> None:
    rgb = np.clip(chart().astype(int), 0, 200)
    planes, kept = hdr_planes(transfer.srgb_light(rgb / 255) * 203, space)
    source, target = encoded(tmp_path / "hdr.mkv", planes, kept, space), tmp_path / "sdr.mp4"
    with VideoReader(source) as reader, VideoWriter(target, reader, VideoOptions(sdr=True, quality=0)) as writer:
        for frame in reader.frames():
            writer.write(frame)
        writer.close()
    frame, found = first(target)
    assert (found.matrix, found.full_range, found.primaries, found.transfer) == (1, False, 1, 1)
    assert frame.layout.depth == 8
    assert np.abs(frame.read() - seen(planes, space)).max() <= 2
