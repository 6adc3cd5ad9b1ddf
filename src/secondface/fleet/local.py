"""A fleet of processes on this machine: started, drained, and seen to die.

Decides how a worker process is begun and ended, and touches only those that it started. How many there are is decided
by whoever calls `start` and `stop`. A watcher of its own kills those that hang: whoever asks for workers may be waiting
for a lock that one of them keeps in its sleep. Must not know a database.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, get_args

from secondface.confidential import make_private
from secondface.domain.ports import Clock, Ids, Market, Worker, worker_bell
from secondface.errors import WorkerLost
from secondface.fleet.line import Line
from secondface.observe import log

State = Literal["starting", "idle", "busy", "draining"]
_STATES: tuple[State, ...] = get_args(State)
_NOTE_BYTES = 2000
_KEPT_NOTES = 20
_TICK_S = 0.02
_WATCH_S = 0.25
"""Between two looks of the watcher."""
_LAST_WORDS_S = 10.0
"""What a drained worker has beyond its grace time, for giving back what it did not end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starting:
    """How one worker process is begun."""

    command: Callable[[str, int], Sequence[str]]
    """Its command line, from its name and the descriptor of its line."""
    environment: Mapping[str, str]
    logs: Path
    """Folder for what workers write to their error stream; kept where one crashed."""
    grace_s: float = 20.0
    """How long a drained worker may take to end what it has; after some seconds more it is killed."""
    boot_s: float = 300.0
    """How long a worker may take until it is first heard of."""
    silence_s: float = 60.0
    """How long a worker that was heard of may say nothing before it is taken to hang, and killed."""


@dataclass(slots=True)
class _Child:
    id: str
    tier: str
    process: subprocess.Popen[bytes]
    line: Line
    log: Path
    state: State
    since_ms: int
    kill_at_s: float
    """When it will have been silent, or draining, for too long."""
    served: int = 0
    told_to_end: bool = False


@dataclass(frozen=True, slots=True)
class CrashNote:
    """What is known of a worker that ended by itself."""

    worker: str
    at_ms: int
    status: int
    """Its exit code, or minus the number of a signal."""
    last_words: str


