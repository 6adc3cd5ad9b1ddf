"""Processes of this machine as a fleet: their states, their crashes, their end, and nobody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from secondface.domain.ports import Worker, worker_bell
from secondface.errors import WorkerLost
from secondface.fleet.local import LocalFleet, Starting
from secondface.storage.machine import MachineClock, RandomIds

_WORKER = """
import socket, sys, os
line = socket.socket(fileno=int(sys.argv[2]))
line.send(b"state idle 0\\n")
print("pid", os.getpid(), file=sys.stderr, flush=True)
BODY
"""
_LOYAL = """
rest = b""
while b"drain" not in rest:
    got = line.recv(100)
    if not got: break
    rest += got
    if b"ring" in got: line.send(b"state busy 1\\nring elsewhere\\nover job_1\\n")
"""
_CRASHING = "print('it hurts', file=sys.stderr); sys.exit(3)"
_DEAF = "import time, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def eventually(holds: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.01)


class Yard:
    """Makes fleets of small scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.fleets, self.rung = folder, list[LocalFleet](), list[str]()
        self.over = list[str]()

    def fleet(self, body: str, **words: float) -> LocalFleet:
        def command(name: str, line: int) -> list[str]:
            return [sys.executable, "-c", _WORKER.replace("BODY", body), name, str(line)]

        starting = Starting(command=command, environment=dict(os.environ), logs=self.folder / "logs", **words)
        fleet = LocalFleet(starting, RandomIds(), MachineClock(), self.rung.append, self.over.append)
        self.fleets.append(fleet)
        return fleet


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    made = Yard(tmp_path)
    yield made
    for fleet in made.fleets:
        fleet.close()


def only(fleet: LocalFleet) -> Worker:
    (worker,) = fleet.workers("cpu")
    return worker


def pid_of(yard: Yard, worker: Worker) -> int:
    path = yard.folder / "logs" / f"{worker.id}.log"
    eventually(lambda: "pid" in path.read_text() and path.read_text().endswith("\n"))
    return int(path.read_text().split()[1])


def test_a_worker_starts_works_and_is_drained(yard: Yard) -> None:
    fleet = yard.fleet(_LOYAL)
    fleet.start("cpu", "on_demand", 2)
    assert len(fleet.workers("cpu")) == 2 and not fleet.workers("gpu")
    eventually(lambda: {worker.state for worker in fleet.workers("cpu")} == {"idle"})
    first, second = fleet.workers("cpu")
    fleet.announce(worker_bell(first.id))
    eventually(lambda: fleet.workers("cpu")[0].state == "busy")
    assert [worker.served for worker in fleet.workers("cpu")] == [1, 0]
    eventually(lambda: yard.over == ["job_1"])
    eventually(lambda: {"cpu", "elsewhere"} <= set(yard.rung))
    fleet.stop([second.id, "nobody"])
    assert fleet.workers("cpu")[-1].state == "draining"
    eventually(lambda: [worker.id for worker in fleet.workers("cpu")] == [first.id])
    assert fleet.crashed() == []
    assert [path.name for path in (yard.folder / "logs").iterdir()] == [f"{first.id}.log"]


def test_a_bell_of_a_tier_reaches_all_of_its_workers(yard: Yard) -> None:
    fleet = yard.fleet(_LOYAL)
    fleet.start("cpu", "on_demand", 2)
    eventually(lambda: {worker.state for worker in fleet.workers("cpu")} == {"idle"})
    fleet.announce("gpu")
    fleet.announce("cpu")
    eventually(lambda: [worker.served for worker in fleet.workers("cpu")] == [1, 1])


def test_a_crash_is_told_once_with_its_last_words(yard: Yard) -> None:
    fleet = yard.fleet(_CRASHING)
    fleet.start("cpu", "on_demand", 1)
    worker = only(fleet)
    eventually(lambda: not fleet.workers("cpu"))
    assert fleet.crashed() == [worker.id]
    assert fleet.crashed() == []
    (note,) = fleet.notes
    assert (note.worker, note.status) == (worker.id, 3)
    assert "it hurts" in note.last_words


def test_a_killed_worker_is_a_crash(yard: Yard) -> None:
    fleet = yard.fleet(_LOYAL)
    fleet.start("cpu", "on_demand", 1)
    worker = only(fleet)
    os.kill(pid_of(yard, worker), signal.SIGKILL)
    eventually(lambda: not fleet.workers("cpu"))
    assert fleet.crashed() == [worker.id]
    assert fleet.notes[0].status == -signal.SIGKILL


def test_a_worker_that_says_nothing_is_killed(yard: Yard) -> None:
    fleet = yard.fleet(_DEAF, silence_s=0.1)
    fleet.start("cpu", "on_demand", 1)
    worker = only(fleet)
    eventually(lambda: not fleet.workers("cpu"))
    assert fleet.crashed() == [worker.id]


def test_a_worker_that_says_nothing_is_killed_though_nobody_asks_for_workers(yard: Yard) -> None:
    fleet = yard.fleet(_DEAF, silence_s=0.1)
    fleet.start("cpu", "on_demand", 1)
    (log,) = (yard.folder / "logs").iterdir()
    eventually(lambda: log.read_text().endswith("\n"))
    pid = int(log.read_text().split()[1])
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    eventually(lambda: yard.rung[-1:] == ["cpu"])
    fleet.close()
    assert "watcher" not in {thread.name for thread in threading.enumerate()}
    assert fleet.crashed() == [log.stem]


def test_a_worker_that_does_not_boot_is_killed(yard: Yard) -> None:
    fleet = yard.fleet(_LOYAL, boot_s=0.0)
    fleet.start("cpu", "on_demand", 1)
    eventually(lambda: not fleet.workers("cpu"))
    assert len(fleet.crashed()) == 1


def test_closing_ends_its_own_children_and_nobody_else(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secondface.fleet.local._LAST_WORDS_S", 0.2)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as bystander:
        fleet = yard.fleet(_DEAF, grace_s=0.0)
        fleet.start("cpu", "on_demand", 2)
        eventually(lambda: {worker.state for worker in fleet.workers("cpu")} == {"idle"})
        pids = [pid_of(yard, worker) for worker in fleet.workers("cpu")]
        fleet.close()
        assert not fleet.workers("cpu")
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
        assert bystander.poll() is None
        bystander.kill()
    fleet.start("cpu", "on_demand", 1)
    assert not fleet.workers("cpu")
    assert fleet.crashed() == []


def test_a_command_that_does_not_exist_is_said(tmp_path: Path) -> None:
    starting = Starting(command=lambda _name, _line: ["/nowhere/at/all"], environment={}, logs=tmp_path)
    fleet = LocalFleet(starting, RandomIds(), MachineClock())
    with pytest.raises(WorkerLost):
        fleet.start("cpu", "on_demand", 1)
    assert not fleet.workers("cpu")
