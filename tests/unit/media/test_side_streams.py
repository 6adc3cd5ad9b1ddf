"""What goes beside the picture, in kinds that the shared files do not have: made here, tried in every container."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.subtitles.subtitle import AssSubtitle, SubtitleSet

from secondface.errors import MediaTooLarge
from secondface.media.limits import Limits
from secondface.media.read import VideoReader
from secondface.media.side_streams import StreamReport
from secondface.media.write import VideoOptions, VideoWriter
from tests.unit.media.conftest import moving_picture

RATE = 48_000
TONE_FROM = Fraction(1, 2)
LINES = [(Fraction(1, 5), Fraction(3, 5), "One & {\\i1}two{\\i0}"), (Fraction(1), Fraction(3, 2), "Zwölf 字")]
ASS_HEADER = b"""[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, \
StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""
MakeFilm = Callable[..., Path]


@pytest.fixture
def make_film(tmp_path: Path) -> MakeFilm:
    """A film of two seconds whose sound begins to be heard at TONE_FROM."""

    def make(
        name: str, *, codec: str = "libx264", pix_fmt: str = "yuv420p", sound: str | None = "aac", rate: int = RATE,
        layout: str = "stereo", late: Fraction = Fraction(0), tracks: int = 1, subtitles: str | None = None,
        stamps: range = range(50), hole: Fraction = Fraction(0), muxer: str | None = None,
        prepare: Callable[[Any], None] | None = None,
    ) -> Path:  # fmt: skip
        path = tmp_path / name
        kinds = {".mkv": "matroska", ".ts": "mpegts", ".wmv": "asf", ".mpg": "mpeg"}
        with av.open(str(path), "w", format=muxer or kinds.get(path.suffix)) as output:
            picture: Any = output.add_stream(codec, rate=25)
            picture.width, picture.height, picture.pix_fmt = 160, 96, pix_fmt
            sounds = [added_sound(output, sound, rate, layout, number) for number in range(tracks) if sound]
            texts: list[Any] = [output.add_stream(subtitles)] if subtitles else []
            for text in texts:
                text.codec_context.subtitle_header = ASS_HEADER
                text.codec_context.time_base = text.time_base = Fraction(1, 1000)
            if prepare is not None:
                prepare(output)
            for index in stamps:
                frame = av.VideoFrame.from_ndarray(moving_picture(index, 160, 96), "rgb24").reformat(format=pix_fmt)
                frame.pts, frame.time_base = index, Fraction(1, 25)
                output.mux(picture.encode(frame))
            output.mux(picture.encode(None))
            for each in sounds:
                write_tone(output, each, rate, layout, late, hole)
            for text in texts:
                write_lines(output, text)
        return path

    return make


def added_sound(output: Any, codec: str, rate: int, layout: str, number: int) -> Any:
    stream = output.add_stream(codec, rate=rate)
    stream.codec_context.layout = layout
    stream.metadata["language"] = ("eng", "deu", "fra")[number]
    return stream


def write_tone(output: Any, stream: Any, rate: int, layout: str, late: Fraction, hole: Fraction) -> None:
    """Silence, and a tone from TONE_FROM on; at half of that time nothing is there for the length of `hole`."""
    seconds = np.arange(2 * rate) / rate
    wave = (0.5 * np.sin(2 * np.pi * 440 * seconds) * (seconds >= float(TONE_FROM))).astype(np.float32)
    channels = len(av.AudioLayout(layout).channels)
    for at in range(0, len(wave), 1024):
        moved = late + (hole if at >= TONE_FROM * rate / 2 else 0)
        samples = np.ascontiguousarray(np.stack([wave[at : at + 1024]] * channels))
        frame = av.AudioFrame.from_ndarray(samples, "fltp", layout)
        frame.sample_rate, frame.pts, frame.time_base = rate, at + int(moved * rate), Fraction(1, rate)
        output.mux(stream.encode(frame))
    output.mux(stream.encode(None))


def write_lines(output: Any, stream: Any) -> None:
    for start, end, line in LINES:
        shown_ms = int(1000 * (end - start))
        event = f"0,0,Default,,0,0,0,,{line}".encode()
        packet = stream.codec_context.encode_subtitle(SubtitleSet.create(event, 0, shown_ms))
        packet.stream, packet.time_base = stream, Fraction(1, 1000)
        packet.pts = packet.dts = int(1000 * start)
        packet.duration = shown_ms
        output.mux(packet)


def through(source: Path, target: Path, options: VideoOptions | None = None, **part: Any) -> list[StreamReport]:
    with VideoReader(source, **part) as reader, VideoWriter(target, reader, options, tags={"AIGC": "{}"}) as writer:
        for frame in reader.frames():
            writer.write(frame)
        return writer.close()


def heard_from(path: Path, track: int = 0) -> Fraction:
    """When the tone begins, in seconds after the first picture: what a viewer would notice."""
    with av.open(str(path)) as container:
        picture = next(container.decode(video=0))
        shown = (picture.pts or 0) * (picture.time_base or Fraction(0))
    with av.open(str(path)) as container:
        resampler = av.AudioResampler("fltp", "mono")
        for frame in container.decode(audio=track):
            for part in resampler.resample(frame):
                loud = np.flatnonzero(np.abs(part.to_ndarray()[0]) > 0.1)
                if loud.size and part.pts is not None and part.time_base is not None:
                    return part.pts * part.time_base + Fraction(int(loud[0]), part.sample_rate) - shown
    raise AssertionError("nothing is heard")


def lines_of(path: Path) -> list[tuple[Fraction, Fraction, str]]:
    with av.open(str(path)) as container:
        stream = container.streams.subtitles[0]
        found: list[tuple[Fraction, Fraction, str]] = []
        for packet in container.demux(stream):
            text = [rect.ass.decode().split(",", 8)[-1] for rect in packet.decode() if isinstance(rect, AssSubtitle)]
            if packet.size and text and text[0] and packet.pts is not None:
                length = (packet.duration or 0) * packet.time_base
                found.append((packet.pts * packet.time_base, packet.pts * packet.time_base + length, text[0]))
        return found


FILMS: list[tuple[str, dict[str, Any]]] = [
    ("bframes.mp4", {}), ("mpeg4.avi", {"codec": "mpeg4", "sound": "libmp3lame"}),
    ("film.flv", {"codec": "flv", "sound": "libmp3lame", "rate": 44_100}),
    ("opus.webm", {"codec": "libvpx-vp9", "sound": "libopus"}), ("vp8.webm", {"codec": "libvpx", "sound": "libopus"}),
    ("ffv1.mkv", {"codec": "ffv1", "sound": "pcm_s16le"}), ("flac.mkv", {"sound": "flac"}),
    ("five.mkv", {"sound": "ac3", "layout": "5.1"}), ("film.ts", {"sound": "mp2"}),
    ("film.wmv", {"codec": "wmv2", "sound": "libmp3lame"}), ("film.mpg", {"codec": "mpeg2video", "sound": "mp2"}),
    ("film.mxf", {"codec": "mpeg2video", "sound": "pcm_s16le"}), ("film.ogv", {"codec": "libvpx", "sound": "libopus"}),
    ("jpeg.mov", {"codec": "mjpeg", "pix_fmt": "yuvj422p", "sound": "alac"}),
    ("prores.mov", {"codec": "prores_ks", "pix_fmt": "yuv422p10le", "sound": "pcm_s24le"}),
    ("late_sound.mp4", {"late": Fraction(1, 2)}), ("late_picture.mp4", {"stamps": range(20, 70)}),
    ("mono.mp4", {"rate": 22_050, "layout": "mono"}), ("odd_rate.mkv", {"sound": "pcm_s16le", "rate": 37_800}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "film"), FILMS, ids=[name for name, _ in FILMS])
@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm"])
def test_every_film_goes_into_every_container_in_time(
    make_film: MakeFilm, tmp_path: Path, name: str, film: dict[str, Any], suffix: str
) -> None:
    source, target = make_film(name, **film), tmp_path / f"out{suffix}"
    reports = through(source, target)
    assert [report.action for report in reports if report.kind == "audio"] in (["copied"], ["transcoded"])
    assert all(report.note for report in reports if report.action in ("dropped", "transcoded"))
    with VideoReader(source) as one, VideoReader(target) as two:
        before = [frame.pts * frame.time_base for frame in one.frames() if frame.pts is not None]
        after = [frame.pts * frame.time_base for frame in two.frames() if frame.pts is not None]
        assert (two.info.width, two.info.height) == (160, 96)
    # Matroska counts in milliseconds
    rounding = Fraction(1, 1000) if suffix in (".mkv", ".webm") or source.suffix == ".mkv" else Fraction(1, 90_000)
    assert len(after) == len(before)
    steps = [abs((b - after[0]) - (a - before[0])) for a, b in zip(before, after, strict=True)]
    assert max(steps) <= rounding
    assert abs(heard_from(target) - heard_from(source)) < Fraction(1, 500)


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm"])
@pytest.mark.parametrize(("name", "kind"), [("a.mkv", "subrip"), ("b.mkv", "ass"), ("c.mp4", "mov_text"),
                                            ("d.webm", "webvtt")])  # fmt: skip
def test_subtitles_say_the_same_at_the_same_time(
    make_film: MakeFilm, tmp_path: Path, name: str, kind: str, suffix: str
) -> None:
    webm = {"codec": "libvpx-vp9", "sound": "libopus"} if name == "d.webm" else {}
    source, target = make_film(name, subtitles=kind, **webm), tmp_path / f"out{suffix}"
    (report,) = [each for each in through(source, target) if each.kind == "subtitle"]
    assert report.packets >= len(LINES)
    before, after = lines_of(source), lines_of(target)
    assert [line.replace("{\\i1}", "").replace("{\\i0}", "") for *_, line in after] == ["One & two", "Zwölf 字"]
    assert "{\\i1}two" in after[0][2]
    with VideoReader(source) as one, VideoReader(target) as two:
        shown = [next(iter(reader.frames())) for reader in (one, two)]
    moved = Fraction(shown[1].pts or 0) * shown[1].time_base - Fraction(shown[0].pts or 0) * shown[0].time_base
    for (start, end, _), (new_start, new_end, _) in zip(before, after, strict=True):
        assert abs(new_start - moved - start) <= Fraction(1, 500)
        assert abs(new_end - moved - end) <= Fraction(1, 500)


def test_several_tracks_keep_their_languages_and_their_time(make_film: MakeFilm, tmp_path: Path) -> None:
    source = make_film("three.mp4", tracks=3)
    for suffix in (".mp4", ".mov", ".mkv", ".webm"):
        target = tmp_path / f"out{suffix}"
        through(source, target)
        with av.open(str(target)) as container:
            german = "ger" if suffix == ".mov" else "deu"
            assert [stream.language for stream in container.streams.audio] == ["eng", german, "fra"]
        for track in range(3):
            assert abs(heard_from(target, track) - heard_from(source, track)) < Fraction(1, 500)


def test_fonts_stay_in_matroska(make_film: MakeFilm, tmp_path: Path) -> None:
    def attach(output: Any) -> None:
        output.add_attachment("type.ttf", "font/ttf", b"not really a font")
        output.add_attachment("note.txt", "text/plain", b"private words")

    source = make_film("fonts.mkv", subtitles="ass", prepare=attach)
    reports = through(source, tmp_path / "out.mkv")
    with av.open(str(tmp_path / "out.mkv")) as container:
        (font,) = [stream for stream in container.streams if stream.type == "attachment"]
        assert (font.metadata["filename"], font.data) == ("type.ttf", b"not really a font")  # type: ignore[attr-defined]
    assert [report.action for report in reports if report.kind == "attachment"] == ["copied", "dropped"]
    assert b"private words" not in (tmp_path / "out.mkv").read_bytes()
    through(source, tmp_path / "all.mkv", VideoOptions(keep_metadata=True))
    assert b"private words" in (tmp_path / "all.mkv").read_bytes()
    report = next(each for each in through(source, tmp_path / "out.mp4") if each.kind == "attachment")
    assert (report.action, report.note) == ("dropped", "mp4 cannot hold attachment")


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv"])
def test_timecode_moves_on_with_the_cut(make_film: MakeFilm, tmp_path: Path, suffix: str) -> None:
    def stamp(output: Any) -> None:
        output.streams.video[0].metadata["timecode"] = "01:02:03:20"

    source, target = make_film("tc.mov", tracks=2, prepare=stamp), tmp_path / f"out{suffix}"
    reports = through(source, target, begin=Fraction(2, 5))
    assert [report.action for report in reports] == ["encoded", "copied", "copied", "copied"]
    with av.open(str(target)) as container:
        tags = {key.lower(): value for key, value in container.streams.video[0].metadata.items()}
        assert tags["timecode"] == "01:02:04:05"


@pytest.mark.parametrize(("begin", "end", "first", "count"), [
    (Fraction(0), Fraction(1), 0, 25), (Fraction(1), None, 25, 25), (Fraction(3, 10), Fraction(9, 10), 8, 15),
    (Fraction(49, 25), None, 49, 1), (None, Fraction(1, 100), 0, 1),
])  # fmt: skip
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_part_is_exact_to_the_frame(
    make_film: MakeFilm, tmp_path: Path, begin: Fraction | None, end: Fraction | None, first: int, count: int,
    suffix: str,
) -> None:  # fmt: skip
    source, target = make_film("film.mp4", subtitles="mov_text"), tmp_path / f"out{suffix}"
    with VideoReader(source) as reader:
        frames = [frame.read().astype(int) for frame in reader.frames()]
    through(source, target, VideoOptions(quality=0), begin=begin, end=end)
    with VideoReader(target) as reader:
        kept = [(frame.read().astype(int), (frame.pts or 0) * frame.time_base) for frame in reader.frames()]
    assert len(kept) == count
    for index, (pixels, _) in enumerate(kept):
        assert np.abs(pixels - frames[first + index]).max() <= 1
    if first < 12 and first + count > 14:
        # the tone is heard as long after the first picture as it was after that picture before
        expected = heard_from(source) - Fraction(first, 25)
        assert abs(heard_from(target) - expected) <= Fraction(1024, RATE)
    with av.open(str(target)) as container:
        ends = [(packet.pts or 0) * packet.time_base for packet in container.demux() if packet.size]
    assert max(ends) < kept[-1][1] + Fraction(1, 25) + Fraction(1024, RATE)


def test_subtitles_are_cut_like_the_picture(make_film: MakeFilm, tmp_path: Path) -> None:
    source, target = make_film("film.mkv", subtitles="subrip", sound=None), tmp_path / "out.mkv"
    through(source, target, begin=Fraction(2, 5), end=Fraction(6, 5))
    assert [(start, end) for start, end, _ in lines_of(target)] == [
        (0, Fraction(1, 5)),
        (Fraction(3, 5), Fraction(4, 5)),
    ]


def test_volume_changes_the_loudness_and_nothing_else(make_film: MakeFilm, tmp_path: Path) -> None:
    def peak(path: Path) -> float:
        with av.open(str(path)) as container:
            return max(float(np.abs(frame.to_ndarray()).max()) for frame in container.decode(audio=0))

    source = make_film("film.mp4")
    (_, report) = through(source, tmp_path / "half.mp4", VideoOptions(volume=Fraction(1, 2)))
    assert (report.action, report.note) == ("transcoded", "volume 0.5")
    assert abs(peak(tmp_path / "half.mp4") / peak(source) - 0.5) < 0.05
    assert abs(heard_from(tmp_path / "half.mp4") - heard_from(source)) < Fraction(1, 500)
    through(source, tmp_path / "mute.mp4", VideoOptions(volume=Fraction(0)))
    assert peak(tmp_path / "mute.mp4") < 1e-3
    (_, report) = through(source, tmp_path / "same.mp4", VideoOptions(volume=Fraction(1)))
    assert report.action == "copied"


def test_damaged_sound_is_left_out_and_said(make_film: MakeFilm, tmp_path: Path) -> None:
    source = make_film("film.mp4")
    with av.open(str(source)) as container:
        packet = [each for each in container.demux(audio=0) if each.size][30]
        where, size = packet.pos, packet.size
    data = bytearray(source.read_bytes())
    assert where is not None
    data[where : where + size] = b"\xff" * size
    source.write_bytes(data)
    (_, report) = through(source, tmp_path / "out.webm")
    assert "1 packets could not be decoded and are left out" in report.note
    assert abs(heard_from(tmp_path / "out.webm") - heard_from(source)) < Fraction(1024, RATE)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm"])
@pytest.mark.parametrize("kind", [{"name": "film.ts", "sound": "mp2"},
                                  {"name": "film.mpg", "codec": "mpeg2video", "sound": "mp2"}])  # fmt: skip
def test_joined_recordings_go_on_where_the_clock_jumps(
    make_film: MakeFilm, tmp_path: Path, kind: dict[str, Any], suffix: str
) -> None:
    once = make_film(**kind)
    first = heard_from(once)
    joined, target = tmp_path / f"joined{once.suffix}", tmp_path / f"out{suffix}"
    joined.write_bytes(once.read_bytes() * 3)
    through(joined, target)
    with VideoReader(target) as reader:
        times = [(frame.pts or 0) * frame.time_base - Fraction(1, 25) * frame.index for frame in reader.frames()]
    assert len(times) == 150
    assert max(times) - min(times) < Fraction(1, 20)
    assert abs(heard_from(target) - first) < Fraction(1, 500)
    # the third part's silence lies where the third part's pictures do
    through(joined, tmp_path / "part.mp4", begin=Fraction(4))
    with VideoReader(tmp_path / "part.mp4") as reader:
        assert 48 <= len(list(reader.frames())) <= 50
    assert abs(heard_from(tmp_path / "part.mp4") - first) < Fraction(1, 10)


def test_a_joined_recording_cannot_hide_its_length(make_film: MakeFilm, tmp_path: Path) -> None:
    once = make_film("film.ts", sound="mp2")
    joined = tmp_path / "joined.ts"
    joined.write_bytes(once.read_bytes() * 3)
    with VideoReader(joined, Limits(duration_s=Fraction(3))) as reader, pytest.raises(MediaTooLarge):
        list(reader.frames())


def test_channels_that_no_encoder_has_are_said(make_film: MakeFilm, tmp_path: Path) -> None:
    (_, report) = through(make_film("seven.mkv", sound="flac", layout="6.1"), tmp_path / "out.webm")
    assert report.note == "webm cannot hold flac; 7 channels become 6"
    (_, report) = through(make_film("five.mkv", sound="flac", layout="5.1"), tmp_path / "out.webm")
    assert report.note == "webm cannot hold flac"
    with av.open(str(tmp_path / "out.webm")) as container:
        assert len(container.streams.audio[0].layout.channels) == 6


@pytest.mark.parametrize("sound", ["pcm_s16le", "pcm_u8", "flac"])
@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm"])
def test_a_hole_in_the_sound_stays_a_hole(make_film: MakeFilm, tmp_path: Path, sound: str, suffix: str) -> None:
    source, target = make_film("hole.mkv", sound=sound, hole=Fraction(5, 2)), tmp_path / f"out{suffix}"
    assert heard_from(source) > 2
    (_, report) = through(source, target)
    assert abs(heard_from(target) - heard_from(source)) < Fraction(1, 500)
    assert (report.action == "copied" and suffix == ".mov") == ("2.5" in report.note)


@pytest.mark.parametrize("rate", [Fraction(50), Fraction(10), Fraction(30000, 1001), Fraction(1, 2)])
def test_a_constant_rate_is_no_slow_motion(make_film: MakeFilm, tmp_path: Path, rate: Fraction) -> None:
    source, target = make_film("film.mp4", stamps=range(5, 55)), tmp_path / "out.mp4"
    through(source, target, VideoOptions(rate=rate))
    with VideoReader(target) as reader:
        times = [(frame.pts or 0) * frame.time_base for frame in reader.frames()]
        assert reader.info.average_rate == rate
    assert times == [Fraction(1, 5) + index / rate for index in range(len(times))]
    assert abs(len(times) / rate - 2) < 1 / rate
    assert abs(heard_from(target) - heard_from(source)) < Fraction(1, 500)
