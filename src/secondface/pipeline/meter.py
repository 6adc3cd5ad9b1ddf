"""What a run counts: busy milliseconds per stage, phases that add up to the wall time, and peak resident memory.

Integer milliseconds on a monotonic clock that is handed in. Must not know prices.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal

import psutil

from secondface.errors import InternalFault
from secondface.observe import BusyClock

Phase = Literal["boot", "load", "fetch", "run", "store"]
PHASES: tuple[Phase, ...] = ("load", "fetch", "run", "store")
"""Those of a run in this process; only who waits for a worker has a `boot` before them."""


@dataclass(frozen=True, slots=True)
class StageUsage:
    """How long a stage worked, waiting for neighbours not counted, and on how many frames."""

    name: str
    busy_ms: int
    frames: int


class StageMeter:
    """Counts one stage; with several workers, their busy times add up."""

    def __init__(self, name: str, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self.name = name
        self._clock = clock
        self._guard = threading.Lock()
        self._busy_ns = 0
        self._items = 0

    @contextmanager
    def busy(self, active: BusyClock | None = None) -> Generator[None]:
        """While inside, the stage works; `active`, the clock of the whole device, is open too."""
        # the device is opened first and closed last, so that no stage can be busy for longer than its device
        with active or nullcontext():
            started = self._clock()
            try:
                yield
            finally:
                elapsed = self._clock() - started
                with self._guard:
                    self._busy_ns += elapsed

    def count(self) -> None:
        """One more item is done."""
        with self._guard:
            self._items += 1

    @property
    def items(self) -> int:
        return self._items

    def usage(self) -> StageUsage:
        with self._guard:
            return StageUsage(self.name, self._busy_ns // 1_000_000, self._items)


class PhaseClock:
    """Cuts the wall time into phases without a gap: their milliseconds add up exactly to the whole.

    One thread enters phases; any may ask how far it is.
    """

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns, first: Phase = PHASES[0]) -> None:
        self._clock = clock
        self._started_ns = clock()
        self._spent_ms: dict[Phase, int] = dict.fromkeys((first, *PHASES), 0)
        self._phase: Phase | None = first
        self._entered_ms = 0
        self._guard = threading.Lock()

    def enter(self, phase: Phase) -> None:
        """End the present phase and begin another; a phase may be entered again."""
        with self._guard:
            self._end_phase()
            self._phase = phase

    def finish(self) -> dict[Phase, int]:
        """End the last phase; milliseconds by phase."""
        with self._guard:
            self._end_phase()
            self._phase = None
            return dict(self._spent_ms)

    @property
    def running(self) -> bool:
        """Whether the last phase has not been ended yet."""
        return self._phase is not None

    def spent(self) -> dict[Phase, int]:
        """Milliseconds by phase so far, the present one included."""
        with self._guard:
            if self._phase is not None:
                self._end_phase()
            return dict(self._spent_ms)

    def _end_phase(self) -> None:
        if self._phase is None:
            raise InternalFault("A phase clock was used after its end.")
        # Both ends are rounded on the same scale, so that the differences add up to the last end.
        now_ms = (self._clock() - self._started_ns) // 1_000_000
        self._spent_ms[self._phase] += now_ms - self._entered_ms
        self._entered_ms = now_ms

    @property
    def wall_ms(self) -> int:
        """Milliseconds in all phases that have ended."""
        return self._entered_ms


class MemoryPeak:
    """The highest resident memory of this process since this value was made."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._highest_before = _highest_ever()
        self._sampled = 0
        self.sample()

    def sample(self) -> None:
        """Look once; cheap enough for each progress report."""
        self._sampled = max(self._sampled, int(self._process.memory_info().rss))

    def bytes(self) -> int:
        """Exact if this run set the process's record, else the highest sample."""
        self.sample()
        highest = _highest_ever()
        return highest if highest > self._highest_before else self._sampled


def _highest_ever() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
