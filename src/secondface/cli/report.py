"""What a run did, for people and for programs: where the output is, frames, faces, stages, streams."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from secondface.cli.language import gettext as _
from secondface.cli.screen import Screen

if TYPE_CHECKING:
    from secondface.pipeline.run import RunReport


def report_object(report: RunReport) -> dict[str, object]:
    """The report as the JSON modes print it."""
    return {
        "output": str(report.output),
        "frames": report.frames,
        "faces": report.faces,
        "swapped_frames": report.swapped_frames,
        "phases_ms": dict(report.phases_ms),
        "device_active_ms": report.device_active_ms,
        "peak_rss_bytes": report.peak_rss_bytes,
        "stages": [asdict(stage) for stage in report.stages],
        "streams": [asdict(stream) for stream in report.streams],
        "notes": list(report.notes),
    }


def show_report(screen: Screen, report: RunReport) -> None:
    """Frames, faces and speed, stage by stage, and where the output is."""
    run_s = report.phases_ms.get("run", 0) / 1000
    size_mb = report.output.stat().st_size / 1e6
    screen.heading(_("Result"))
    screen.rows([
        ("  " + _("output"), str(report.output), _("{size} MB").format(size=f"{size_mb:.2f}")),
        ("  " + _("frames"), str(report.frames), _("{number} with a new face").format(number=report.swapped_frames)),
        ("  " + _("faces"), str(report.faces), _("different people followed")),
        ("  " + _("speed"), _("{rate} fps").format(rate=f"{report.frames / max(run_s, 1e-3):.1f}"), ""),
        ("  " + _("memory"), _("{size} MB").format(size=f"{report.peak_rss_bytes / 2**20:.0f}"), _("at most")),
    ], dim=(2,))  # fmt: skip
    screen.heading(_("Stages (they overlap)"))
    screen.rows([(f"  {stage.name}", f"{stage.busy_ms} ms") for stage in report.stages], right=(1,))
    for note in report.notes:
        screen.note(note)
