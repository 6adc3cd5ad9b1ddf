"""A real worker process to which something happens at a given place of an attempt.

`$DOOM` names a file. Where it says `PLACE ACT`, the worker does ACT when it next comes to PLACE, once:
kill (SIGKILL of itself), kill-runs (of the caged processes of its jobs), stop (SIGSTOP), or wait (half a second, after
it made `$DOOM.reached`).
At `writing` it has begun a transaction, and with it keeps SQLite's lock for writers.
An input whose key ends in `poison.png` kills whoever fetches it, always.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from secondface.compose import work
from secondface.fleet.caged_runs import RUN
from secondface.pipeline.device_share import SharedDevice
from secondface.settings import load_settings

_DOOM = Path(os.environ["DOOM"])
_TRANSACTION = threading.RLock()


def at(place: str) -> None:
    """Do what was asked for at this place."""
    try:
        words = _DOOM.read_text().split()
    except FileNotFoundError:
        return
    if words[:1] != [place]:
        return
    act = words[1]
    killed = runs() if act == "kill-runs" else [psutil.Process()]
    if not killed:
        return  # whoever calls is no run, or is one no more: it happens to the next
    try:
        _DOOM.rename(f"{_DOOM}.reached")
    except FileNotFoundError:
        return  # another worker was there first
    match act:
        case "kill" | "kill-runs":
            for process in killed:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        case "stop":
            # Stopped in the middle of a write it would keep SQLite's lock, until its fleet kills it as one that hangs.
            # A signal to the process lands on any thread and a moment later; one to this thread stops it here.
            with _TRANSACTION:
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        case _:
            time.sleep(0.5)


def runs() -> list[psutil.Process]:
    """Caged processes that are at a job of this worker: copies of the one that it started for that."""
    found: list[psutil.Process] = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            words, parent = process.cmdline(), process.parent()
            is_copy = parent is not None and parent.cmdline() == words and not process.children()
            if is_copy and any(RUN in word for word in words):
                found.append(process)
    return found


class Around:
    """Everything of another object, but for what a subclass does first."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class DoomedLeases(Around):
    """Whatever is told of an attempt, the device's own count is written down before it."""

    def __init__(self, inner: Any, device: SharedDevice, note: Path) -> None:
        super().__init__(inner)
        self._device, self._note, self._guard = device, note, threading.Lock()
        note.parent.mkdir(exist_ok=True)

    def _write_down(self) -> None:
        with self._guard:
            fresh = self._note.with_suffix(".new")
            fresh.write_text(str(self._device.busy_ns))
            fresh.replace(self._note)

    def beat(self, *told: Any) -> Any:
        self._write_down()
        with _TRANSACTION:
            return self.inner.beat(*told)

    def claim(self, offer: Any) -> Any:
        with _TRANSACTION:
            grant = self.inner.claim(offer)
        if grant is not None:
            at("claimed")
        return grant

    def succeed(self, *told: Any, **doubts: Any) -> None:
        at("stored")
        self._write_down()
        self.inner.succeed(*told, **doubts)
        at("told")

    def fail(self, *told: Any, **why: Any) -> None:
        self._write_down()
        self.inner.fail(*told, **why)

    def crash(self, *told: Any) -> None:
        self._write_down()
        self.inner.crash(*told)

    def preempt(self, *told: Any) -> None:
        self._write_down()
        self.inner.preempt(*told)

    def stop(self, *told: Any) -> None:
        self._write_down()
        self.inner.stop(*told)


class DoomedTransactions(Around):
    @contextmanager
    def begin(self) -> Iterator[Any]:
        with self.inner.begin() as unit:
            at("writing")
            yield unit


class DoomedObjects(Around):
    def read(self, key: str) -> Iterator[bytes]:
        at("fetch")
        if key.endswith("poison.png"):
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inner.read(key)

    def put(self, key: str, chunks: Iterable[bytes], content_type: str) -> Any:
        def slowly() -> Iterator[bytes]:
            for chunk in chunks:
                yield chunk[: len(chunk) // 2]
                at("store")
                yield chunk[len(chunk) // 2 :]

        return self.inner.put(key, slowly(), content_type)


class DoomedSessions(Around):
    device = "cpu"

    def get(self, name: str) -> Any:
        return DoomedSession(self.inner.get(name))


class DoomedSession(Around):
    def run(self, inputs: Any) -> Any:
        at("run")
        return self.inner.run(inputs)


def main(name: str, line: int) -> None:
    process = work.worker(load_settings(), name, line)
    worker: Any = process.worker
    desk = worker._leases
    desk._transactions = DoomedTransactions(desk._transactions)
    leases: Any = DoomedLeases(desk, worker._sessions.device, Path(f"{_DOOM}.devices") / name)
    worker._leases = leases
    place = worker._place
    objects: Any = DoomedObjects(place.objects)
    worker._place = replace(place, leases=leases, objects=objects)
    worker._sessions._sessions = DoomedSessions(worker._sessions._sessions)
    process.run()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
