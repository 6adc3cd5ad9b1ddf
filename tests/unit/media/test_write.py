from __future__ import annotations

import hashlib
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from secondface.errors import InvalidOption, OutputFormatUnsupported, OutputNotWritable
from secondface.frames import ArrayFrame, Box
from secondface.media.encoders import VideoOptions
from secondface.media.read import VideoReader
from secondface.media.side_streams import StreamReport
from secondface.media.write import VideoWriter, decoded_in_order
from tests.closed_folder import closed_folder
from tests.unit.media.conftest import MakeClip

STAMPS = [0, 512, 1500, 1501, 9000, 9100, 20000, 20512]


def copy(source: Path, target: Path, options: VideoOptions | None = None, **more: object) -> list[StreamReport]:
    with VideoReader(source) as reader, VideoWriter(target, reader, options, **more) as writer:  # type: ignore[arg-type]
        for frame in reader.frames():
            writer.write(frame)
        return writer.close()


def stamps_of(path: Path) -> list[Fraction]:
    with VideoReader(path) as reader:
        return [frame.pts * frame.time_base for frame in reader.frames() if frame.pts is not None]


def sound_of(path: Path) -> list[tuple[Fraction, str]]:
    with av.open(str(path)) as container:
        return [
            (packet.pts * packet.time_base, hashlib.sha256(bytes(packet)).hexdigest())
            for packet in container.demux(audio=0)
            if packet.size and packet.pts is not None
        ]


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["out.mp4", "out.mov", "out.mkv", "out.webm"])
@pytest.mark.parametrize("codec", ["h264", "hevc", "vp9", "av1", None])
def test_every_codec_keeps_every_stamp(make_clip: MakeClip, tmp_path: Path, name: str, codec: str | None) -> None:
    source = make_clip(stamps=[20 * index * index for index in range(1, 20)], time_base=Fraction(1, 1000))
    target = tmp_path / name
    options = VideoOptions(codec=codec)  # type: ignore[arg-type]
    allowed = {"out.mov": ("h264", "hevc"), "out.webm": ("vp9", "av1")}.get(name)
    if codec and allowed and codec not in allowed:
        with pytest.raises(OutputFormatUnsupported, match=codec):
            copy(source, target, options)
        assert left_in(tmp_path) == {source.name}
        return
    copy(source, target, options)
    assert stamps_of(target) == stamps_of(source)


def test_uneven_stamps_and_the_last_length_survive(make_clip: MakeClip, tmp_path: Path) -> None:
    # without B frames: with them, MP4 reckons a clip's length from the order of decoding, and gets uneven ones wrong
    source, target = make_clip(stamps=STAMPS, options={"bf": "0"}), tmp_path / "out.mp4"
    copy(source, target)
    assert stamps_of(target) == [Fraction(pts, 12800) for pts in STAMPS]
    with VideoReader(source) as one, VideoReader(target) as two:
        assert one.info.duration == two.info.duration
        assert one.info.average_rate == two.info.average_rate


