"""What a server does beside requests: look after workers, take back what silent ones hold, tidy up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from secondface.control.autoscaler import Autoscaler
from secondface.control.housekeeping import Housekeeping
from secondface.control.leftovers import Leftovers
from secondface.control.occupancy import Occupancy
from secondface.control.scheduler import LeaseDesk
from secondface.domain.ports import Clock, Doorbell, Fleet
from secondface.errors import SecondfaceError
from secondface.observe import log

_LOOK_S = 1.0
_REST_S = 0.05
"""Between two looks, however often the bell rings."""
_KEEP_S = 5.0
_TIDY_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """One step of each round; whoever drives them may call any at any time."""

    tier: str
    fleet: Fleet
    desk: LeaseDesk
    autoscaler: Autoscaler
    occupancy: Occupancy
    housekeeping: Housekeeping
    leftovers: Leftovers
    tidy_parts: Callable[[], int]
    tidy_workrooms: Callable[[], int]
    clock: Clock
    chores: Mapping[str, Callable[[], object]] = field(default_factory=dict[str, Callable[[], object]])
    """What else is done beside the housekeeping, by name; one that fails keeps none of the others."""
    tidying: Mapping[str, Callable[[], object]] = field(default_factory=dict[str, Callable[[], object]])
    """The same beside tidying."""
    dead: list[str] = field(default_factory=list[str])
    """Crashed workers whose jobs have not been taken back yet: the database may be away when they are found."""

    def look_after_workers(self) -> None:
        """Take back what crashed workers held, then start and stop workers."""
        self.dead.extend(self.fleet.crashed())
        while self.dead:
            worker = self.dead[0]
            taken = self.desk.worker_crashed(worker)
            self.dead.pop(0)
            self.autoscaler.note_crash(self.tier, self.clock.now_ms())
            log("rounds.worker_crashed", "warning", worker=worker, jobs=taken)
            self.tidy_workrooms()
        self.autoscaler.step()

    def sweep(self) -> None:
        """Take back what silent workers hold."""
        self.desk.sweep()

    def book(self) -> None:
        """Book what workers cost the operator."""
        self.occupancy.step()

    def keep(self) -> None:
        """Seal the journal, forget what is old."""
        self.housekeeping.step()
        for name, chore in self.chores.items():
            _attempted(name, chore)

    def tidy(self) -> None:
        """Remove files that nobody will finish or fetch."""
        for name, chore in self.tidying.items():
            _attempted(name, chore)
        removed = self.tidy_parts() + self.leftovers.step()
        if removed:
            log("rounds.tidied", files=removed)


class RoundThreads:
    """Drives the rounds until stopped. The bell wakes the one that looks after workers."""

    def __init__(self, rounds: Rounds, bell: Doorbell) -> None:
        self._rounds, self._bell = rounds, bell
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin; a second start changes nothing."""
        if not self._threads:
            self._threads = [
                threading.Thread(target=target, name=target.__name__, daemon=True)
                for target in (self._workers, self._upkeep)
            ]
            for thread in self._threads:
                thread.start()

    def stop(self) -> None:
        """End the rounds and then the workers."""
        self._stopped.set()
        self._bell.ring(self._rounds.tier)
        for thread in self._threads:
            thread.join()
        self._rounds.fleet.close()
        _attempted("book", self._rounds.book)
        self._rounds.tidy_workrooms()

    def _workers(self) -> None:
        swept_s = 0.0
        while not self._stopped.is_set():
            _attempted("look_after_workers", self._rounds.look_after_workers)
            if time.monotonic() - swept_s >= _LOOK_S:
                swept_s = time.monotonic()
                _attempted("sweep", self._rounds.sweep)
                _attempted("book", self._rounds.book)
            self._stopped.wait(_REST_S)
            self._bell.wait([self._rounds.tier], _LOOK_S)

    def _upkeep(self) -> None:
        tidied_s = -_TIDY_S
        while not self._stopped.is_set():
            _attempted("keep", self._rounds.keep)
            if time.monotonic() - tidied_s >= _TIDY_S:
                tidied_s = time.monotonic()
                _attempted("tidy", self._rounds.tidy)
            self._stopped.wait(_KEEP_S)


def _attempted(name: str, step: Callable[[], object]) -> None:
    """A step that fails is tried again in the next round: a database that is away comes back."""
    try:
        step()
    except SecondfaceError as error:
        log("rounds.failed", "warning", step=name, error=error.code, detail=error.detail)
    except Exception as error:  # noqa: BLE001 - one bad round must not leave a server without any
        log("rounds.fault", "error", step=name, error=f"{type(error).__name__}: {error}")
