"""Real containers through the reader and the writer with nothing done to them: what comes out is what went in.

Counted from outside, with PyAV alone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from secondface.errors import MediaEmpty
from secondface.media.read import VideoReader
from secondface.media.side_streams import StreamReport
from secondface.media.write import VideoWriter

MEDIA = Path(__file__).parents[2] / ".." / "shared" / "media"
pytestmark = pytest.mark.skipif(not MEDIA.is_dir(), reason="the shared media are not beside this checkout")

CLIPS = sorted((MEDIA / "videos").glob("*.mp4"))
FORMATS = sorted((MEDIA / "formats").glob("vid_*"))
OUTPUTS = (".mp4", ".mov", ".mkv", ".webm")
SHIFTED = {".ts", ".mpg"}
"""Containers whose clock starts anywhere: their times are moved to 0, all streams by the same amount."""
SIZES = {
    "vid_16x16.mp4": (16, 16), "vid_4k_2160p.mp4": (3840, 2160), "vid_h263.3gp": (176, 144),
    "vid_interlaced_576i_tff_sar.mp4": (720, 576), "vid_odd_641x361_yuv444.mp4": (641, 361),
    "vid_rot_displaymatrix_a.mp4": (640, 360), "vid_rot_displaymatrix_b.mov": (640, 360),
    "vid_yuv422_638x359.mp4": (638, 359),
}  # fmt: skip


def through(source: Path, folder: Path) -> tuple[Path, list[StreamReport]]:
    target = folder / f"out{source.suffix if source.suffix in OUTPUTS else '.mp4'}"
    with VideoReader(source) as reader, VideoWriter(target, reader, tags={"AIGC": "{}"}) as writer:
        for frame in reader.frames():
            writer.write(frame)
        return target, writer.close()


def picture_times(path: Path) -> list[Fraction]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        base = stream.time_base or Fraction(0)
        return [(frame.pts or 0) * base for frame in container.decode(stream)]


def packets(path: Path) -> dict[int, list[tuple[Fraction, str]]]:
    found: dict[int, list[tuple[Fraction, str]]] = defaultdict(list)
    with av.open(str(path)) as container:
        kept = [stream for stream in container.streams if stream.type in ("audio", "subtitle")]
        for packet in container.demux(*kept) if kept else ():
            if packet.size and packet.pts is not None:
                digest = hashlib.sha256(bytes(packet)).hexdigest()
                found[kept.index(packet.stream)].append((packet.pts * packet.time_base, digest))
    return found


@pytest.mark.parametrize("source", CLIPS, ids=lambda path: path.name)
def test_the_clips_keep_their_frames_and_their_sound(source: Path, tmp_path: Path) -> None:
    target, _ = through(source, tmp_path)
    assert picture_times(target) == picture_times(source)
    assert packets(target) == packets(source)


@pytest.mark.parametrize("source", FORMATS, ids=lambda path: path.name)
def test_every_format_keeps_its_frames(source: Path, tmp_path: Path) -> None:
    if source.name == "vid_audio_only.mp4":
        with pytest.raises(MediaEmpty):
            VideoReader(source)
        return
    target, reports = through(source, tmp_path)
    before, after = picture_times(source), picture_times(target)
    if source.suffix in SHIFTED:
        moved = before[0] - after[0]
        # time that stands still or runs backwards cannot be kept: such a frame comes one tick after the one before it
        for index in range(1, len(before)):
            before[index] = max(before[index], before[index - 1] + Fraction(1, 90_000))
        assert [time - moved for time in before] == after
    else:
        assert before == after
    with VideoReader(target) as reader:
        assert (reader.info.width, reader.info.height) == SIZES.get(source.name, (640, 360))
        assert reader.picture.orientation.is_upright
    copied = [report for report in reports if report.action == "copied" and report.kind in ("audio", "subtitle")]
    if source.suffix not in SHIFTED and len(copied) == len(packets(source)):
        assert packets(target) == packets(source)


@pytest.mark.parametrize("name", ["vid_rot_displaymatrix_a.mp4", "vid_rot_displaymatrix_b.mov"])
def test_rotated_phone_video_is_shown_as_its_upright_twin(name: str) -> None:
    with (
        VideoReader(MEDIA / "formats" / name) as turned,
        VideoReader(MEDIA / "formats" / "vid_no_audio.mp4") as upright,
    ):
        pairs = zip(turned.frames(), upright.frames(), strict=True)
        assert max(np.abs(one.read().astype(int) - two.read()).mean() for one, two in pairs) < 4


@pytest.mark.parametrize("source", FORMATS, ids=lambda path: path.name)
def test_sound_keeps_its_place_beside_the_picture(source: Path, tmp_path: Path) -> None:
    with av.open(str(source)) as container:
        if not container.streams.audio or not container.streams.video:
            pytest.skip("no sound beside a picture")

    def offset(path: Path) -> Fraction:
        with av.open(str(path)) as container:
            firsts: dict[str, Fraction] = {}
            for frame in container.decode(container.streams.audio[0], container.streams.video[0]):
                kind, stamp, base = type(frame).__name__, frame.pts or 0, getattr(frame, "time_base", Fraction(0))
                firsts.setdefault(kind, stamp * base)
                if len(firsts) == 2:
                    break
            return firsts["AudioFrame"] - firsts["VideoFrame"]

    target, _ = through(source, tmp_path)
    assert abs(offset(target) - offset(source)) <= Fraction(1024, 44100)


def test_tracks_chapters_and_title_are_kept(tmp_path: Path) -> None:
    target, _ = through(MEDIA / "formats" / "vid_subs_chapters.mp4", tmp_path)
    with av.open(str(target)) as container:
        assert len(container.streams.subtitles) == 1
        assert [chapter["metadata"]["title"] for chapter in container.chapters()] == ["One", "Two"]
        assert container.metadata["title"] == "Test title"
    assert b"private comment" not in target.read_bytes()
    target, _ = through(MEDIA / "formats" / "vid_two_audio_tracks.mp4", tmp_path)
    with av.open(str(target)) as container:
        assert [stream.language for stream in container.streams.audio] == ["eng", "deu"]


@pytest.mark.parametrize(("name", "matrix", "full", "depth"), [
    ("vid_fullrange_yuvj420p.mp4", 1, True, 8), ("vid_untagged_color.mp4", 6, False, 8),
    ("vid_hevc_main10_sdr.mp4", 1, False, 10), ("vid_prores_proxy.mov", 1, False, 10),
])  # fmt: skip
def test_colour_tags_and_depth_are_written(name: str, matrix: int, full: bool, depth: int, tmp_path: Path) -> None:
    target, _ = through(MEDIA / "formats" / name, tmp_path)
    with av.open(str(target)) as container:
        frame = next(container.decode(video=0))
        assert (frame.colorspace, frame.color_range == 2, frame.format.components[0].bits) == (matrix, full, depth)
