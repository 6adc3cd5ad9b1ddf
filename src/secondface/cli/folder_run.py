"""`secondface run` over several targets: one bar, what is done already is left alone, failures do not stop the rest.

Decides the order, when a failure concerns all files, and the exit code; each target is an ordinary run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from secondface.cli.commands import Session
from secondface.cli.exits import OK, SOME_FAILED, exit_code
from secondface.cli.inputs import Gathered
from secondface.cli.output_names import output_paths, prepare_folder
from secondface.cli.progress import FolderBar, folder_bar
from secondface.cli.resume import Digests, id_of, is_done
from secondface.cli.run_options import RunOptions, request_of
from secondface.cli.signals import Stop, stop_on_signals
from secondface.domain.pricing import PriceRow
from secondface.errors import (
    Cancelled,
    DeviceUnavailable,
    DiskFull,
    ModelCorrupt,
    ModelMissing,
    NoFaceInSource,
    OutputOccupied,
    SecondfaceError,
)

if TYPE_CHECKING:
    from secondface.compose import Local
    from secondface.pipeline.report import RunReport
    from secondface.spec.schemas import RunRequest

_ENDS_ALL = (DeviceUnavailable, DiskFull, ModelMissing, ModelCorrupt, NoFaceInSource)
"""The next file would meet the same."""


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one target."""

    target: Path
    output: Path
    state: Literal["done", "there", "failed", "cancelled"]
    report: RunReport | None = None
    error: SecondfaceError | None = None
    seconds: float = 0.0


def run_folder(own: Session, options: RunOptions, gathered: Gathered, price: PriceRow) -> int:
    """All targets, one after the other; the result is the exit code. Raises what concerns all of them."""
    from secondface.cli.folder_report import show_passed_over, show_row, show_summary
    from secondface.cli.logbook import note_waiver
    from secondface.compose import local

    folder = prepare_folder(options["output"], gathered.files)
    work = [
        (target, request_of(options, own.settings, target, output))
        for target, output in zip(gathered.files, output_paths(gathered.files, folder), strict=True)
    ]
    runner = local(own.settings, device=options["device"])
    show_passed_over(own.screen, gathered.passed_over)
    rows: list[Row] = []
    with stop_on_signals() as stop, folder_bar(own.screen, price, gathered.files) as bar:
        for row in _rows(runner, work, stop, bar, replace=options["yes"]):
            rows.append(row)
            show_row(own.screen, row, price)
            if row.report:
                note_waiver(own.settings.log_file, row.report)
    ended = next((row.error for row in rows if row.error and isinstance(row.error, (Cancelled, *_ENDS_ALL))), None)
    code = exit_code(ended) if ended else SOME_FAILED if any(row.error for row in rows) else OK
    show_summary(own.screen, rows, price, left=len(work) - len(rows), code=code)
    return code


def _rows(
    runner: Local, work: list[tuple[Path, RunRequest]], stop: Stop, bar: FolderBar, *, replace: bool
) -> Iterator[Row]:
    digests = Digests()
    runner.require_room([request for _target, request in work if not request.output.exists()])
    for target, request in work:
        started = time.monotonic()
        bar.begin(target)
        try:
            runner_report = _one(runner, request, digests, stop, bar.tell, replace=replace)
        except SecondfaceError as error:
            if isinstance(error, Cancelled):
                error.facts["signal"] = stop.received
            state = "cancelled" if isinstance(error, Cancelled) else "failed"
            yield Row(target, request.output, state, error=error, seconds=time.monotonic() - started)
            if isinstance(error, (Cancelled, *_ENDS_ALL)):
                return
        else:
            state = "done" if runner_report else "there"
            yield Row(target, request.output, state, runner_report, seconds=time.monotonic() - started)
        bar.end(target)


def _one(
    runner: Local, request: RunRequest, digests: Digests, stop: Stop, tell: Callable[..., None], *, replace: bool
) -> RunReport | None:
    """Run one target; None where its output is there already."""
    if stop.is_set():
        raise Cancelled
    request = runner.fitted(request)
    produce_id = id_of(request, digests, runner.settings.content_producer)
    if is_done(request.output, produce_id):
        return None
    if request.output.exists() and not replace:
        raise OutputOccupied(
            f"{request.output}: made by something else, or with other options or inputs", path=str(request.output)
        )
    return runner.run(request, on_progress=tell, cancel=stop, produce_id=produce_id)
