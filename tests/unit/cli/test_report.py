"""What a run says of itself to people."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondface.cli.report import show_report
from secondface.cli.screen import Screen
from secondface.pipeline.meter import StageUsage
from secondface.pipeline.report import RunReport


def report(output: Path, step: str) -> RunReport:
    output.write_bytes(b"x")
    return RunReport(
        output=output, kind="still", width=8, height=8, frames=1, faces=1, faces_swapped=0, swapped_frames=0,
        unswapped=(), phases_ms={"run": 10}, wall_ms=10, device_active_ms=10,
        stages=(StageUsage(step, 10, 1),), peak_rss_bytes=1, streams=(), notes=(), produce_id="0" * 32,
        label_waiver=None,
    )  # fmt: skip


@pytest.mark.parametrize(("step", "said"), [("face_swap", True), ("face_restore", False)])
def test_only_a_swap_counts_changed_faces(
    step: str, said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_report(Screen(), report(tmp_path / "out.png", step))
    told = capsys.readouterr()
    assert ("faces changed: 0" in told.out) is said
    assert ("No face was changed" in told.out + told.err) is said
