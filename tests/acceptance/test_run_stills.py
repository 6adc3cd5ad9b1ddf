"""run_file on real pictures: what is changed, what is not, and every way in which it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from secondface.errors import (
    FileUnreadable,
    MediaCorrupt,
    NoFaceInSource,
    NoFaceInTarget,
    OutputFormatUnsupported,
    OutputNotWritable,
    ReferenceFaceNotFound,
    SecondfaceError,
    TooManySources,
)
from secondface.frames import RGB8
from secondface.media.images import read_still, write_still
from secondface.media.marks import read_stored_marks
from secondface.models.sessions import OrtSessions
from secondface.pipeline.run import RunReport, run_file, swap_arrays
from secondface.provenance.metadata import read_marks
from secondface.spec.graph import LabelSpec
from secondface.spec.marks import watermark_of, watermark_text
from secondface.spec.schemas import RunRequest
from tests.sample_media import MEDIA, needs_media

pytestmark = needs_media
PORTRAITS = MEDIA / "portraits"
WOMAN = PORTRAITS / "synth_P009_woman_dark_long_front.jpg"
OTHER = PORTRAITS / "synth_P010_woman_bun_light_front.jpg"
MAN = PORTRAITS / "synth_P005_man_beard_older_front.jpg"
TARGET = PORTRAITS / "synth_P006_selfie_outdoor.jpg"
CAT = PORTRAITS / "neg_cat.png"
TWO = MEDIA / "groups/synth_two_people.jpg"


@pytest.fixture(scope="module")
def sessions() -> OrtSessions:
    return OrtSessions("cpu")


def run(sessions: OrtSessions, sources: list[Path], target: Path, output: Path, **options: object) -> RunReport:
    request = RunRequest.of_files(sources, target, output, **options)  # type: ignore[arg-type]
    return run_file(request, sessions, produce_id="0123456789abcdef0123456789abcdef")


def beyond_the_watermark(before: RGB8, after: RGB8) -> np.ndarray:
    """[h,w] Where any channel moved by more than the two levels that the invisible watermark may take."""
    return np.asarray((np.abs(before.astype(np.int16) - after.astype(np.int16)) > 2).any(axis=2))


def test_only_the_face_and_the_label_change(sessions: OrtSessions, tmp_path: Path) -> None:
    report = run(sessions, [WOMAN], TARGET, tmp_path / "out.png")
    before, after = read_still(TARGET).frame.rgb, read_still(tmp_path / "out.png").frame.rgb
    changed = beyond_the_watermark(before, after)
    assert 0.02 < changed.mean() < 0.35
    assert (before != after).any(axis=2).mean() > changed.mean()
    face, label = changed[:1000], changed[1000:]
    rows, columns = np.nonzero(face)
    assert label.any()
    assert np.ptp(rows) < 700
    assert np.ptp(columns) < 520
    assert (report.frames, report.faces, report.faces_swapped, report.swapped_frames) == (1, 1, 1, 1)
    assert list(tmp_path.iterdir()) == [tmp_path / "out.png"]


def test_the_figures_add_up(sessions: OrtSessions, tmp_path: Path) -> None:
    report = run(sessions, [WOMAN], TARGET, tmp_path / "out.jpg")
    assert sum(report.phases_ms.values()) == report.wall_ms
    assert 0 < report.device_active_ms <= report.phases_ms["run"]
    names = [stage.name for stage in report.stages]
    assert names == ["decode", "analyse", "face_swap", "face_restore", "label", "watermark", "encode"]
    assert report.peak_rss_bytes > 50e6


@pytest.mark.parametrize("name", ["out.png", "out.jpg", "out.webp", "out.avif", "out.tiff"])
def test_marks_are_in_every_format(sessions: OrtSessions, tmp_path: Path, name: str) -> None:
    request = RunRequest.of_files([WOMAN], PORTRAITS / "real_nasa_collins_smile.png", tmp_path / name)
    report = run_file(request, sessions, content_producer="ACME", produce_id="job-7")
    stored = read_stored_marks(tmp_path / name)
    marks = read_marks(stored.xmp, stored.tags)
    assert marks.label is not None
    assert (marks.label.content_producer, marks.label.produce_id) == ("ACME", "job-7")
    assert report.produce_id == "job-7"
    assert report.watermark == watermark_text(watermark_of("job-7"))
    assert report.watermark_held
    assert marks.says_ai_made
    assert not marks.problems


def test_the_label_stays_away_only_when_waived_and_the_metadata_never(sessions: OrtSessions, tmp_path: Path) -> None:
    waiver = {"visible": False, "acknowledgement": "Labelled by the player."}
    report = run(sessions, [WOMAN], TARGET, tmp_path / "out.png", label=waiver)
    before, after = read_still(TARGET).frame.rgb, read_still(tmp_path / "out.png").frame.rgb
    assert not beyond_the_watermark(before, after)[-200:, -300:].any()
    assert report.watermark_held
    assert report.label_waiver == "Labelled by the player."
    stored = read_stored_marks(tmp_path / "out.png")
    assert read_marks(stored.xmp, stored.tags).says_ai_made


@pytest.mark.parametrize(
    ("sources", "target", "output", "options", "error"),
    [
        ([CAT], TARGET, "out.png", {}, NoFaceInSource),
        ([WOMAN, CAT], TARGET, "out.png", {"same_person": True}, NoFaceInSource),
        ([WOMAN], CAT, "out.png", {}, NoFaceInTarget),
        ([WOMAN, OTHER], TARGET, "out.png", {}, TooManySources),
        ([WOMAN], TARGET, "out.mp4", {}, OutputFormatUnsupported),
        ([WOMAN], TARGET, "out", {}, OutputFormatUnsupported),
        ([WOMAN], TARGET, "none/out.png", {}, OutputNotWritable),
        ([WOMAN], PORTRAITS / "none.png", "out.png", {}, FileUnreadable),
        ([WOMAN], MEDIA / "broken/truncated_half.jpg", "out.png", {}, MediaCorrupt),
        ([WOMAN], TARGET, "out.png", {"faces": f"like:{MAN}"}, ReferenceFaceNotFound),
        ([WOMAN], TARGET, "out.png", {"faces": f"like:{CAT}"}, ReferenceFaceNotFound),
    ],
)
def test_refusals_leave_nothing_behind(
    sessions: OrtSessions,
    tmp_path: Path,
    sources: list[Path],
    target: Path,
    output: str,
    options: dict[str, object],
    error: type[SecondfaceError],
) -> None:
    with pytest.raises(error) as caught:
        run(sessions, sources, target, tmp_path / output, **options)
    assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_an_error_names_the_source_picture(sessions: OrtSessions, tmp_path: Path) -> None:
    with pytest.raises(NoFaceInSource, match=r"neg_cat\.png"):
        run(sessions, [CAT], TARGET, tmp_path / "out.png")


def test_a_target_without_a_face_is_kept_when_that_is_allowed(sessions: OrtSessions, tmp_path: Path) -> None:
    report = run(sessions, [WOMAN], CAT, tmp_path / "out.png", allow_no_face=True)
    before, after = read_still(CAT).frame.rgb, read_still(tmp_path / "out.png").frame.rgb
    assert not beyond_the_watermark(before, after)[:150].any()
    assert report.faces == report.faces_swapped == 0
    assert any("No face" in note for note in report.notes)


def test_each_of_two_people_gets_the_source_that_was_mapped(sessions: OrtSessions, tmp_path: Path) -> None:
    sources = [WOMAN, OTHER]
    straight = run(sessions, sources, TWO, tmp_path / "a.png")
    mapped = run(sessions, sources, TWO, tmp_path / "b.png", mapping=["1=0", "0=1"])
    swapped_by_order = run(sessions, sources[::-1], TWO, tmp_path / "c.png")
    assert straight.faces_swapped == mapped.faces_swapped == swapped_by_order.faces_swapped == 2
    a, b, c = (read_still(tmp_path / f"{name}.png").frame.rgb for name in "abc")
    assert (b == c).all()
    assert (a != b).any()


def test_a_whole_pipeline(sessions: OrtSessions, tmp_path: Path) -> None:
    small = PORTRAITS / "synth_P001_tiny_96px_derived.jpg"
    pipeline = "denoise,face_restore:strength=0.5,face_swap,colour:exposure=0.2:auto=true,upscale:scale=2"
    report = run(sessions, [WOMAN], small, tmp_path / "out.png", pipeline=pipeline)
    assert read_still(tmp_path / "out.png").frame.rgb.shape == (192, 192, 3)
    assert (report.width, report.height) == (192, 192)


def test_arrays_carry_the_label_unless_it_is_waived(sessions: OrtSessions) -> None:
    source, target = read_still(WOMAN).frame.rgb, read_still(TARGET).frame.rgb
    kept = target.copy()
    labelled = swap_arrays(source, target, sessions, produce_id="one")
    off = LabelSpec(visible=False, acknowledgement="shown beside it")
    bare = swap_arrays([source], target, sessions, label=off, produce_id="one")
    assert (target == kept).all()
    assert beyond_the_watermark(target, labelled)[-200:, -300:].any()
    assert not beyond_the_watermark(target, bare)[-200:, -300:].any()
    assert (labelled[:700] == bare[:700]).all()


def test_faces_that_are_not_followed_are_said(sessions: OrtSessions, tmp_path: Path) -> None:
    report = run(sessions, [WOMAN], TWO, tmp_path / "out.png", faces="all", limits={"max_faces": 1}, restore="off")
    assert report.faces_swapped == 1
    assert any("1 more face(s) were seen at once than the 1 that are followed" in note for note in report.notes)
    report = run(sessions, [WOMAN], TWO, tmp_path / "out.png", faces="all", restore="off")
    assert (report.faces_swapped, report.notes) == (2, ())


def test_like_means_the_nearest_and_not_a_lookalike(sessions: OrtSessions, tmp_path: Path) -> None:
    """P010 and P006 are less than the limit for one person apart."""
    lookalike, meant = (
        read_still(PORTRAITS / name).frame.rgb[:1024, :1024]
        for name in ("synth_P006_woman_slick_medium_dark_front.jpg", OTHER.name)
    )
    both, output = tmp_path / "both.png", tmp_path / "out.png"
    write_still(both, np.hstack([lookalike, meant]))
    report = run(sessions, [MAN], both, output, faces=f"like:{OTHER}", restore="off", label=LabelSpec(languages="en"))
    before, after = read_still(both).frame.rgb, read_still(output).frame.rgb
    changed = beyond_the_watermark(before, after)[:800]
    assert report.faces_swapped == 1
    assert not changed[:, : lookalike.shape[1]].any()
    assert changed[:, lookalike.shape[1] :].any()
