"""Every video of the shared formats through the reader and the writer with nothing done to it: one row a file.

Counted from outside, with PyAV alone. What is compared with the input is measured there; what the table says was
looked up in its manifest.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.stream import Disposition

from secondface.errors import InvalidOption, MediaEmpty
from secondface.media.read import VideoReader
from secondface.media.side_streams import StreamReport
from secondface.media.write import VideoOptions, VideoWriter
from tests.sample_media import MEDIA, needs_media

FORMATS = MEDIA / "formats"
pytestmark = needs_media

CLIPS = sorted((MEDIA / "videos").glob("*.mp4"))
OUTPUTS = (".mp4", ".mov", ".mkv", ".webm")
SHIFTED = {".ts", ".mpg"}
"""Containers whose clock starts anywhere: their times are moved to 0, all streams by the same amount."""
SD, HD = (6, 6, 6), (1, 1, 1)
"""Matrix, primaries, transfer (H.273) of BT.601 and BT.709."""


@dataclass(frozen=True)
class Row:
    """What must come out. Times are those of the input."""

    frames: int = 50
    size: tuple[int, int] = (640, 360)
    codec: str = "h264"
    pixels: str = "yuv420p"
    colours: tuple[int, int, int] = HD
    full_range: bool = False
    aspect: Fraction = Fraction(1)
    rate: Fraction = Fraction(25)
    sound: tuple[str, ...] = ("aac",)
    transcoded: str = ""
    others: tuple[str, ...] = ()
    """Streams beside picture and sound."""
    notes: tuple[str, ...] = ()
    chapters: int = 0
    until: Fraction | None = field(default=None)
    """Only so much of it, where it is long."""


TABLE = {
    "vid_120fps.mp4": Row(frames=111, rate=Fraction(120)),
    "vid_16x16.mp4": Row(size=(16, 16)),
    "vid_29_97fps.mp4": Row(frames=60, rate=Fraction(30000, 1001)),
    "vid_4k_2160p.mp4": Row(frames=5, size=(3840, 2160), until=Fraction(1, 5)),
    "vid_aac_5_1.mp4": Row(),
    "vid_ac3.mov": Row(sound=("ac3",)),
    "vid_audio_longer_than_video.mp4": Row(),
    "vid_audio_starts_late_0p5s.mp4": Row(),
    "vid_av1_opus.mp4": Row(frames=30, sound=("opus",)),
    "vid_cover_art_attached.mp4": Row(others=("cover mjpeg",)),
    "vid_editlist_cut_copy.mp4": Row(frames=32),
    "vid_fragmented.mp4": Row(),
    "vid_fullrange_yuvj420p.mp4": Row(full_range=True),
    "vid_gray_monochrome.mp4": Row(colours=(6, 1, 1), full_range=True),
    "vid_h263.3gp": Row(size=(176, 144), colours=SD, aspect=Fraction(12, 11), sound=()),
    "vid_h264_rgb.mp4": Row(frames=25, pixels="yuv444p", notes=("gbrp is encoded as yuv444p",)),
    "vid_h264_ts_offset_near_wrap.ts": Row(),
    "vid_hevc_main10_sdr.mp4": Row(codec="hevc", pixels="yuv420p10le"),
    "vid_hevc_main8_hev1.mp4": Row(),
    "vid_interlaced_576i_tff_sar.mp4": Row(
        frames=48, size=(720, 576), aspect=Fraction(64, 45), notes=("deinterlaced",)
    ),
    "vid_long_gop_bframes.mp4": Row(),
    "vid_mp3_mono_22k.mp4": Row(sound=("mp3",)),
    "vid_mpeg2_mp2.mpg": Row(sound=("mp3",)),  # MP4 has one name for all layers
    "vid_no_audio.mp4": Row(sound=()),
    "vid_odd_641x361_yuv444.mp4": Row(size=(641, 361), pixels="yuv444p"),
    "vid_pcm_s16le.mov": Row(sound=("pcm_s16le",)),
    "vid_pcm_s24_96k.mov": Row(frames=20, sound=("pcm_s24le",)),
    "vid_prores_proxy.mov": Row(frames=10, codec="hevc", pixels="yuv422p10le", sound=("pcm_s16le",)),
    "vid_resolution_change.ts": Row(sound=(), rate=Fraction(625, 24), notes=("the picture size changes to 480x270",)),
    "vid_rot_displaymatrix_a.mp4": Row(),
    "vid_rot_displaymatrix_b.mov": Row(),
    "vid_subs_chapters.mkv": Row(others=("subtitle subrip",), chapters=2),
    "vid_subs_chapters.mp4": Row(others=("subtitle mov_text", "data"), chapters=2),
    "vid_tmcd_timecode.mov": Row(others=("data",)),
    "vid_two_audio_tracks.mp4": Row(sound=("aac", "aac")),
    "vid_untagged_color.mp4": Row(colours=SD),
    "vid_vfr.mp4": Row(frames=26, rate=Fraction(13)),
    "vid_vp9_alpha.webm": Row(frames=25, codec="vp9", sound=()),
    "vid_vp9_opus.webm": Row(codec="vp9", sound=("opus",)),
    "vid_wmv2.wmv": Row(colours=SD, sound=("aac",), transcoded="wmav2"),
    "vid_yuv422_638x359.mp4": Row(size=(638, 359), pixels="yuv422p"),
}
REFUSED = {"vid_audio_only.mp4": MediaEmpty}
Through = Callable[[Path], tuple[Path, list[StreamReport], tuple[str, ...]]]


def run(source: Path, target: Path, options: VideoOptions | None = None, **part: Any) -> tuple[str, ...]:
    """Notes of the reader; the reports are thrown away."""
    return passed(source, target, options, **part)[1]


def passed(
    source: Path, target: Path, options: VideoOptions | None = None, **part: Any
) -> tuple[list[StreamReport], tuple[str, ...]]:
    with VideoReader(source, **part) as reader, VideoWriter(target, reader, options, tags={"AIGC": "{}"}) as writer:
        for frame in reader.frames():
            writer.write(frame)
        return writer.close(), reader.info.notes


@pytest.fixture(scope="module")
def through(tmp_path_factory: pytest.TempPathFactory) -> Through:
    """Each file is written once for all tests, at the encoders' greatest speed."""
    folder, done = tmp_path_factory.mktemp("through"), dict[Path, tuple[Path, list[StreamReport], tuple[str, ...]]]()

    def written(source: Path) -> tuple[Path, list[StreamReport], tuple[str, ...]]:
        if source not in done:
            target = folder / f"{source.stem}{source.suffix if source.suffix in OUTPUTS else '.mp4'}"
            row = TABLE.get(source.name)
            reports, notes = passed(source, target, VideoOptions(preset="ultrafast"), end=row.until if row else None)
            done[source] = target, reports, notes
        return done[source]

    return written


