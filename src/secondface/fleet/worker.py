"""The pull loop of one worker: resident and warm, it takes jobs while it has room and runs them side by side.

Decides when to ask for work, when to say that attempts are alive, and how a drain goes. It sees the control plane
through `Leases` and files through `ObjectStore`; must not know a database, nor who started it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from secondface.domain.ports import Doorbell, Grant, Leases, ObjectStore, Offer, worker_bell
from secondface.errors import SecondfaceError
from secondface.fleet.attempt import Attempt, Terms, Workplace
from secondface.fleet.guards import Guards
from secondface.fleet.pixel_room import PixelRoom
from secondface.fleet.runs import DirectRuns, Runs
from secondface.fleet.workroom import Workroom
from secondface.observe import log
from secondface.pipeline.batching import SharedSessions
from secondface.pipeline.people import PeopleMemory

Condition: TypeAlias = Literal["idle", "busy", "draining"]
_REMEMBERED_ACCOUNTS = 8
_PULSE_S = 1.0
"""Between two words to whoever started it."""
_STUCK_HEART_S = 120.0
"""A heart that has been at one beat for so long does not wait for a database: it hangs, and its worker with it."""
_LAST_WORDS_S = 5.0
"""How long a drained worker waits for attempts to tell that they stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duties:
    """What one worker does, and how often."""

    name: str
    tiers: tuple[str, ...]
    room: int = 4
    """Jobs that it runs at once."""
    most_pixels: int = 1 << 27
    """Of all pictures that are worked on at once; a larger one is worked on alone."""
    heartbeat_s: float = 1.0
    poll_s: float = 1.0
    """How long it waits for a bell before it asks for work all the same."""
    grace_s: float = 20.0
    """How long a drained worker may go on with what it has before it gives it back."""
    terms: Terms = field(default_factory=Terms)


def unheard(*_words: object) -> None:
    """What a worker without a fleet tells it."""


class Worker:
    """One process's share of the work. `run` returns when the worker was drained."""

    def __init__(  # noqa: PLR0913 - the parts that a worker is put together from
        self, duties: Duties, leases: Leases, objects: ObjectStore, sessions: SharedSessions, bell: Doorbell,
        *, workroom: Workroom, tell: Callable[[Condition, int], None] = unheard,
        over: Callable[[str], None] = unheard, guards: Guards | None = None, runs: Runs | None = None,
    ) -> None:  # fmt: skip
        """`tell` hears how the worker is and how much it has done, `over` of which job an attempt is over.

        `guards` judge the pictures of its attempts; `runs` is where these are run, without it in this process.
        """
        self._duties, self._leases, self._sessions = duties, leases, sessions
        self._place = Workplace(
            leases, objects, PixelRoom(duties.most_pixels), duties.terms, guards or Guards(), runs or DirectRuns()
        )  # fmt: skip
        self._people: dict[str, PeopleMemory] = {}
        self._bell, self._workroom, self._tell, self._say_over = bell, workroom, tell, over
        self._draining = threading.Event()
        self._over = threading.Event()
        self._guard = threading.Lock()
        self._attempts: dict[Attempt, threading.Thread] = {}
        self._served = 0
        self._beaten_s = time.monotonic()

    def drain(self) -> None:
        """Take nothing more, end what there is within the grace time, give the rest back. Safe in a signal handler."""
        self._draining.set()
        self._bell.ring(self._duties.tiers[0])

    def run(self) -> None:
        """Work until drained."""
        heart = threading.Thread(target=self._beat_all, name="heart", daemon=True)
        pulse = threading.Thread(target=self._pulse, name="pulse", daemon=True)
        with self._workroom:
            self._tell("idle", 0)
            heart.start()
            pulse.start()
            while not self._draining.is_set():
                grant = self._claim() if self._has_room() else None
                if grant is not None:
                    self._begin(grant)
                else:
                    self._bell.wait(self._duties.tiers, self._duties.poll_s)
            self._tell("draining", self._served)
            self._finish()
        self._over.set()
        self._bell.ring(worker_bell(self._duties.name))
        heart.join()
        pulse.join()

    # ---- taking work -------------------------------------------------------------------------------------------------

    def _has_room(self) -> bool:
        with self._guard:
            return len(self._attempts) < self._duties.room and not any(each.grant.alone for each in self._attempts)

    def _claim(self) -> Grant | None:
        while self._bell.wait(self._duties.tiers, 0):
            pass  # all bells so far are answered by the question that follows
        with self._guard:
            alone = not self._attempts
        offer = Offer(
            worker=self._duties.name, tiers=self._duties.tiers, lease_ms=self._duties.terms.lease_ms, alone=alone
        )
        try:
            return self._leases.claim(offer)
        except SecondfaceError as error:
            log("worker.claim_failed", "warning", error=error.code, detail=error.detail)
            return None

    def _begin(self, grant: Grant) -> None:
        attempt = Attempt(grant, self._place, self._sessions.seat(), self._people_of(grant.account))
        thread = threading.Thread(target=self._run_one, args=(attempt,), name=attempt.name, daemon=True)
        with self._guard:
            self._attempts[attempt] = thread
        self._tell("busy", self._served)
        thread.start()
        self._bell.ring(worker_bell(self._duties.name))  # the first beat, beside the work and not before it

    def _people_of(self, account: str) -> PeopleMemory:
        """Source people of an account's latest jobs. No account meets those of another, not even by their speed."""
        people = self._people[account] = self._people.pop(account, None) or PeopleMemory()
        while len(self._people) > _REMEMBERED_ACCOUNTS:
            del self._people[next(iter(self._people))]
        return people

    def _run_one(self, attempt: Attempt) -> None:
        try:
            attempt.run(self._workroom.attempt(attempt.name))
        finally:
            self._say_over(attempt.grant.lease.job_id)
            with self._guard:
                del self._attempts[attempt]
                self._served += 1
                self._tell(self._condition(), self._served)
            self._bell.ring(self._duties.tiers[0])

    # ---- saying that it lives ----------------------------------------------------------------------------------------

    def _beat_all(self) -> None:
        while not self._over.is_set():
            self._bell.wait([worker_bell(self._duties.name)], self._duties.heartbeat_s)
            for attempt in self._running():
                attempt.beat()
                self._beaten_s = time.monotonic()
            self._beaten_s = time.monotonic()

    def _pulse(self) -> None:
        """Tell on and on that this process runs. The heart cannot: another worker that sleeps in the middle of a write
        lets it wait for the database, and who is killed for silence must be that one."""
        while not self._over.wait(_PULSE_S):
            if time.monotonic() - self._beaten_s < _STUCK_HEART_S + self._duties.heartbeat_s:
                self._tell(self._condition(), self._served)

    def _condition(self) -> Condition:
        return "draining" if self._draining.is_set() else "busy" if self._attempts else "idle"

    def _running(self) -> list[Attempt]:
        with self._guard:
            return list(self._attempts)

    # ---- the end -----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        self._join(self._duties.grace_s)
        for attempt in self._running():
            attempt.give_back()
        self._join(_LAST_WORDS_S)

    def _join(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        with self._guard:
            threads = list(self._attempts.values())
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
