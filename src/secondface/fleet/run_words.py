"""What a caged run and its worker say to each other beside model calls, and which of it is believed.

To the worker: work begun and ended, phases (which are answered), progress, events and measures for the log. At the end
an error, or a report (`report_words`). Decides what each may be; the cage's end has read a stranger's files, so all of
it is checked.
"""

from __future__ import annotations

import logging
import os
import resource
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast, get_args

from secondface import errors, observe
from secondface.errors import InternalFault, SecondfaceError
from secondface.fleet.lanes import received, send
from secondface.observe import BusyClock, Measure
from secondface.pipeline.engine import Progress
from secondface.pipeline.meter import MemoryPeak, Phase, PhaseClock

_PHASES: tuple[Phase, ...] = get_args(Phase)
_LEVELS = ("debug", "info", "warning", "error")
_MOST_LOGGED = 1000
_LONGEST_TEXT = 2000
MOST_COUNTED = 1 << 50
"""Frames, faces or bytes of a run that are believed: what is beyond cannot be, and no table holds it."""
_OF_A_RUN = (
    errors.BadRequest, errors.BadMedia, errors.FaceProblem, errors.ModelMissing, errors.ModelCorrupt,
    errors.ModelFailed, errors.StepFailed, errors.DeviceUnavailable, errors.MarkMissing, errors.EncodeFailed,
    errors.DiskFull, errors.InternalFault,
)  # fmt: skip
"""Errors that a run may end with. Of leases and stores it cannot know anything, and what the guard refused is known."""


def error_words(error: SecondfaceError) -> dict[str, Any]:
    """An error for the other end. Its facts stay here, but for which model it was."""
    return {"error": error.code, "detail": error.detail[:_LONGEST_TEXT]}


def error_of_words(words: Mapping[str, Any], *, ours: bool = False) -> SecondfaceError:
    """The error of those words; InternalFault where a run can have no such error, unless they are `ours`."""
    kind = _known(() if ours else _OF_A_RUN).get(str(words.get("error")))
    detail = str(words.get("detail", ""))[:_LONGEST_TEXT]
    return kind(detail) if kind is not None else InternalFault(f"a caged run ended with {words.get('error')!s:.100}")


@lru_cache(maxsize=2)
def _known(kinds: tuple[type[SecondfaceError], ...]) -> Mapping[str, type[SecondfaceError]]:
    kinds = kinds or (SecondfaceError,)
    classes = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, kinds)]
    return {each.code: each for each in classes}


# ---- in the cage -----------------------------------------------------------------------------------------------------


class Teller:
    """The cage's end of the line. Safe in any thread; only one thread enters phases."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def say(self, *words: object) -> None:
        """One word; a run that nobody hears any more is about to end anyway."""
        send(self._descriptor, words)

    def enter(self, phase: Phase) -> None:
        """Say it and wait until it was heard: what the models do from now on belongs to the next phase."""
        self.say("phase", phase)
        received(self._descriptor)

    def progress(self, progress: Progress) -> None:
        self.say("progress", progress.done, progress.total or 0, own_record_bytes())


class ToldClock(BusyClock):
    """Says when a thread begins and ends to work. Blocks inside of one another in one thread count once."""

    def __init__(self, teller: Teller) -> None:
        super().__init__()
        self._teller = teller
        self._thread = threading.local()

    def __enter__(self) -> ToldClock:
        depth = self._thread.depth = self.depth + 1
        if depth == 1:
            self._teller.say("work", 1)
        return self

    def __exit__(self, *exception: object) -> None:
        depth = self._thread.depth = self.depth - 1
        if depth == 0:
            self._teller.say("work", -1)

    @property
    def depth(self) -> int:
        """Blocks of this thread that are open."""
        return getattr(self._thread, "depth", 0)


def own_record_bytes() -> int:
    """The most memory that this process ever had at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class OwnRecord(MemoryPeak):
    """The peak of a process that does nothing but one run, and that cannot read /proc."""

    def __init__(self) -> None:
        """There is nothing to compare with."""

    def sample(self) -> None:
        """The kernel keeps the record."""

    def bytes(self) -> int:
        return own_record_bytes()


