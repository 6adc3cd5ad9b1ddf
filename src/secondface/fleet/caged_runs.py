"""Runs in caged processes, one for each attempt and gone with it; models stay warm in the worker.

Decides what such a process may see (its folder, and no other job's), how it is stopped, and how its end is judged. What
it says and what it leaves is a stranger's: names are never taken from it and links never followed.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

import psutil

from secondface import processors
from secondface.confidential import make_private
from secondface.errors import CageUnavailable, DiskFull, InternalFault, RunCrashed
from secondface.fleet.caged_run import ORDER
from secondface.fleet.guard_desk import GuardDesk
from secondface.fleet.lanes import Arena
from secondface.fleet.marks_check import READ_MARKS, READING_CAGE, require_marked
from secondface.fleet.model_desk import ModelDesk, ToldWork
from secondface.fleet.report_words import result_of_words
from secondface.fleet.run_ends import RunEnds
from secondface.fleet.run_words import Listener, error_of_words
from secondface.fleet.runs import Room, RunResult, RunTask, open_plain
from secondface.media.bubblewrap import bubblewrap_program, library_folders, walls
from secondface.media.cage import Cage, nobody
from secondface.media.caged_task import CagedTask, Outcome
from secondface.media.encoder_options import is_of_card
from secondface.observe import log
from secondface.pipeline.engine import Progress
from secondface.pipeline.meter import MemoryPeak, Phase, PhaseClock
from secondface.pipeline.passage import Conduct
from secondface.pipeline.people import PeopleMemory
from secondface.pipeline.preparation import inspect_inputs
from secondface.provenance.metadata import metadata_marks
from secondface.spec.schemas import RunRequest

RUN = "secondface.fleet.caged_run:run_given"
_LOOK_S = 0.05
_WEEK_S = 7 * 24 * 3600
_OPEN_FILES = 256
_LEAST_ADDRESSES = 8 << 30
_MOST_PEOPLE_BYTES = 256 << 20
_READ_ALONE = (Path("/sys/fs/cgroup/cpu.max"),)
_CARDS = ("nvidia*", "dri/*")


@dataclass(frozen=True, slots=True)
class CageTerms:
    """What holds for all caged runs of a worker."""

    folders: Path
    """Below it lie the folders of all attempts of this machine."""
    walls: str | None = field(default_factory=bubblewrap_program)
    """Bubblewrap, or None to do without."""
    memory_bytes: int = field(default_factory=lambda: max(_LEAST_ADDRESSES, psutil.virtual_memory().total))
    """Address space of a run; codecs and threads reserve far more than they use."""
    task: str = RUN
    readable: tuple[Path, ...] = ()
    """More folders of program code, such as those of steps that lie elsewhere."""


class CagedRuns:
    """Starts a caged process for each run (`fleet.runs.Runs`)."""

    def __init__(self, terms: CageTerms) -> None:
        self._terms = terms
        self._code = (*library_folders(), *terms.readable)
        around: tuple[str, ...] = ()
        if terms.walls is not None:
            make_private(terms.folders)
            readable = [*self._code, *_READ_ALONE]
            around = walls(terms.walls, readable=readable, writable=[terms.folders], devices=_cards())
        self._forks = CagedTask(terms.task, READ_MARKS, around=around)

    @property
    def process_id(self) -> int | None:
        """Of the process that starts runs, while there is one."""
        return self._forks.process_id

    def start(self) -> None:
        """Begin to load what runs need, without waiting. Raises CageUnavailable."""
        self._forks.start()

    def close(self) -> None:
        """As Runs.close: ends all processes."""
        self._forks.close()

    def run(self, task: RunTask, conduct: Conduct, phases: PhaseClock, room: Room) -> RunResult:
        """As Runs.run."""
        request = task.request
        guard = GuardDesk(conduct.guard, conduct.run_sessions, request)
        phases.enter("fetch")
        looks = inspect_inputs(request, conduct, task.looks)
        argument = {
            "inputs": {key: str(path.relative_to(task.place)) for key, path in task.inputs.items()},
            "looks": {
                str(path.relative_to(task.place)): [look.width, look.height, list(look.notes)]
                for path, look in looks.items()
            },
            "produce_id": task.produce_id, "content_producer": task.content_producer,
            "device": getattr(conduct.sessions, "device", "cpu"), "threads": processors.usable(),
            "listens": _listens(), "shown": guard.at_once,
        }  # fmt: skip
        _open_to_nobody(task)
        with room(sum(look.width * look.height for look in looks.values())):
            end = self._run(argument, conduct, guard, phases, self._cage(task, request))
        guard.require_asked()
        self._require_marked(task, conduct)
        return result_of_words(end, task)

    def _require_marked(self, task: RunTask, conduct: Conduct) -> None:
        """Let another process read the output's metadata marks back. Raises MarkMissing, InternalFault."""
        with open_plain(task.output) as file:
            files = [(file.fileno(), task.output.name)]
            with self._forks.begin(files, None, READING_CAGE, READ_MARKS) as child:
                outcome = child.outcome(look=conduct.checkpoint, look_every_s=_LOOK_S)
        require_marked(outcome, metadata_marks(task.produce_id, task.content_producer))

    def _cage(self, task: RunTask, request: RunRequest) -> Cage:
        on_card = is_of_card(request.video.encoder) or is_of_card(request.video.decoder)
        return Cage(
            # a card's driver reserves more addresses than there is memory
            memory_bytes=1 << 46 if on_card else self._terms.memory_bytes,
            cpu_s=_WEEK_S, wall_s=_WEEK_S, output_bytes=shutil.disk_usage(task.place).free, open_files=_OPEN_FILES,
            readable=(task.place / "in", *(path for path in (*self._code, *_READ_ALONE) if path.exists())),
            writable=(task.place / "out",), home=task.place, devices=_cards() if on_card else (),
        )  # fmt: skip

    def _run(
        self, argument: dict[str, Any], conduct: Conduct, guard: GuardDesk, phases: PhaseClock, cage: Cage
    ) -> dict[str, Any]:
        """The last words of a run that went well. Raises what ended it."""
        told = conduct.memory = ToldPeak()
        with ExitStack() as leaving:
            ends = leaving.enter_context(RunEnds())
            people = leaving.enter_context(_People(conduct.people))
            # From here on things end in this order: the process, calls of models, and what is counted as work.
            work = ToldWork(conduct.active)
            leaving.callback(work.close)
            desk = ModelDesk(conduct.sessions, guard, Arena(ends.arena), ends.lanes, work)
            leaving.callback(desk.join)
            leaving.callback(ends.hang_up)
            desk.start()
            with ends.theirs() as theirs:
                files = [*theirs[:2], (people.descriptor, "people"), *theirs[2:]]
                child = leaving.enter_context(self._forks.begin(files, argument, cage))

            def entered(phase: Phase) -> None:
                if phase != "run":
                    desk.close()
                phases.enter(phase)
                if phase == "run":
                    desk.open()

            def progressed(done: int, total: int, peak_bytes: int) -> None:
                told.note(peak_bytes)
                conduct.tell(Progress(done, total or None, 0, 0.0, 0, ()))

            listener = Listener(ends.line, work=work.add, phase=entered, progress=progressed)
            try:
                outcome = child.outcome(hear={ends.line: listener.hear}, look=conduct.checkpoint, look_every_s=_LOOK_S)
            except InternalFault:
                guard.require_passed()  # nonsense covers no refusal up
                raise
            told.note(0 if outcome is None else outcome.peak_bytes)
            guard.require_passed()  # whatever the run made of it
            end = judged(outcome)
            people.keep()
            return end


