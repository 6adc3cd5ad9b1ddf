"""One run inside of a cage: the task of `caged_runs`, in a process that is gone with it.

Everything that reads a stranger's bytes happens here: decoding, the steps, encoding, reading the marks back. Models are
asked for over lanes. Decides nothing about jobs; knows no path but those below the folder in which it stands.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from secondface import observe
from secondface.errors import CageUnavailable, SecondfaceError
from secondface.fleet.caged_guard import CagedGuard
from secondface.fleet.lanes import Arena, received, send
from secondface.fleet.report_words import report_words
from secondface.fleet.run_words import OwnRecord, Teller, ToldClock, ToldLog, ToldPhases, error_of_words, error_words
from secondface.fleet.runs import RunTask
from secondface.frames import RGB8
from secondface.media.caged_process import Given
from secondface.media.handed import descriptor_of
from secondface.pipeline.passage import Conduct
from secondface.pipeline.people import PeopleMemory, SourcePeople
from secondface.pipeline.preparation import Look
from secondface.pipeline.run import conduct_file
from secondface.spec.plugins import installed
from secondface.spec.work import WorkOrder
from secondface.vision.tables import make_tables

ORDER = "order.json"
"""Beside the inputs: the job as it was accepted."""


def run_given(given: Given) -> Iterator[object]:
    """The task: files are the line, the shared memory, the account's people, and the lanes, in this order."""
    line, arena, people, *lanes = (_number(path) for path in given.paths)
    words: Mapping[str, Any] = given.argument
    cv2.setNumThreads(words["threads"])
    teller = Teller(line)
    _listen_to_logs(teller, words["listens"])
    known = PeopleMemory(kept=_people_of(people))
    before = set(known.kept)
    task = RunTask(
        WorkOrder.read(Path("in", ORDER).read_text("utf-8")), Path(),
        {key: Path(path) for key, path in words["inputs"].items()}, words["produce_id"], words["content_producer"],
    )  # fmt: skip
    clock = ToldClock(teller)
    worker, shown = LaneSessions(words["device"], Arena(arena), tuple(lanes), clock), words["shown"]
    conduct = Conduct(
        worker, on_progress=teller.progress, active=clock, memory=OwnRecord(), people=known,
        guard=None if shown is None else CagedGuard(worker, shown),
    )  # fmt: skip
    try:
        report = conduct_file(
            task.request, conduct, ToldPhases(teller),
            content_producer=task.content_producer, produce_id=task.produce_id, name_of=lambda path: path.name,
            known=_looks(words["looks"]),
        )  # fmt: skip
    except SecondfaceError as error:
        yield error_words(error)
        return
    if set(known.kept) != before:
        _keep(people, known.kept)
    yield report_words(report)


def _looks(words: Mapping[str, tuple[int, int, list[str]]]) -> dict[Path, Look]:
    return {Path(path): Look(width, height, tuple(notes)) for path, (width, height, notes) in words.items()}


def _number(path: Path) -> int:
    number = descriptor_of(path)
    if number is None:
        raise CageUnavailable(f"{path.name} was not handed over")
    return number


def _listen_to_logs(teller: Teller, listens: Mapping[str, Any]) -> None:
    """Say what the worker would hear, and nothing that it would not."""
    handler = ToldLog(teller)
    if listens["level"] is not None:
        observe.configure()
        logger = logging.getLogger("secondface")
        logger.setLevel(listens["level"])
        logger.addHandler(handler)
    if listens["measures"]:
        logging.getLogger("secondface.measures").addHandler(handler)


# ---- models ----------------------------------------------------------------------------------------------------------


class LaneSessions:
    """Models of the worker, and its guard, by lanes that all threads of the run share."""

    def __init__(self, device: str, arena: Arena, lanes: tuple[int, ...], clock: ToldClock) -> None:
        self.device = device
        self._arena, self._clock = arena, clock
        self._free: queue.LifoQueue[tuple[int, int]] = queue.LifoQueue()
        for each in reversed(list(enumerate(lanes))):
            self._free.put(each)

    def get(self, name: str) -> LaneSession:
        """As Sessions.get. Raises the errors of models."""
        self._call({"model": name})
        return LaneSession(name, self)

    def compute(
        self, name: str, inputs: Mapping[str, npt.NDArray[np.generic]]
    ) -> dict[str, npt.NDArray[np.float32]]:  # fmt: skip
        """One call of a model. Raises what it raised."""
        with self._lane() as (lane, descriptor):
            shapes = self._arena.write(lane, inputs, given=False)
            answer = self._answer(descriptor, {"model": name, "inputs": shapes, "aside": self._clock.depth > 0})
            given = self._arena.read(lane, answer["outputs"], given=True)
            return {name: array.copy() for name, array in given.items()}

    def ask(self, words: dict[str, Any], pictures: Sequence[RGB8] = ()) -> dict[str, Any]:
        """One question to the guard. Raises what it refuses."""
        with self._lane() as (lane, descriptor):
            shapes = self._arena.write_pictures(lane, pictures)
            return self._answer(descriptor, {**words, "pictures": shapes, "aside": self._clock.depth > 0})

    def _call(self, words: dict[str, Any]) -> dict[str, Any]:
        with self._lane() as (_, descriptor):
            return self._answer(descriptor, words)

    @contextmanager
    def _lane(self) -> Generator[tuple[int, int]]:
        """The next free lane, for the block."""
        lane = self._free.get()
        try:
            yield lane
        finally:
            self._free.put(lane)

    @staticmethod
    def _answer(descriptor: int, words: dict[str, Any]) -> dict[str, Any]:
        send(descriptor, words)
        answer = received(descriptor)
        if answer is None:
            raise CageUnavailable("The worker is gone.")
        if "error" in answer:
            raise error_of_words(answer, ours=True)
        return answer


class LaneSession:
    """As Session; calls end in the worker's process."""

    def __init__(self, name: str, sessions: LaneSessions) -> None:
        self.name = name
        self._sessions = sessions

    def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
        """As Session.run. Raises ModelFailed."""
        return self._sessions.compute(self.name, inputs)


# ---- people of the account's latest jobs -----------------------------------------------------------------------------


def _people_of(descriptor: int) -> dict[str, SourcePeople]:
    """What an earlier run of the same account left. It is opened nowhere but in a cage, with that account's files."""
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    return pickle.loads(content) if content else {}  # noqa: S301


def _keep(descriptor: int, kept: Mapping[str, SourcePeople]) -> None:
    content = pickle.dumps(dict(kept), protocol=5)
    os.ftruncate(descriptor, 0)
    at = 0
    while at < len(content):
        at += os.pwrite(descriptor, content[at:], at)


# ---- before the first run --------------------------------------------------------------------------------------------

LATE_MODULES = (
    "PIL.PngImagePlugin", "PIL.JpegImagePlugin", "PIL.WebPImagePlugin", "PIL.AvifImagePlugin", "PIL.GifImagePlugin",
    "PIL.BmpImagePlugin", "PIL.TiffImagePlugin", "PIL.MpoImagePlugin", "PIL.features", "numpy.ma", "gzip", "mmap",
    "concurrent.futures.thread", "unicodedata", "stringprep", "secondface.errors",
)  # fmt: skip


def warm() -> None:
    """Make in advance what every run would make again, in the process that all of them are copies of."""
    cv2.setNumThreads(0)  # a pool of threads would not be copied
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in installed().values():
            if each.step is not None:
                with suppress(Exception):
                    import_module(each.step.implementation.partition(":")[0])
    make_tables()


BEFORE_CAGES = (warm,)