@pytest.mark.parametrize("codec", ["h264", "hevc", "vp9", "av1"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_clip_of_a_few_frames(make_clip: MakeClip, tmp_path: Path, codec: str, count: int) -> None:
    # x265 gives the decoding times of so few pictures out of memory that it never filled
    source, target = make_clip(stamps=[512 * index for index in range(count)]), tmp_path / "out.mp4"
    copy(source, target, VideoOptions(codec=codec))  # type: ignore[arg-type]
    assert stamps_of(target) == stamps_of(source)


def test_decoding_times_are_counted_anew() -> None:
    def packet(pts: int, dts: int) -> Any:
        made: Any = av.Packet(b"x")
        made.pts, made.dts = pts, dts
        return made

    packets = decoded_in_order([packet(0, -(1 << 62)), packet(30, 1 << 60), packet(10, 0), packet(20, 7)])
    assert [(each.pts, each.dts) for each in packets] == [(0, -10), (30, 0), (10, 10), (20, 20)]


def test_the_encoder_chooses_its_own_key_frames(make_clip: MakeClip, tmp_path: Path) -> None:
    source = make_clip(options={"crf": "10", "g": "1"})
    copy(source, tmp_path / "out.mp4")

    def key_frames(path: Path) -> list[bool]:
        with av.open(str(path)) as container:
            return [bool(frame.key_frame) for frame in container.decode(video=0)]

    assert all(key_frames(source))
    assert sum(key_frames(tmp_path / "out.mp4")) == 1


def test_untouched_planes_reach_the_encoder_bit_for_bit(make_clip: MakeClip, tmp_path: Path) -> None:
    source, target = make_clip(options={"crf": "12"}), tmp_path / "out.mp4"
    copy(source, target, VideoOptions(codec="h264", quality=0))  # crf 0 is lossless
    with VideoReader(source) as one, VideoReader(target) as two:
        for before, after in zip(one.frames(), two.frames(), strict=True):
            for plane, stored in zip(before.planes, after.planes, strict=True):
                np.testing.assert_array_equal(plane, stored)


def test_a_written_region_reaches_the_file_and_nothing_else_changes(make_clip: MakeClip, tmp_path: Path) -> None:
    source, target, box = make_clip(options={"crf": "12"}), tmp_path / "out.mp4", Box(32, 24, 96, 72)
    with VideoReader(source) as reader, VideoWriter(target, reader, VideoOptions(quality=0)) as writer:
        for frame in reader.frames():
            frame.write(box, np.full((48, 64, 3), (30, 160, 220), np.uint8))
            writer.write(frame)
        writer.close()
    with VideoReader(source) as one, VideoReader(target) as two:
        for before, after in zip(one.frames(), two.frames(), strict=True):
            assert np.abs(after.read(box.grow(-2)).astype(int) - (30, 160, 220)).max() <= 2
            plane, stored = before.planes[0].copy(), after.planes[0].copy()
            plane[24:72, 32:96] = stored[24:72, 32:96] = 0
            np.testing.assert_array_equal(plane, stored)


@pytest.mark.parametrize("name", ["out.mp4", "out.mov"])
@pytest.mark.parametrize("sound_s", [0.1, 0.4, 3.0])
def test_sound_is_copied_packet_for_packet(make_clip: MakeClip, tmp_path: Path, name: str, sound_s: float) -> None:
    source, target = make_clip(sound_s=sound_s), tmp_path / name
    reports = copy(source, target)
    assert sound_of(target) == sound_of(source)
    assert [(report.kind, report.action) for report in reports] == [("video", "encoded"), ("audio", "copied")]


def test_sound_that_the_container_cannot_hold_is_transcoded(make_clip: MakeClip, tmp_path: Path) -> None:
    source, target = make_clip(sound_s=0.5), tmp_path / "out.webm"
    reports = copy(source, target)
    assert [(report.action, report.note) for report in reports[1:]] == [("transcoded", "webm cannot hold aac")]
    with av.open(str(target)) as container:
        samples = sum(frame.samples for frame in container.decode(audio=0))
        assert container.streams.audio[0].codec_context.name == "opus"
    assert abs(samples / 48000 - 0.5) < 0.05


def test_sound_can_be_left_out(make_clip: MakeClip, tmp_path: Path) -> None:
    reports = copy(make_clip(sound_s=0.5), tmp_path / "out.mp4", VideoOptions(audio=False))
    assert reports[1].action == "dropped"
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert not container.streams.audio


def test_rotated_input_is_written_upright_without_its_matrix(make_clip: MakeClip, tmp_path: Path) -> None:
    source, target = make_clip(rotation=(90.0, False, False)), tmp_path / "out.mp4"
    copy(source, target)
    with VideoReader(source) as one, VideoReader(target) as two:
        assert (two.info.width, two.info.height) == (96, 160)
        assert two.picture.orientation.is_upright
        difference = next(iter(one.frames())).read().astype(int) - next(iter(two.frames())).read()
        assert np.abs(difference).mean() < 4


@pytest.mark.parametrize(("pix_fmt", "codec", "stored"), [
    ("yuv420p", "libx264", "yuv420p"), ("yuv422p", "libx264", "yuv422p"), ("yuv444p", "libx264", "yuv444p"),
    ("yuv420p10le", "libx265", "yuv420p10le"), ("gray", "libx264", "yuv420p"),
])  # fmt: skip
def test_depth_and_chroma_are_kept(make_clip: MakeClip, tmp_path: Path, pix_fmt: str, codec: str, stored: str) -> None:
    options = {"crf": "8", **({"x265-params": "log-level=none"} if codec == "libx265" else {})}
    source, target = make_clip(pix_fmt=pix_fmt, codec=codec, options=options), tmp_path / "out.mp4"
    copy(source, target)
    with VideoReader(source) as one, VideoReader(target) as two:
        assert two.picture.layout.name.replace("yuvj", "yuv") == stored
        assert two.picture.space == one.picture.space
        difference = next(iter(one.frames())).read().astype(int) - next(iter(two.frames())).read()
        assert np.abs(difference).mean() < 4


@pytest.mark.parametrize("codec", ["h264", "hevc", "vp9", "av1"])
@pytest.mark.parametrize("size", [(161, 97), (160, 97)])
def test_odd_sizes_are_not_resampled(make_clip: MakeClip, tmp_path: Path, codec: str, size: tuple[int, int]) -> None:
    source, target = make_clip(size=size, pix_fmt="yuv444p"), tmp_path / "out.mp4"
    copy(source, target, VideoOptions(codec=codec))  # type: ignore[arg-type]
    with VideoReader(target) as reader:
        assert (reader.info.width, reader.info.height) == size


def test_enlarged_rgb_frames_are_taken_too(make_clip: MakeClip, tmp_path: Path) -> None:
    source, target = make_clip(), tmp_path / "out.mp4"
    with VideoReader(source) as reader, VideoWriter(target, reader, size=(320, 192)) as writer:
        for frame in reader.frames():
            large = np.full((192, 320, 3), (200, 90, 40), np.uint8)
            writer.write(ArrayFrame(large, frame.index, frame.pts, frame.time_base))
        writer.close()
    with VideoReader(target) as reader:
        first = next(iter(reader.frames())).read()
        assert first.shape == (192, 320, 3)
        assert np.abs(first.astype(int) - (200, 90, 40)).max() <= 3


@pytest.mark.parametrize("name", ["out.mp4", "out.mov", "out.mkv", "out.webm"])
def test_marks_are_written_and_private_tags_are_not(make_clip: MakeClip, tmp_path: Path, name: str) -> None:
    source = make_clip(tags={"title": "A title", "comment": "private words", "location": "+51.4772+000.0000/"})
    copy(source, tmp_path / name, tags={"AIGC": '{"Label":"1"}'})
    with av.open(str(tmp_path / name)) as container:
        assert container.metadata["AIGC"] == '{"Label":"1"}'
        assert container.metadata["title"] == "A title"
    content = (tmp_path / name).read_bytes()
    assert b"private words" not in content
    assert b"51.4772" not in content


@pytest.mark.parametrize("name", ["out.mp4", "out.mkv"])
def test_all_tags_come_along_on_request_but_marks(make_clip: MakeClip, tmp_path: Path, name: str) -> None:
    tags = {"comment": "private words", "aigc": "of the input", "title": "A title"}
    source = make_clip("in.mkv", tags=tags, sound_s=0.2)
    copy(source, tmp_path / name, VideoOptions(keep_metadata=True), tags={"AIGC": "of the output"})
    with av.open(str(tmp_path / name)) as container:
        stored = {key.lower(): value for key, value in container.metadata.items()}
        assert stored["comment"] == "private words"
        assert [value for key, value in container.metadata.items() if key.lower() == "aigc"] == ["of the output"]


@pytest.mark.parametrize("name", ["in.mkv", "in.mp4"])
def test_tags_that_are_not_utf8_stop_nothing(make_clip: MakeClip, tmp_path: Path, name: str) -> None:
    source = make_clip(name, sound_s=0.2, tags={"title": "Caf3 noir"})
    source.write_bytes(source.read_bytes().replace(b"Caf3 noir", b"Caf\xe9 noir"))
    copy(source, tmp_path / "out.mp4")
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert container.metadata["title"] == "Caf\ufffd noir"


@pytest.mark.parametrize("name", ["-dash %03d.mp4", "ünï 日本 [a] 'q' \"w\".mp4", "a:b;$(x) .MP4", "file:x.mp4",
                                  "concat:a.mp4", "n" * 251 + ".mp4"])  # fmt: skip
def test_odd_names(make_clip: MakeClip, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make_clip(sound_s=0.2).rename(tmp_path / name)
    (tmp_path / "out").mkdir()
    copy(source, tmp_path / "out" / name)
    assert left_in(tmp_path / "out") == {name}
    monkeypatch.chdir(tmp_path)
    copy(Path(name), Path("out") / name)
    assert stamps_of(tmp_path / "out" / name) == stamps_of(source)


def test_leaving_early_leaves_nothing(make_clip: MakeClip, tmp_path: Path) -> None:
    source, target = make_clip(sound_s=0.3), tmp_path / "out.mp4"
    target.write_bytes(b"the file that was there before")
    with VideoReader(source) as reader, pytest.raises(KeyboardInterrupt):  # noqa: SIM117
        with VideoWriter(target, reader) as writer:
            writer.write(next(iter(reader.frames())))
            assert "out.mp4.secondface.part" in left_in(tmp_path)
            raise KeyboardInterrupt
    assert left_in(tmp_path) == {source.name, "out.mp4"}
    assert target.read_bytes() == b"the file that was there before"


def test_the_finished_file_takes_the_name_at_once(make_clip: MakeClip, tmp_path: Path) -> None:
    source, target = make_clip(), tmp_path / "out.mp4"
    with VideoReader(source) as reader, VideoWriter(target, reader) as writer:
        for frame in reader.frames():
            writer.write(frame)
            assert not target.exists()
        writer.close()
        assert target.exists()
    assert left_in(tmp_path) == {source.name, "out.mp4"}
    # the index comes before the pictures, so that a player can begin while it loads
    content = target.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_outputs_that_cannot_be_written(make_clip: MakeClip, tmp_path: Path) -> None:
    source = make_clip()
    (tmp_path / "folder.mp4").mkdir()
    with VideoReader(source) as reader:
        for target in (tmp_path / "missing" / "out.mp4", tmp_path / "folder.mp4", tmp_path / ("n" * 300 + ".mp4")):
            with pytest.raises(OutputNotWritable):
                VideoWriter(target, reader)
        for target in (tmp_path / "out.xyz", tmp_path / "out"):
            with pytest.raises(OutputFormatUnsupported):
                VideoWriter(target, reader)
    assert left_in(tmp_path) == {source.name, "folder.mp4"}


def test_a_folder_without_permission(make_clip: MakeClip, tmp_path: Path) -> None:
    with VideoReader(make_clip()) as reader, pytest.raises(OutputNotWritable):
        VideoWriter(closed_folder(tmp_path) / "out.mp4", reader)


@pytest.mark.parametrize("options", [{"codec": "divx"}, {"quality": -1}, {"codec": "h264", "quality": 60}])
def test_impossible_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidOption):
        VideoOptions(**options)  # type: ignore[arg-type]


_FULL_DISK = """
import resource, sys
from secondface.errors import DiskFull
from secondface.media.read import VideoReader
from secondface.media.write import VideoWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    with VideoReader(sys.argv[1]) as reader, VideoWriter(sys.argv[2], reader) as writer:
        for frame in reader.frames():
            writer.write(frame)
        writer.close()
except DiskFull as error:
    print("DiskFull", error.detail)
"""


@pytest.mark.parametrize("limit", [0, 700, 4000, 20000])
def test_a_full_disk_is_said_and_leaves_nothing(make_clip: MakeClip, tmp_path: Path, limit: int) -> None:
    source, target = make_clip(sound_s=1.0, stamps=range(0, 100 * 512, 512)), tmp_path / "out.mp4"
    command = [sys.executable, "-c", _FULL_DISK, str(source), str(target), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith(f"DiskFull {target}"), done.stdout + done.stderr
    assert left_in(tmp_path) == {source.name}