class ToldPeak(MemoryPeak):
    """The highest memory of a process that tells of it."""

    def __init__(self) -> None:
        self._highest = 0

    def note(self, peak_bytes: int) -> None:
        self._highest = max(self._highest, peak_bytes)

    def sample(self) -> None:
        """It comes by itself."""

    def bytes(self) -> int:
        return self._highest


def judged(outcome: Outcome | None) -> dict[str, Any]:
    """The last words of a run whose process ended well. Raises what ended it."""
    if outcome is None:
        raise CageUnavailable("The process that starts caged runs is gone.")
    words = _last_words(outcome)
    if "unavailable" in words:
        raise CageUnavailable(str(words["unavailable"])[:500])
    if "error" in words:
        raise error_of_words(words)
    if "fault" in words:
        log("worker.fault", "error", error=str(words["fault"])[:500], caged=True)
        raise InternalFault(str(words["fault"]).partition(":")[0][:100])
    if outcome.status or "report" not in words:
        raise RunCrashed(outcome.signal_name or f"It ended with status {outcome.status}.")
    return words


def _last_words(outcome: Outcome) -> dict[str, Any]:
    try:
        words: Any = json.loads(outcome.lines[-1]) if outcome.lines else {}
    except ValueError:
        return {}
    return cast("dict[str, Any]", words) if isinstance(words, dict) else {}


def _open_to_nobody(task: RunTask) -> None:
    """Let whoever the process becomes read the inputs and write the output; the folders around are closed to all."""
    order = task.place / "in" / ORDER
    try:
        order.write_text(task.order.model_dump_json(), "utf-8")
        if (owner := nobody()) is None:
            return
        for path in (order, *task.inputs.values()):
            path.chmod(0o644)
        for folder in (task.place, task.place / "in"):
            folder.chmod(0o711)
        with suppress(OSError):  # in some containers that user does not exist; the process then stays who it is
            os.chown(task.place / "out", owner, owner)
    except OSError as error:
        raise DiskFull(f"The order could not be written: {error.strerror}.") from error


def _listens() -> dict[str, Any]:
    """What of a run's own log anybody here would hear."""
    events, measures = logging.getLogger("secondface"), logging.getLogger("secondface.measures")
    return {
        "level": events.getEffectiveLevel() if events.hasHandlers() else None, "measures": bool(measures.handlers)
    }  # fmt: skip


def _cards() -> tuple[Path, ...]:
    """The nodes of graphics cards, for runs that decode or encode on one."""
    return tuple(path for pattern in _CARDS for path in Path("/dev").glob(pattern) if path.is_char_device())


class _People:
    """The account's people of earlier runs, in memory that one caged run may read and replace."""

    def __init__(self, people: PeopleMemory) -> None:
        self._people = people
        self.descriptor = os.memfd_create("people", os.MFD_CLOEXEC)

    def __enter__(self) -> Self:
        at, content = 0, self._people.packed
        while at < len(content):
            at += os.pwrite(self.descriptor, content[at:], at)
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self.descriptor)

    def keep(self) -> None:
        """Remember what is there now, unless it is more than any job needs."""
        size = os.fstat(self.descriptor).st_size
        self._people.packed = os.pread(self.descriptor, size, 0) if size <= _MOST_PEOPLE_BYTES else b""
