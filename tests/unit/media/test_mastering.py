from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from secondface.media.mastering import MasteringLight, mastering_light
from secondface.media.read import VideoReader
from secondface.media.write import VideoOptions, VideoWriter

P3 = MasteringLight(
    primaries=((Fraction(17, 25), Fraction(8, 25)), (Fraction(53, 200), Fraction(69, 100)),
               (Fraction(3, 20), Fraction(3, 50))),
    white=(Fraction(3127, 10_000), Fraction(329, 1000)), darkest=Fraction(1, 10_000), brightest=Fraction(1000),
    brightest_pixel=1000, brightest_frame=400,
)  # fmt: skip
DISPLAY = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)"


def test_encoders_are_told_in_their_own_units() -> None:
    assert P3.x265 == f"hdr10=1:master-display={DISPLAY}:max-cll=1000,400"
    assert P3.svt_av1 == (
        "mastering-display=G(0.265000,0.690000)B(0.150000,0.060000)R(0.680000,0.320000)WP(0.312700,0.329000)"
        "L(1000.000000,0.000100):content-light=1000,400"
    )
    assert replace(P3, white=None).x265 == "hdr10=1:max-cll=1000,400"
    assert (MasteringLight().x265, MasteringLight().svt_av1) == ("", "")


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """HDR10 with a mastering display."""
    path = tmp_path / "hdr.mp4"
    parameters = f"log-level=none:hdr10=1:master-display={DISPLAY}:max-cll=1000,400"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx265", rate=25, options={"x265-params": parameters})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p10le"
        context = stream.codec_context
        context.colorspace, context.color_primaries, context.color_trc, context.color_range = 9, 9, 16, 1
        for index in range(3):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 90, np.uint8), "rgb24").reformat(
                format="yuv420p10le"
            )
            frame.pts, frame.time_base = index, Fraction(1, 25)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def first_picture(path: Path) -> av.VideoFrame:
    with av.open(str(path)) as container:
        return next(container.decode(video=0))


def copied(source: Path, target: Path, options: VideoOptions | None = None) -> str:
    with VideoReader(source) as reader, VideoWriter(target, reader, options) as writer:
        for frame in reader.frames():
            writer.write(frame)
        return writer.close()[0].note


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv", "out.mov", "out.webm"])
def test_hdr_stays_hdr_with_its_light(film: Path, tmp_path: Path, name: str) -> None:
    assert copied(film, tmp_path / name) == ""
    picture = first_picture(tmp_path / name)
    assert picture.format.name == "yuv420p10le"
    assert (picture.colorspace, picture.color_primaries, picture.color_trc) == (9, 9, 16)
    light = mastering_light(picture)
    assert light is not None
    assert (light.brightest_pixel, light.brightest_frame, light.brightest) == (1000, 400, 1000)
    assert light.white is not None
    assert abs(light.white[0] - Fraction(3127, 10_000)) < Fraction(1, 10_000)


def test_sdr_on_request_says_nothing_of_the_light(film: Path, tmp_path: Path) -> None:
    assert "HDR is turned into SDR" in copied(film, tmp_path / "out.mp4", VideoOptions(sdr=True))
    picture = first_picture(tmp_path / "out.mp4")
    assert picture.format.name == "yuv420p"
    assert (picture.colorspace, picture.color_primaries, picture.color_trc) == (1, 1, 1)
    assert mastering_light(picture) is None


def test_what_cannot_be_told_is_said(film: Path, tmp_path: Path) -> None:
    assert "mastering display is left out" in copied(film, tmp_path / "out.mp4", VideoOptions(depth=8))
