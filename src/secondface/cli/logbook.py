"""The log file of the command line: faults with their details, and promises to label a result elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from secondface import __version__
from secondface.errors import OutputNotWritable

if TYPE_CHECKING:
    from secondface.pipeline.report import RunReport


def append_to_log(log_file: Path, text: str) -> None:
    """Add an entry with the time and version. Raises OutputNotWritable."""
    try:
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with log_file.open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {__version__} {text}\n")
    except OSError as error:
        raise OutputNotWritable(f"{log_file}: {error.strerror}", path=str(log_file)) from error


def note_waiver(log_file: Path, report: RunReport) -> None:
    """Keep the promise under which a run left the visible label off, if it did. Raises OutputNotWritable."""
    if report.label_waiver:
        append_to_log(log_file, f"{report.produce_id} has no visible label: {report.label_waiver}")