def picture_times(path: Path, until: Fraction | None = None) -> list[Fraction]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        base = stream.time_base or Fraction(0)
        times = [(frame.pts or 0) * base for frame in container.decode(stream)]
        return [time for time in times if until is None or time < until]


def packets(path: Path, until: Fraction | None = None) -> dict[int, list[tuple[Fraction, str]]]:
    found: dict[int, list[tuple[Fraction, str]]] = defaultdict(list)
    with av.open(str(path)) as container:
        kept = [stream for stream in container.streams if stream.type in ("audio", "subtitle")]
        for packet in container.demux(*kept) if kept else ():
            if packet.size and packet.pts is not None:
                time = packet.pts * packet.time_base
                if until is None or time < until:
                    digest = hashlib.sha256(bytes(packet)).hexdigest()
                    found[kept.index(packet.stream)].append((time, digest))
    return found


def offset(path: Path) -> Fraction:
    """How much later than the first picture the first sample is."""
    with av.open(str(path)) as container:
        firsts: dict[str, Fraction] = {}
        for frame in container.decode(container.streams.audio[0], container.streams.video[0]):
            kind, stamp, base = type(frame).__name__, frame.pts or 0, getattr(frame, "time_base", Fraction(0))
            firsts.setdefault(kind, stamp * base)
            if len(firsts) == 2:
                break
        return firsts["AudioFrame"] - firsts["VideoFrame"]


