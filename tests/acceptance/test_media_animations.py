"""Real animations through the whole run: frames, delays, loops, alpha and marks, in every format they can become."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from secondface.errors import InvalidOption, MediaTooLarge, OutputFormatUnsupported
from secondface.media.animation_output import AnimationWriter
from secondface.media.animations import AnimationReader
from secondface.media.images import read_still
from secondface.media.marks import read_stored_marks
from secondface.media.still_frames import StillFrame
from secondface.models.sessions import OrtSessions
from secondface.pipeline.run import run_file
from secondface.provenance.metadata import read_marks
from secondface.spec.schemas import RunRequest
from tests.sample_media import MEDIA, needs_media

pytestmark = [
    needs_media, pytest.mark.slow,
]  # fmt: skip
SOURCE = MEDIA / "portraits/synth_P010_woman_bun_light_front.jpg"
GIF, WEBP = MEDIA / "formats/img_animated.gif", MEDIA / "formats/img_animated.webp"
CLIP = MEDIA / "formats/vid_vfr.mp4"
STEP = Fraction(16, 100)
_APPROXIMATION = {
    (".gif", "gif"): 1.5, (".webp", "gif"): 3.0, (".gif", "webp"): 4.0, (".webp", "webp"): 4.0,
    (".gif", "png"): 0.01, (".webp", "png"): 0.01, (".gif", "apng"): 0.01, (".webp", "apng"): 0.01,
}  # fmt: skip
"""Mean change, of 255, where nothing was swapped: palettes and lossy coding, nothing else."""


@pytest.fixture(scope="module")
def sessions() -> OrtSessions:
    return OrtSessions("cpu")


def request(target: Path, output: Path, **options: Any) -> RunRequest:
    return RunRequest.of_files([SOURCE], target, output, restore="off", **options)


def is_marked(path: Path) -> bool:
    stored = read_stored_marks(path)
    found = read_marks(stored.xmp, stored.tags)
    return found.label is not None and not found.problems


@pytest.mark.parametrize("target", [GIF, WEBP], ids=["gif", "webp"])
@pytest.mark.parametrize("ending", ["gif", "webp", "png", "apng"])
def test_an_animation_stays_one(target: Path, ending: str, sessions: OrtSessions, tmp_path: Path) -> None:
    out = tmp_path / f"out.{ending}"
    report = run_file(request(target, out), sessions)
    assert (report.frames, report.faces, report.faces_swapped) == (12, 1, 12)
    before, after = AnimationReader(target), AnimationReader(out)
    assert after.timing.delays == before.timing.delays == (STEP,) * 12
    assert after.timing.plays == before.timing.plays == 0
    assert is_marked(out)
    for old, new in zip(before.frames(), after.frames(), strict=True):
        difference = np.abs(old.rgb.astype(int) - new.rgb)
        # the face is in the middle, the label at the lower right; the trees at the left belong to nobody but to the
        # invisible watermark, which may move them by two levels
        assert difference[20:150, 125:190].mean() > 2
        assert np.maximum(difference[:, :60] - 2, 0).mean() < _APPROXIMATION[target.suffix, ending]
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_alpha_is_kept_and_the_label_is_seen_on_it(sessions: OrtSessions, tmp_path: Path) -> None:
    alpha = np.full((180, 320), 255, np.uint8)
    alpha[:, 250:] = 0
    alpha[140:, :] = 0
    target = tmp_path / "in.webp"
    with AnimationWriter(target, (320, 180), 3) as writer:
        for frame in AnimationReader(GIF).frames():
            if frame.index < 4:
                writer.write(StillFrame(frame.rgb, alpha, index=frame.index), Fraction(50 + frame.index, 1000))
        writer.close()
    for ending in ("webp", "png", "gif"):
        out = tmp_path / f"out.{ending}"
        assert run_file(request(target, out), sessions).faces_swapped == 4
        reader = AnimationReader(out)
        assert reader.timing.plays == 3
        if ending != "gif":
            assert reader.timing.delays == AnimationReader(target).timing.delays
        for frame in reader.frames():
            assert frame.alpha is not None
            changed = frame.alpha != alpha
            rows, columns = np.nonzero(changed)
            assert (frame.alpha[changed] == 255).all() and 500 < rows.size < 6000
            assert rows.min() > 120 and columns.min() > 150  # nothing but the label's own corner


@pytest.mark.parametrize("ending", ["mp4", "webm"])
def test_an_animation_becomes_a_video_of_the_same_pace(ending: str, sessions: OrtSessions, tmp_path: Path) -> None:
    out = tmp_path / f"out.{ending}"
    report = run_file(request(GIF, out), sessions)
    assert report.faces_swapped == 12 and is_marked(out)
    with av.open(str(out)) as container:
        stream = container.streams.video[0]
        times = [Fraction(frame.pts or 0) * (frame.time_base or 1) for frame in container.decode(stream)]
        assert (stream.width, stream.height) == (320, 180)
        assert times == [STEP * index for index in range(12)]
        assert container.duration is not None and abs(container.duration / 1_000_000 - 1.92) < 0.01


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_a_video_becomes_an_animation_of_the_same_pace(ending: str, sessions: OrtSessions, tmp_path: Path) -> None:
    out = tmp_path / f"out.{ending}"
    report = run_file(request(CLIP, out), sessions)
    assert "an animation holds no audio: left out" in report.notes
    with av.open(str(CLIP)) as container:
        times = [Fraction(frame.pts or 0) * (frame.time_base or 1) for frame in container.decode(video=0)]
    delays = AnimationReader(out).timing.delays
    assert len(delays) == len(times) == report.frames
    starts = [sum(delays[:index], Fraction(0)) for index in range(len(delays))]
    tick = Fraction(1, 100 if ending == "gif" else 1000)
    assert max(abs(start - (time - times[0])) for start, time in zip(starts, times, strict=True)) <= tick


def test_of_an_animation_named_as_a_still_the_first_frame_is_used(sessions: OrtSessions, tmp_path: Path) -> None:
    report = run_file(request(GIF, tmp_path / "out.jpg"), sessions)
    assert (report.kind, report.frames) == ("still", 1)
    assert "only the first of 12 frames is used" in report.notes
    with Image.open(GIF) as picture:
        first = np.asarray(picture.convert("RGB")).astype(int)
    assert np.abs(read_still(tmp_path / "out.jpg").frame.rgb.astype(int) - first)[:, :60].mean() < 4


def test_refusals(sessions: OrtSessions, tmp_path: Path) -> None:
    with pytest.raises(OutputFormatUnsupported):
        run_file(request(GIF, tmp_path / "out.xyz"), sessions)
    with pytest.raises(InvalidOption):
        run_file(request(GIF, tmp_path / "out.gif", video={"codec": "h264"}), sessions)
    with pytest.raises(MediaTooLarge):
        run_file(request(GIF, tmp_path / "out.gif", limits={"max_frames": 5}), sessions)
    assert list(tmp_path.iterdir()) == []
