from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from secondface.errors import MediaEmpty, MediaTooLarge, MediaUnsupported
from secondface.frames import Box
from secondface.media.limits import Limits
from secondface.media.probe import probe
from secondface.media.read import VideoReader
from tests.unit.media.conftest import MakeClip, moving_picture


def test_frames_carry_the_stamps_of_the_file(make_clip: MakeClip) -> None:
    stamps = [0, 512, 1500, 1501, 9000, 20000]
    with VideoReader(make_clip(stamps=stamps)) as reader:
        frames = list(reader.frames())
        assert [frame.pts for frame in frames] == stamps
        assert [frame.index for frame in frames] == list(range(6))
        assert frames[0].time_base == Fraction(1, 12800)
        assert reader.info.frame_count == 6


def test_reading_twice_starts_again(make_clip: MakeClip) -> None:
    with VideoReader(make_clip()) as reader:
        once = [(frame.pts, frame.read(Box(0, 0, 8, 8)).sum()) for frame in reader.frames()]
        assert [(frame.pts, frame.read(Box(0, 0, 8, 8)).sum()) for frame in reader.frames()] == once


def test_painting_on_frames_never_reaches_the_decoder(make_clip: MakeClip) -> None:
    path = make_clip(options={"crf": "4", "bf": "3", "refs": "4"}, stamps=range(0, 40 * 512, 512))
    with VideoReader(path) as reader:
        clean = [[plane.copy() for plane in frame.planes] for frame in reader.frames()]
    with VideoReader(path) as reader:
        for frame, planes in zip(reader.frames(), clean, strict=True):
            for before, now in zip(planes, frame.planes, strict=True):
                np.testing.assert_array_equal(before, now)
            frame.write(Box(0, 0, frame.width, frame.height), np.full((frame.height, frame.width, 3), 255, np.uint8))


def test_frames_outlive_their_reader(make_clip: MakeClip) -> None:
    with VideoReader(make_clip()) as reader:
        frames = list(reader.frames())
    assert all(frame.read().any() for frame in frames)


@pytest.mark.parametrize(
    "rotation", [(0.0, False, False), (90.0, False, False), (180.0, False, False), (270.0, False, False),
                 (0.0, True, False), (0.0, False, True), (90.0, True, False)],
)  # fmt: skip
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv422p"])
def test_pixels_come_upright(make_clip: MakeClip, rotation: tuple[float, bool, bool], pix_fmt: str) -> None:
    path = make_clip(rotation=rotation, pix_fmt=pix_fmt, options={"crf": "1"})
    stored = moving_picture(0, 160, 96)
    degrees, hflip, vflip = rotation
    # FFmpeg counts a rotation against the clock, and mirrors what is shown
    expected = np.rot90(stored, int(degrees) // 90)
    with VideoReader(path) as reader:
        got = next(iter(reader.frames())).read()
        assert (reader.info.width, reader.info.height) == expected.shape[1::-1]
    shown = [expected[:, ::-1] if hflip else expected[::-1] if vflip else expected]
    if hflip and degrees:
        shown.append(np.rot90(stored[:, ::-1], int(degrees) // 90))
    assert min(np.abs(got.astype(int) - each).mean() for each in shown) < 4


def test_limits_stop_before_decoding(make_clip: MakeClip) -> None:
    path = make_clip()
    with pytest.raises(MediaTooLarge, match="160x96"):
        VideoReader(path, Limits(video_pixels=1000))
    with pytest.raises(MediaTooLarge, match="limit is 0 s"):
        VideoReader(path, Limits(duration_s=Fraction(1, 10)))
    with pytest.raises(MediaTooLarge, match="streams"):
        VideoReader(path, Limits(streams=0))


def test_a_damaged_file_says_where(make_clip: MakeClip, tmp_path: Path) -> None:
    path = make_clip(stamps=range(0, 100 * 512, 512))
    broken = tmp_path / "broken.mp4"
    with av.open(str(path)) as container:
        # garbage in the middle of the coded pictures
        at = sorted(p.pos or 0 for p in container.demux(video=0) if p.size)[50]
    data = bytearray(path.read_bytes())
    data[at : at + 3000] = bytes(3000)
    broken.write_bytes(data)
    with VideoReader(broken) as reader:
        stamps = [frame.pts for frame in reader.frames()]
        assert stamps[:40] == list(range(0, 40 * 512, 512))
        assert len(stamps) < 100
        (note,) = reader.late_notes()
    found = re.search(r"damaged: \d+ packets .* at (\d+\.\d+) s", note)
    assert found is not None, note
    assert 1.6 <= float(found[1]) <= 2


def test_a_picture_is_not_a_video(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(MediaUnsupported, match="a picture"):
        VideoReader(tmp_path / "a.mp4")


def test_a_read_region_equals_swscale_on_flat_colour(make_clip: MakeClip) -> None:
    """An outside opinion on the matrix: FFmpeg's own conversion of the same frame."""
    path = make_clip(pix_fmt="yuv444p", options={"crf": "1"})
    with av.open(str(path)) as container:
        theirs = next(container.decode(video=0)).to_ndarray(format="rgb24", src_colorspace="ITU601")
    with VideoReader(path) as reader:
        ours = next(iter(reader.frames())).read()
    assert np.abs(ours.astype(int) - theirs).max() <= 2


def test_a_film_without_frames_is_empty(make_clip: MakeClip, tmp_path: Path) -> None:
    whole = make_clip("clip.mkv").read_bytes()
    path = tmp_path / "empty.mkv"
    path.write_bytes(whole[: whole.index(b"\x1f\x43\xb6\x75")])  # up to the first cluster
    with pytest.raises(MediaEmpty, match=r"before its first frame|no frame"):
        VideoReader(path)
    with pytest.raises(MediaEmpty):
        probe(path)


@pytest.mark.parametrize(("codec", "frames_between"), [("libx264", "0"), ("libx264", "3"), ("mpeg4", "2")])
def test_an_avi_shows_its_frames_evenly(make_clip: MakeClip, codec: str, frames_between: str) -> None:
    options = {"bf": frames_between, "g": "12", "b_strategy": "0"}
    source = make_clip("clip.avi", codec=codec, stamps=range(30), time_base=Fraction(1, 25), options=options)
    with VideoReader(source) as reader:
        times = [frame.pts * frame.time_base for frame in reader.frames() if frame.pts is not None]
    assert times == [Fraction(index, 25) for index in range(30)]