class LocalFleet:
    """Worker processes of this machine (`domain.ports.Fleet`)."""

    def __init__(
        self, starting: Starting, ids: Ids, clock: Clock, on_ring: Callable[[str], None] = lambda _name: None,
        on_over: Callable[[str], None] = lambda _job_id: None,
    ) -> None:  # fmt: skip
        """`on_ring` hears bells that workers ring, `on_over` of which job an attempt is over."""
        self._starting, self._ids, self._clock = starting, ids, clock
        self._on_ring, self._on_over = on_ring, on_over
        self._guard = threading.RLock()
        self._children: dict[str, _Child] = {}
        self._crashed: list[str] = []
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        self.notes: deque[CrashNote] = deque(maxlen=_KEPT_NOTES)
        """The latest crashes."""

    def workers(self, tier: str) -> Sequence[Worker]:
        """As Fleet.workers."""
        with self._guard:
            self._reap()
            return [
                Worker(id=each.id, state=each.state, since_ms=each.since_ms, served=each.served)
                for each in self._children.values()
                if each.tier == tier
            ]

    def start(self, tier: str, market: Market, count: int) -> None:  # noqa: ARG002
        """As Fleet.start; this machine is on no market. Raises WorkerLost where no process can be started."""
        for _ in range(count):
            with self._guard:
                if self._closed.is_set():
                    return
                child = self._spawn(tier)
                self._children[child.id] = child
                self._begin_watch()
            threading.Thread(target=self._listen, args=(child,), name=child.id, daemon=True).start()

    def stop(self, worker_ids: Sequence[str]) -> None:
        """As Fleet.stop."""
        with self._guard:
            for child in (self._children[each] for each in worker_ids if each in self._children):
                self._drain(child)

    def crashed(self) -> Sequence[str]:
        """As Fleet.crashed."""
        with self._guard:
            self._reap()
            crashed, self._crashed = self._crashed, []
            return crashed

    def announce(self, name: str) -> None:
        """Ring a bell in every worker that listens to it: a tier's, or one worker's own."""
        with self._guard:
            for child in self._children.values():
                if name in (child.tier, worker_bell(child.id)):
                    child.line.say("ring", name)

    def close(self) -> None:
        """As Fleet.close: drained first, killed after the grace time."""
        with self._guard:
            self._closed.set()
            for child in self._children.values():
                self._drain(child)
        if self._watcher is not None:
            self._watcher.join()
        while self._alive():
            time.sleep(_TICK_S)

    # ---- those that hang ---------------------------------------------------------------------------------------------

    def _begin_watch(self) -> None:
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name="watcher", daemon=True)
            self._watcher.start()

    def _watch(self) -> None:
        while not self._closed.wait(_WATCH_S):
            with self._guard:
                died = self._reap()
            for tier in died:
                self._on_ring(tier)

    # ---- one child ---------------------------------------------------------------------------------------------------

    def _spawn(self, tier: str) -> _Child:
        name = self._ids.new("worker")
        ours, theirs = socket.socketpair()
        path = self._starting.logs / f"{name}.log"
        with contextlib.ExitStack() as closing:
            closing.callback(theirs.close)
            try:
                make_private(self._starting.logs)
                errors: IO[bytes] = closing.enter_context(path.open("wb"))
                process = subprocess.Popen(
                    self._starting.command(name, theirs.fileno()), env=dict(self._starting.environment),
                    pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                    # Ctrl-C in the server's terminal is the server's to hear; it drains its workers.
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                ours.close()
                raise WorkerLost(f"A worker process does not start: {error.strerror}.") from error
        log("fleet.started", worker=name, tier=tier)
        kill_at_s = time.monotonic() + self._starting.boot_s
        return _Child(name, tier, process, Line(ours), path, "starting", self._clock.now_ms(), kill_at_s)

    def _listen(self, child: _Child) -> None:
        child.line.listen(lambda words: self._heard(child, words))

    def _heard(self, child: _Child, words: list[str]) -> None:
        match words:
            case ["state", state, served] if state in _STATES and served.isdecimal():
                if self._note_state(child, state, int(served)):
                    self._on_ring(child.tier)
            case ["ring", name]:
                self._on_ring(name)
                self.announce(name)
            case ["over", job_id]:
                self._on_over(job_id)
            case _:
                pass

    def _note_state(self, child: _Child, state: State, served: int) -> bool:
        """Keep what a worker says of itself; whether it is something new."""
        with self._guard:
            if child.told_to_end:
                state = "draining"  # it may not have heard yet
            else:
                child.kill_at_s = time.monotonic() + self._starting.silence_s
            news = state != child.state or served > child.served
            if state != child.state:
                child.state, child.since_ms = state, self._clock.now_ms()
            child.served = max(child.served, served)
            return news

    def _drain(self, child: _Child) -> None:
        if child.told_to_end:
            return
        child.told_to_end = True
        boots, child.state, child.since_ms = child.state == "starting", "draining", self._clock.now_ms()
        child.kill_at_s = time.monotonic() + self._starting.grace_s + _LAST_WORDS_S
        if not child.line.say("drain") or boots:
            self._send(child, signal.SIGTERM)

    def _alive(self) -> bool:
        with self._guard:
            self._reap()
            return bool(self._children)

    def _reap(self) -> set[str]:
        """Take note of children that ended, and kill those that hang; returns the tiers that lost one by a crash."""
        crashed: set[str] = set()
        for child in list(self._children.values()):
            status = child.process.poll()
            if status is None:
                if time.monotonic() > child.kill_at_s:
                    self._send(child, signal.SIGKILL)
                continue
            del self._children[child.id]
            child.line.hang_up()
            if status == 0 or child.told_to_end:
                with contextlib.suppress(OSError):
                    child.log.unlink(missing_ok=True)
            else:
                self._note_crash(child, status)
                crashed.add(child.tier)
        return crashed

    def _note_crash(self, child: _Child, status: int) -> None:
        self._crashed.append(child.id)
        note = CrashNote(child.id, self._clock.now_ms(), status, _last_words(child.log))
        self.notes.append(note)
        log("fleet.crashed", "warning", worker=child.id, status=status, last_words=note.last_words)

    def _send(self, child: _Child, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            child.process.send_signal(number)


def _last_words(path: Path) -> str:
    """The end of what a worker wrote to its error stream."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _NOTE_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