def stream_lengths(path: Path, until: Fraction | None = None) -> list[Fraction]:
    """From the first to the last moment of picture and sound, by their decoded frames."""
    lengths: list[Fraction] = []
    with av.open(str(path)) as container:
        indexes = [stream.index for stream in (container.streams.video[0], *container.streams.audio)]
    for index in indexes:
        with av.open(str(path)) as container:
            times: list[Fraction] = []
            for frame in container.decode(container.streams[index]):
                length = Fraction(frame.samples, frame.sample_rate) if isinstance(frame, av.AudioFrame) else Fraction(0)
                start = (frame.pts or 0) * (frame.time_base or Fraction(0))  # type: ignore[union-attr]
                if until is None or start < until:
                    times += [start, start + length]
            lengths.append(max(times) - min(times))
    return lengths


def test_the_table_names_every_file() -> None:
    assert sorted([*TABLE, *REFUSED]) == sorted(path.name for path in FORMATS.glob("vid_*"))


@pytest.mark.parametrize("name", TABLE)
def test_what_comes_out(name: str, through: Through) -> None:
    row, (target, reports, notes) = TABLE[name], through(FORMATS / name)
    with av.open(str(target)) as container:
        picture = container.streams.video[0]
        first = next(container.decode(picture))
        assert (first.width, first.height) == row.size
        assert first.format.name.replace("yuvj", "yuv") == row.pixels
        assert (picture.codec_context.codec.canonical_name, picture.frames or row.frames) == (row.codec, row.frames)
        assert (first.colorspace, first.color_primaries, first.color_trc) == row.colours
        assert (first.color_range == 2) == row.full_range
        assert Fraction(picture.sample_aspect_ratio or 1) == row.aspect
        assert not first.interlaced_frame
        assert first.rotation == 0
        assert picture.average_rate is not None
        assert abs(Fraction(picture.average_rate) - row.rate) < Fraction(1, 100) * row.rate
        assert tuple(each.codec_context.codec.canonical_name for each in container.streams.audio) == row.sound
        rest = [each for each in container.streams if each.index != picture.index and each.type != "audio"]
        assert tuple(described(each) for each in rest) == row.others
        assert len(container.chapters()) == row.chapters
        assert container.metadata["AIGC"] == "{}"
    with VideoReader(target) as reader:
        assert reader.picture.orientation.is_upright
    by_action = {each.action for each in reports if each.kind != "video"}
    assert by_action <= ({"copied", "transcoded"} if row.transcoded else {"copied"})
    assert [each.codec for each in reports if each.action == "transcoded"] == (
        [row.transcoded] if row.transcoded else []
    )
    said = "; ".join([*notes, *(report.note for report in reports)])
    for note in row.notes:
        assert note in said


def described(stream: Any) -> str:
    if stream.disposition & Disposition.attached_pic:
        return f"cover {stream.codec_context.codec.canonical_name}"
    return "data" if stream.type == "data" else f"{stream.type} {stream.codec_context.codec.canonical_name}"


@pytest.mark.parametrize("name", TABLE)
def test_every_frame_keeps_its_time(name: str, through: Through) -> None:
    source, until = FORMATS / name, TABLE[name].until
    target, reports, _ = through(source)
    before, after = picture_times(source, until), picture_times(target)
    assert len(after) == TABLE[name].frames
    if source.suffix in SHIFTED:
        moved = before[0] - after[0]
        # time that stands still or runs backwards cannot be kept: such a frame comes one tick after the one before it
        for index in range(1, len(before)):
            before[index] = max(before[index], before[index - 1] + Fraction(1, 90_000))
        assert [time - moved for time in before] == after
    else:
        assert before == after
    copied = [report for report in reports if report.action == "copied" and report.kind in ("audio", "subtitle")]
    if source.suffix not in SHIFTED and len(copied) == len(packets(source)):
        assert packets(target) == packets(source, until)


@pytest.mark.parametrize("name", TABLE)
def test_each_stream_is_as_long_as_before(name: str, through: Through) -> None:
    source = FORMATS / name
    before, after = stream_lengths(source, TABLE[name].until), stream_lengths(through(source)[0])
    for length, kept in zip(before, after, strict=True):
        assert abs(kept - length) <= Fraction(1024, 44_100)


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.sound])
def test_sound_keeps_its_place_beside_the_picture(name: str, through: Through) -> None:
    source = FORMATS / name
    assert abs(offset(through(source)[0]) - offset(source)) <= Fraction(1024, 44_100)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_video_is_refused(name: str) -> None:
    with pytest.raises(REFUSED[name], match=name):
        VideoReader(FORMATS / name)


