"""Words between a fleet and a worker arrive; the end of either side is heard; nobody waits for a slow reader."""

from __future__ import annotations

import os
import socket
import threading

from secondface.fleet.line import Line, RelayedBell, WorkerLine
from secondface.storage.doorbell import LocalDoorbell


def _pair() -> tuple[Line, int]:
    ours, theirs = socket.socketpair()
    return Line(ours), theirs.detach()


def test_bells_and_drains_reach_the_worker() -> None:
    fleet, descriptor = _pair()
    bell, drained = LocalDoorbell(), threading.Event()
    WorkerLine(descriptor, bell).start(drained.set)
    assert fleet.say("ring", "cpu")
    assert bell.wait(["cpu"], 30)
    assert not drained.is_set()
    fleet.say("nonsense")
    fleet.say("drain")
    assert drained.wait(30)
    fleet.hang_up()


def test_a_worker_hears_that_its_fleet_is_gone() -> None:
    fleet, descriptor = _pair()
    drained = threading.Event()
    WorkerLine(descriptor, LocalDoorbell()).start(drained.set)
    fleet.hang_up()
    assert drained.wait(30)


def test_what_a_worker_says_is_heard_until_it_is_gone() -> None:
    fleet, descriptor = _pair()
    heard: list[list[str]] = []
    listening = threading.Thread(target=fleet.listen, args=(heard.append,))
    listening.start()
    connection = socket.socket(fileno=os.dup(descriptor))
    worker = WorkerLine(descriptor, LocalDoorbell())
    worker.tell("busy", 3)
    worker.ring("cpu")
    worker.over("job_1")
    connection.shutdown(socket.SHUT_RDWR)
    connection.close()
    listening.join(30)
    assert heard == [["state", "busy", "3"], ["ring", "cpu"], ["over", "job_1"]]
    assert not fleet.say("ring", "cpu")
    worker.start(lambda: None)


def test_words_that_do_not_fit_are_dropped_and_nobody_waits() -> None:
    fleet, descriptor = _pair()
    assert not all(fleet.say("ring", "x" * 1000) for _ in range(10_000))
    os.close(descriptor)
    fleet.hang_up()


def test_a_relayed_bell_rings_here_and_there() -> None:
    relayed: list[str] = []
    bell = RelayedBell(LocalDoorbell(), relayed.append)
    bell.ring("cpu")
    assert bell.wait(["cpu"], 0)
    assert relayed == ["cpu"]
    bell.close()
    assert not bell.wait(["cpu"], 5)
