"""run_file on real clips: frames, times, sound, people, cancelling, and nothing left behind."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from secondface.errors import (
    Cancelled,
    InvalidOption,
    MappingUnresolved,
    MediaTooLarge,
    NoFaceInTarget,
    ReferenceFaceNotFound,
    SecondfaceError,
    TooManySources,
)
from secondface.media.marks import read_stored_marks
from secondface.models.sessions import OrtSessions
from secondface.pipeline.engine import Progress
from secondface.pipeline.run import run_file
from secondface.provenance.metadata import read_marks
from secondface.spec.schemas import RunRequest
from tests.sample_media import MEDIA, needs_media

pytestmark = needs_media
WOMAN = MEDIA / "portraits/synth_P009_woman_dark_long_front.jpg"
MAN = MEDIA / "portraits/synth_P005_man_beard_older_front.jpg"
CLIP = MEDIA / "videos/synth_talk_P006_360p25.mp4"
TWO = MEDIA / "videos/synth_two_speakers_P010_P002_720p25.mp4"
SHORT = MEDIA / "videos/real_intel_headpose_male_480x270_p12.mp4"
OWN_THREADS = {"decode", "analyse", "face_swap", "face_restore", "label", "watermark", "encode"}


@pytest.fixture(scope="module")
def sessions() -> OrtSessions:
    return OrtSessions("cpu")


def request(sources: list[Path], target: Path, output: Path, **options: object) -> RunRequest:
    return RunRequest.of_files(sources, target, output, **options)  # type: ignore[arg-type]


def times(path: Path) -> list[Fraction]:
    """Seconds at which each frame is shown."""
    with av.open(str(path)) as container:
        return [Fraction(frame.pts or 0) * (frame.time_base or 1) for frame in container.decode(video=0)]


def sound(path: Path) -> list[bytes]:
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(audio=0) if packet.size]


def own_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()} & OWN_THREADS


def test_every_frame_keeps_its_time_and_the_sound_its_bytes(sessions: OrtSessions, tmp_path: Path) -> None:
    told: list[Progress] = []
    report = run_file(request([WOMAN], CLIP, tmp_path / "out.mp4"), sessions, told.append)
    out = tmp_path / "out.mp4"
    assert times(out) == times(CLIP)
    assert sound(out) == sound(CLIP)
    assert (report.frames, report.faces, report.swapped_frames, report.unswapped) == (200, 1, 200, ())
    assert sum(report.phases_ms.values()) == report.wall_ms
    assert report.device_active_ms <= report.phases_ms["run"]
    assert (told[-1].done, told[-1].total) == (200, 200)
    assert [progress.device_active_ms for progress in told] == sorted(progress.device_active_ms for progress in told)
    stored = read_stored_marks(out)
    assert read_marks(stored.xmp, stored.tags).label is not None
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.slow
def test_two_people_and_two_sources_in_one_pass(sessions: OrtSessions, tmp_path: Path) -> None:
    report = run_file(request([WOMAN, MAN], TWO, tmp_path / "out.mp4"), sessions)
    assert report.faces == 2
    assert report.faces_swapped == 2 * report.frames


@pytest.mark.parametrize("after", [0, 20])
def test_cancel_in_the_middle_leaves_nothing(sessions: OrtSessions, tmp_path: Path, after: int) -> None:
    cancel = threading.Event()
    told: list[int] = []

    def tell(progress: Progress) -> None:
        told.append(progress.done)
        if progress.done >= after:
            cancel.set()

    with pytest.raises(Cancelled):
        run_file(request([WOMAN], CLIP, tmp_path / "out.mp4"), sessions, tell, cancel)
    assert [done >= after for done in told].count(True) == 1, "nothing is told once the run is asked to stop"
    assert list(tmp_path.iterdir()) == []
    assert not own_threads()


def test_cancel_before_the_start(sessions: OrtSessions, tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        run_file(request([WOMAN], CLIP, tmp_path / "out.mp4"), sessions, cancel=cancel)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sources", "target", "options", "error", "says"),
    [
        ([WOMAN, MAN], SHORT, {}, TooManySources, "face"),
        ([WOMAN], CLIP, {"limits": {"max_frames": 100}}, MediaTooLarge, "100 frames"),
        ([WOMAN], CLIP, {"limits": {"max_pixels": 100_000}}, MediaTooLarge, "limit"),
    ],
)
def test_refusals_leave_nothing_behind(
    sessions: OrtSessions,
    tmp_path: Path,
    sources: list[Path],
    target: Path,
    options: dict[str, object],
    error: type[SecondfaceError],
    says: str,
) -> None:
    with pytest.raises(error, match=says):
        run_file(request(sources, target, tmp_path / "out.mp4", **options), sessions)
    assert list(tmp_path.iterdir()) == []
    assert not own_threads()


@pytest.mark.parametrize(
    ("sources", "options", "error"),
    [
        ([WOMAN, MAN], {}, TooManySources),
        ([WOMAN], {"faces": "5"}, MappingUnresolved),
        ([WOMAN], {"mapping": ["0=1"]}, MappingUnresolved),
        ([WOMAN], {"faces": f"like:{MAN}"}, ReferenceFaceNotFound),
    ],
)
def test_who_never_comes_is_said_before_the_work(
    sessions: OrtSessions, tmp_path: Path, sources: list[Path], options: dict[str, object], error: type[SecondfaceError]
) -> None:
    told: list[Progress] = []
    with pytest.raises(error, match="16 frames looked at"):
        run_file(request(sources, CLIP, tmp_path / "out.mp4", **options), sessions, told.append)
    assert told == [], "frames were under way"
    assert list(tmp_path.iterdir()) == []


def test_a_face_that_never_comes_can_be_allowed(sessions: OrtSessions, tmp_path: Path) -> None:
    words: dict[str, object] = {"faces": "5", "allow_no_face": True, "video": {"end": "0.2"}}
    report = run_file(request([WOMAN], CLIP, tmp_path / "out.mp4", **words), sessions)
    assert (report.frames, report.faces_swapped) == (5, 0)
    assert any("There is no face 5" in note for note in report.notes)


def test_a_part_by_frames_at_another_size_and_rate(sessions: OrtSessions, tmp_path: Path) -> None:
    video = {"begin": "f50", "end": "f75", "scale": "50%", "rate": "12.5"}
    report = run_file(request([WOMAN], CLIP, tmp_path / "out.mp4", video=video), sessions)
    assert (report.frames, report.width, report.height) == (25, 320, 180)
    assert times(tmp_path / "out.mp4") == [Fraction(k * 2, 25) for k in range(13)]
    assert [(line.kind, line.action) for line in report.streams] == [("video", "encoded"), ("audio", "copied")]


@pytest.mark.parametrize("words", [{"preset": "quick"}, {"quality": 60}, {"begin": "f900"}, {"begin": "100"}])
def test_options_that_cannot_be_are_refused_before_the_work(
    sessions: OrtSessions, tmp_path: Path, words: dict[str, object]
) -> None:
    with pytest.raises(InvalidOption):
        run_file(request([WOMAN], CLIP, tmp_path / "out.mp4", video=words), sessions)
    assert list(tmp_path.iterdir()) == []


def test_a_video_becomes_an_animation_by_its_name(sessions: OrtSessions, tmp_path: Path) -> None:
    report = run_file(request([WOMAN], CLIP, tmp_path / "out.gif", video={"end": "0.2"}), sessions)
    assert (report.frames, report.swapped_frames) == (5, 5)
    assert any("no audio" in note for note in report.notes)
    with pytest.raises(InvalidOption, match="--fps"):
        run_file(request([WOMAN], CLIP, tmp_path / "out.gif", video={"rate": "5"}), sessions)


@pytest.fixture
def empty_scene(tmp_path: Path) -> Path:
    """Twenty frames of a moving slope, and no face."""
    path = tmp_path / "slope.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        for shift in range(20):
            slope = (np.arange(160)[None, :, None] + np.arange(120)[:, None, None] + 4 * shift) % 256
            frame = av.VideoFrame.from_ndarray(np.repeat(slope, 3, axis=2).astype(np.uint8), "rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_a_clip_without_a_face_is_refused_or_kept_as_asked(
    sessions: OrtSessions, tmp_path: Path, empty_scene: Path
) -> None:
    with pytest.raises(NoFaceInTarget, match="all 20 frames"):
        run_file(request([WOMAN], empty_scene, tmp_path / "out.mp4"), sessions)
    assert list(tmp_path.iterdir()) == [empty_scene]
    report = run_file(request([WOMAN], empty_scene, tmp_path / "out.mp4", allow_no_face=True), sessions)
    assert (report.frames, report.faces, report.unswapped) == (20, 0, ((0, 19),))
    assert times(tmp_path / "out.mp4") == times(empty_scene)


def test_without_a_swap_a_clip_is_enlarged(sessions: OrtSessions, tmp_path: Path) -> None:
    tiny = MEDIA / "formats/vid_16x16.mp4"
    report = run_file(request([], tiny, tmp_path / "out.mp4", pipeline="upscale:scale=4"), sessions)
    assert (report.width, report.height) == (64, 64)
    with av.open(str(tmp_path / "out.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.width, stream.height) == (64, 64)
    assert times(tmp_path / "out.mp4") == times(tiny)