@pytest.mark.parametrize("source", CLIPS, ids=lambda path: path.name)
def test_the_clips_keep_their_frames_and_their_sound(source: Path, tmp_path: Path) -> None:
    target, second = tmp_path / "out.mp4", Fraction(1)
    run(source, target, VideoOptions(preset="ultrafast"), end=second)
    assert picture_times(target) == picture_times(source, second)
    assert packets(target) == packets(source, second)


@pytest.mark.parametrize("name", ["vid_rot_displaymatrix_a.mp4", "vid_rot_displaymatrix_b.mov"])
def test_rotated_phone_video_is_shown_as_its_upright_twin(name: str) -> None:
    with VideoReader(FORMATS / name) as turned, VideoReader(FORMATS / "vid_no_audio.mp4") as upright:
        pairs = zip(turned.frames(), upright.frames(), strict=True)
        assert max(np.abs(one.read().astype(int) - two.read()).mean() for one, two in pairs) < 4


def test_tracks_chapters_timecode_and_title_are_kept(through: Through) -> None:
    target, reports, _ = through(FORMATS / "vid_subs_chapters.mp4")
    with av.open(str(target)) as container:
        assert [chapter["metadata"]["title"] for chapter in container.chapters()] == ["One", "Two"]
        assert container.metadata["title"] == "Test title"
    assert b"private comment" not in target.read_bytes()
    assert reports[-1].note == "chapters written anew"
    with av.open(str(through(FORMATS / "vid_two_audio_tracks.mp4")[0])) as container:
        assert [stream.language for stream in container.streams.audio] == ["eng", "deu"]
    source = FORMATS / "vid_tmcd_timecode.mov"
    with av.open(str(source)) as one, av.open(str(through(source)[0])) as two:
        assert two.streams.video[0].metadata["timecode"] == one.streams.video[0].metadata["timecode"]


def test_comments_come_along_only_on_request(tmp_path: Path) -> None:
    source = FORMATS / "vid_subs_chapters.mp4"
    assert b"private comment" in source.read_bytes()
    run(source, tmp_path / "out.mp4", VideoOptions(preset="ultrafast", keep_metadata=True))
    assert b"private comment" in (tmp_path / "out.mp4").read_bytes()


@pytest.mark.parametrize("name", ["vid_subs_chapters.mp4", "vid_subs_chapters.mkv"])
@pytest.mark.parametrize("suffix", OUTPUTS)
def test_subtitles_and_chapters_go_everywhere(name: str, suffix: str, tmp_path: Path) -> None:
    run(FORMATS / name, tmp_path / f"out{suffix}", VideoOptions(preset="ultrafast"))
    with av.open(str(tmp_path / f"out{suffix}")) as container:
        assert len(container.streams.subtitles) == 1
        assert [chapter["metadata"]["title"] for chapter in container.chapters()] == ["One", "Two"]


def test_alpha_is_kept_where_it_can_be(through: Through, tmp_path: Path) -> None:
    def alpha(path: Path) -> np.ndarray:
        with VideoReader(path) as reader:
            return next(iter(reader.frames())).planes[3].astype(int)

    source = FORMATS / "vid_vp9_alpha.webm"
    before = alpha(source)
    assert before.min() < before.max()
    assert np.abs(alpha(through(source)[0]) - before).mean() < 2
    reports, _ = passed(source, tmp_path / "out.mp4")
    assert "alpha is left out" in reports[0].note


@pytest.mark.parametrize("name", ["vid_vfr.mp4", "vid_h264_ts_offset_near_wrap.ts", "vid_long_gop_bframes.mp4"])
def test_a_part_begins_and_ends_at_the_frame(name: str, tmp_path: Path) -> None:
    begin, end, target = Fraction(1, 2), Fraction(3, 2), tmp_path / "out.mp4"
    times = picture_times(FORMATS / name)
    with VideoReader(FORMATS / name) as reader:
        start = reader.trim.origin
    wanted = [time - start - begin for time in times if begin <= time - start < end]
    run(FORMATS / name, target, VideoOptions(preset="ultrafast"), begin=begin, end=end)
    assert picture_times(target) == wanted


def test_a_part_behind_the_end_is_refused() -> None:
    with pytest.raises(InvalidOption, match="the video lasts"):
        VideoReader(FORMATS / "vid_vfr.mp4", begin=Fraction(60))
