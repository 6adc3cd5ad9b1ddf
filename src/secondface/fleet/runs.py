"""What it means to run one job once its files are here: in this process, or in a caged one (`caged_runs`).

Decides what an attempt hands over and what it gets back. Must not know leases or the object store.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from secondface.errors import InternalFault
from secondface.pipeline.meter import PhaseClock
from secondface.pipeline.passage import Conduct
from secondface.pipeline.preparation import Look
from secondface.pipeline.report import RunReport
from secondface.pipeline.run import conduct_file
from secondface.provenance.signing import Statement
from secondface.spec.schemas import RunRequest
from secondface.spec.work import WorkOrder

Room = Callable[[int], AbstractContextManager[object]]
"""Waits until so many pixels may be held, and keeps their place for the block."""


@dataclass(frozen=True, slots=True)
class RunTask:
    """A job whose inputs lie in `inputs` by their keys; its output goes into the folder `place`/out."""

    order: WorkOrder
    place: Path
    inputs: Mapping[str, Path]
    produce_id: str
    content_producer: str = ""

    @property
    def output(self) -> Path:
        return self.place / "out" / self.order.output_name

    @property
    def request(self) -> RunRequest:
        """For the engine. Raises BadRequest errors."""
        return self.order.run_request(lambda each: self.inputs[each.key], self.output)

    @property
    def looks(self) -> dict[Path, Look]:
        """Inputs that the gateway's cage has looked at; their bytes were compared on the way here."""
        return {
            self.inputs[key]: Look(facts.width, facts.height, facts.notes)
            for key, facts in self.order.facts.items()
            if key in self.inputs
        }


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of it: counts for the books, and what is kept beside the output."""

    frames: int
    faces: int
    facts: Mapping[str, object]
    statement: Statement | None = None
    """What is to be signed about the output, by whoever holds the key."""

    def with_notes(self, notes: Sequence[str]) -> RunResult:
        """The same with more to say."""
        said = cast("Sequence[str]", self.facts.get("notes", ()))
        return replace(self, facts={**self.facts, "notes": [*said, *notes]})


class Runs(Protocol):
    """Where jobs are run. Safe in any thread."""

    def run(self, task: RunTask, conduct: Conduct, phases: PhaseClock, room: Room) -> RunResult:
        """Make the output. Raises the errors of a run; RunCrashed where its process ended by itself."""
        ...

    def close(self) -> None: ...


class DirectRuns:
    """Runs in this process: for machines that cannot cage one, or an operator who wants no cage."""

    def run(self, task: RunTask, conduct: Conduct, phases: PhaseClock, room: Room) -> RunResult:
        """As Runs.run."""
        report = conduct_file(
            task.request, conduct, phases, content_producer=task.content_producer, produce_id=task.produce_id,
            name_of=lambda path: path.name, room=room, known=task.looks,
        )  # fmt: skip
        return result_of(report)

    def close(self) -> None:
        """There is nothing to end."""


def result_of(report: RunReport) -> RunResult:
    """The report without what is told elsewhere: usage, and names of this machine."""
    return RunResult(report.frames, report.faces, _facts(report), report.statement)


def _facts(report: RunReport) -> dict[str, object]:
    return {
        "kind": report.kind, "width": report.width, "height": report.height, "frames": report.frames,
        "faces": report.faces, "faces_swapped": report.faces_swapped, "swapped_frames": report.swapped_frames,
        "unswapped": [list(each) for each in report.unswapped], "notes": list(report.notes),
        "streams": [asdict(each) for each in report.streams], "stages": [asdict(each) for each in report.stages],
        "produce_id": report.produce_id, "watermark": report.watermark, "watermark_held": report.watermark_held,
        "label_waiver": report.label_waiver,
    }  # fmt: skip


def open_plain(path: Path) -> BinaryIO:
    """An output for reading. Raises InternalFault for what is no plain file: whoever made it read a stranger's bytes,
    and a link would hand out any file of this machine."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InternalFault(f"An output cannot be opened: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InternalFault("An output is no plain file.")
    return os.fdopen(descriptor, "rb")
