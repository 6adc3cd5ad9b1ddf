"""What a run did, for people and for programs: where the output is, frames, faces, stages, streams."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from secondface.cli.details import said
from secondface.cli.language import gettext as _
from secondface.cli.screen import Screen

if TYPE_CHECKING:
    from secondface.media.side_streams import StreamReport
    from secondface.pipeline.report import RunReport

_MOST_RANGES = 6


def report_object(report: RunReport) -> dict[str, object]:
    """The report as the JSON modes print it."""
    return {**asdict(report), "output": str(report.output)}


def show_report(screen: Screen, report: RunReport) -> None:
    """Frames, faces and speed, stage by stage, and where the output is."""
    size_mb = report.output.stat().st_size / 1e6
    swaps = _swaps(report)
    changed = _("faces changed: {number}").format(number=report.faces_swapped) if swaps else ""
    screen.heading(_("Result"))
    screen.rows([
        ("  " + _("output"), str(report.output), f"{report.width}x{report.height}, {size_mb:.2f} MB"),
        *(_of_video(report, swaps=swaps) if report.kind == "video" else ()),
        ("  " + _("people"), str(report.faces), changed),
        ("  " + _("memory"), f"{report.peak_rss_bytes / 2**20:.0f} MB", _("at most")),
        ("  " + _("id in its label"), report.produce_id, ""),
    ], dim=(2,))  # fmt: skip
    screen.heading(_("Stages (they overlap)"))
    screen.rows([(f"  {stage.name}", f"{stage.busy_ms} ms") for stage in report.stages], right=(1,))
    for note in _notes(report):
        screen.note(note)


def _swaps(report: RunReport) -> bool:
    return any(stage.name == "face_swap" for stage in report.stages)


def _of_video(report: RunReport, *, swaps: bool) -> list[tuple[str, str, str]]:
    rate = report.frames * 1000 / max(1, report.phases_ms["run"])
    swapped = _("with a new face: {number}").format(number=report.swapped_frames) if swaps else ""
    return [
        ("  " + _("frames"), str(report.frames), swapped),
        ("  " + _("speed"), _("{rate} fps").format(rate=f"{rate:.1f}"), ""),
        *(("  " + _("stream"), *_stream(line)) for line in report.streams),
    ]


def _stream(line: StreamReport) -> tuple[str, str]:
    actions = {
        "encoded": _("encoded"), "copied": _("copied"), "transcoded": _("encoded again"), "dropped": _("left out")
    }  # fmt: skip
    return f"{line.kind} {line.codec}", f"{actions[line.action]} {said(line.note)}".strip()


def _notes(report: RunReport) -> list[str]:
    notes = [said(note) for note in report.notes]
    if _swaps(report) and not report.faces_swapped:
        notes.append(_("No face was changed: those there are turned away too far, too small or not chosen."))
    if report.swapped_frames and report.unswapped:
        ranges = ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in report.unswapped[:_MOST_RANGES])
        more = " …" if len(report.unswapped) > _MOST_RANGES else ""
        notes.append(_("Frames without a new face: {ranges}.").format(ranges=ranges + more))
    if report.label_waiver:
        notes.append(_("There is no visible label in the output; you said: {text}").format(text=report.label_waiver))
    return notes
