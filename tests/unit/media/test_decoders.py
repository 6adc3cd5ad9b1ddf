from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from av.codec.hwaccel import hwdevices_available

from secondface.errors import CodecUnavailable, InvalidOption
from secondface.media import decoders
from secondface.media.read import VideoReader
from tests.unit.media.conftest import MakeClip


def pixels(path: Path, decoder: str | None = None, begin: Fraction | None = None) -> list[np.ndarray]:
    with VideoReader(path, decoder=decoder, begin=begin) as reader:
        return [frame.read() for frame in reader.frames()]


def test_a_decoder_by_name_reads_the_same(make_clip: MakeClip) -> None:
    source = make_clip(rotation=(90.0, False, False))
    own, named = pixels(source), pixels(source, "h264")
    assert named[0].shape == (160, 96, 3)
    for one, other in zip(own, named, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_decoder_of_another_codec_is_refused(make_clip: MakeClip) -> None:
    with pytest.raises(InvalidOption, match="it reads hevc, and the video is h264"):
        VideoReader(make_clip(), decoder="hevc")
    with pytest.raises(InvalidOption, match="FFmpeg has none of that name"):
        VideoReader(make_clip(), decoder="h264_by_hand")


@pytest.mark.parametrize("decoder", ["h264_cuvid", "cuda"])
def test_a_decoder_that_is_not_here_is_said_with_the_remedy(make_clip: MakeClip, decoder: str) -> None:
    source = make_clip()
    try:
        VideoReader(source, decoder=decoder).close()
    except CodecUnavailable as error:
        assert decoder in error.detail
        assert "Leave the option out" in error.remedy
    except InvalidOption as error:
        assert "none of that name" in error.detail
    else:
        assert len(pixels(source, decoder)) == 12


def test_any_gpu_falls_back_and_says_so(make_clip: MakeClip, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoders, "hwdevices_available", list)
    with VideoReader(make_clip(), decoder="gpu") as reader:
        assert "no GPU decoder works here: the processor decodes" in reader.info.notes
        assert len(list(reader.frames())) == 12


def test_the_names_of_devices_are_known() -> None:
    assert all(isinstance(name, str) for name in hwdevices_available())


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv", "clip.ts", "clip.avi"])
@pytest.mark.parametrize("begin", [Fraction(1), Fraction(5, 2), Fraction(39, 10)])
def test_a_late_begin_is_found_without_reading_all(make_clip: MakeClip, name: str, begin: Fraction) -> None:
    source = make_clip(name, stamps=range(100), time_base=Fraction(1, 25), options={"g": "10", "bf": "2", "crf": "10"})
    whole, part = pixels(source), pixels(source, begin=begin)
    first = -(-begin * 25 // 1)
    late = 1 if source.suffix == ".ts" else 0  # frames by which it moves the picture, for its B frames
    assert 0 <= len(part) - (100 - first) <= late
    for one, other in zip(reversed(whole), reversed(part), strict=False):
        np.testing.assert_array_equal(one, other)