class ToldPhases(PhaseClock):
    """Phases of a run that are the worker's to count."""

    def __init__(self, teller: Teller) -> None:
        super().__init__()
        self._teller = teller

    def enter(self, phase: Phase) -> None:
        super().enter(phase)
        self._teller.enter(phase)


class ToldLog(logging.Handler):
    """Hands events and measures to the worker's own log."""

    def __init__(self, teller: Teller) -> None:
        super().__init__(logging.DEBUG)
        self._teller = teller

    def emit(self, record: logging.LogRecord) -> None:
        measure = getattr(record, "measure", None)
        if isinstance(measure, Measure):
            self._teller.say("measure", measure.kind, measure.name, measure.value, measure.labels)
        else:
            self._teller.say("log", record.getMessage(), record.levelname.lower(), getattr(record, "fields", {}))


# ---- outside of it ---------------------------------------------------------------------------------------------------


class Listener:
    """The worker's end of the line: one message at a time, each checked."""

    def __init__(
        self, descriptor: int, *, work: Callable[[int], None], phase: Callable[[Phase], None],
        progress: Callable[[int, int, int], None],
    ) -> None:  # fmt: skip
        self._descriptor = descriptor
        self._work, self._phase, self._progress = work, phase, progress
        self._logged = 0

    def hear(self) -> bool:
        """Take the next message; False when there will be no more. Raises InternalFault for nonsense.

        Never waits: an answer that finds no room, since none before it was read, is nonsense too.
        """
        try:
            words = received(self._descriptor)
            if words is None:
                return False
            self._take(words)
        except (ValueError, OSError, TypeError, KeyError, RecursionError) as error:
            raise InternalFault(f"a caged run told nonsense: {type(error).__name__}") from error
        return True

    def _take(self, words: Any) -> None:
        match cast("list[Any]", words):
            case ["work", (1 | -1) as step]:
                self._work(step)
            case ["phase", phase] if phase in _PHASES[1:]:
                self._phase(phase)
                os.write(self._descriptor, b"1")
            case ["progress", int(done), int(total), int(peak_bytes)] if (
                min(done, total, peak_bytes) >= 0 and max(done, total, peak_bytes) <= MOST_COUNTED
            ):
                self._progress(done, total, peak_bytes)
            case ["log", str(event), level, fields] if level in _LEVELS:
                if self._may_log():
                    observe.log(event[:100], level, **{"caged": True, **_plain(fields)})
            case ["measure", kind, str(name), (int() | float()) as value, labels] if abs(value) <= MOST_COUNTED:
                if self._may_log():
                    self._measure(str(kind), name, value, {each: str(label) for each, label in _plain(labels).items()})
            case _:
                raise ValueError

    def _measure(self, kind: str, name: str, value: float, labels: Mapping[str, str]) -> None:
        if kind == "counter":
            observe.counter(name, int(value), **labels)
        elif kind == "histogram":
            observe.histogram(name, value, **labels)
        else:
            raise ValueError(kind)

    def _may_log(self) -> bool:
        """A run that chatters must not fill the disk."""
        self._logged += 1
        return self._logged <= _MOST_LOGGED


def _plain(told: object) -> dict[str, Any]:
    """Short texts and numbers under short names. Raises TypeError for what has no names."""
    if not isinstance(told, dict):
        raise TypeError
    fields = cast("dict[object, object]", told)
    reserved = {"event", "level", "name", "value", "amount", "caged"}
    return {
        str(key)[:60]: value if isinstance(value, (int, float)) else str(value)[:_LONGEST_TEXT]
        for key, value in list(fields.items())[:30]
        if str(key) not in reserved
    }
