"""The process that forks caged children: it has loaded what they need and has read nothing yet.

Decides how a child is set up (descriptors, cage, one of its tasks) and that no child outlives its time or its parent.
Started by CagedTask; must not read a stranger's byte itself, for its children are copies of it.
"""

from __future__ import annotations

import codecs
import fcntl
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from secondface.media.cage import Cage, enter
from secondface.media.handed import handed_path

ENDING = struct.Struct("<iqq?")
"""How a child ended: wait status, peak memory in bytes, CPU time in microseconds, whether its time was up."""
MOST_FILES = 200
"""Linux passes at most 253 descriptors at a time."""
_MESSAGE_BYTES = 1 << 17
_MOST_DESCRIPTORS = 1024
_RESULT_FD = 3
_CODECS = ("ascii", "latin-1", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1252")
"""Python loads each of these at its first use, when a child can load nothing any more."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a task gets: files that are open already, and an argument of JSON values."""

    paths: tuple[Path, ...]
    argument: Any


Task: TypeAlias = Callable[[Given], Iterable[object]]
"""Runs inside the cage; each value that it yields is written as one line of JSON.

When it raises, the last line is `{"fault": ...}`; when the cage cannot be entered, the only one is
`{"unavailable": ...}`.
What its module names in LATE_MODULES is loaded before: libraries that load parts of themselves at first use. Then the
functions that it names in BEFORE_CAGES are called, for what can be done no more inside, and for what every child would
make again; they may start no thread that stays.
"""


@dataclass(slots=True)
class _Child:
    status_fd: int
    """A socket: hung up by whoever waits for the child, it means that the child is to die."""
    ends_at: float
    overran: bool = False


def main(control_fd: int, names: Sequence[str]) -> None:
    """Fork a child for each message on the socket `control_fd`, until its other end is closed."""
    tasks = [_loaded(name) for name in names]
    for codec in _CODECS:
        codecs.lookup(codec)
    control = socket.socket(fileno=control_fd)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, _MOST_DESCRIPTORS), hard))
    # without a handler the signal would not be written to the descriptor
    signal.signal(signal.SIGCHLD, _heard)
    awake, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    # what is frozen is not touched by the children's collector, so its pages stay shared
    gc.collect()
    gc.freeze()
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(awake, select.POLLIN)
    children: dict[int, _Child] = {}
    while True:
        ready = dict(poller.poll(_time_left_ms(children)))
        if awake in ready:
            os.read(awake, 4096)
        _end_unwanted(children, ready, poller)
        if control.fileno() in ready and not _take(control, tasks, children, poller):
            break
        _end_overdue(children)
        _reap(children, poller)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    # its starter waits, and there is nothing to tidy up
    os._exit(0)


def _loaded(task_name: str) -> Task:
    """The task, with all that its module wants done before there is any child."""
    module, _, name = task_name.partition(":")
    home = importlib.import_module(module)
    for late in getattr(home, "LATE_MODULES", ()):
        importlib.import_module(late)
    for prepare in getattr(home, "BEFORE_CAGES", ()):
        prepare()
    return getattr(home, name)


def _heard(number: int, frame: FrameType | None) -> None:
    pass


def _time_left_ms(children: dict[int, _Child]) -> int | None:
    if not children:
        return None
    return max(0, int((min(child.ends_at for child in children.values()) - time.monotonic()) * 1000) + 1)


def _take(
    control: socket.socket, tasks: Sequence[Task], children: dict[int, _Child], poller: select.poll
) -> bool:  # fmt: skip
    """Start the child that the next message asks for; False when there will be no more messages."""
    message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, MOST_FILES + 2)
    if not message:
        return False
    words: dict[str, Any] = json.loads(message)
    cage, place = Cage.of_words(words["cage"]), int(words["task"])
    result_fd, status_fd, *files = descriptors
    pid = os.fork()
    if pid == 0:
        _live(tasks[place], cage, result_fd, files, words)
    for descriptor in (result_fd, *files):
        os.close(descriptor)
    children[pid] = _Child(status_fd, time.monotonic() + cage.wall_s)
    poller.register(status_fd, select.POLLIN | select.POLLRDHUP)
    return True


def _live(task: Task, cage: Cage, result_fd: int, files: list[int], words: dict[str, Any]) -> None:
    """A child's whole life; never returns."""
    code, fault = 1, "unavailable"
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _keep_only([result_fd, *files])
        paths = tuple(handed_path(_RESULT_FD + 1 + at, name) for at, name in enumerate(words["names"]))
        enter(cage)
        fault = "fault"
        for value in task(Given(paths, words["argument"])):
            _write_whole(_RESULT_FD, json.dumps(value, default=str).encode() + b"\n")
        code = 0
    except Exception as cause:  # noqa: BLE001  the process ends here, and this is all that is ever heard of it
        _write_whole(_RESULT_FD, json.dumps({fault: f"{type(cause).__name__}: {cause}"}).encode() + b"\n")
    finally:
        os._exit(code)


def _keep_only(descriptors: list[int]) -> None:
    """Close all but these and number them from _RESULT_FD on."""
    end = _RESULT_FD + len(descriptors)
    # first out of the way, for the numbers that are wanted may be taken
    for at, each in enumerate([fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, end) for each in descriptors]):
        os.dup2(each, _RESULT_FD + at, inheritable=False)
    os.closerange(end, _MOST_DESCRIPTORS)


def _write_whole(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _end_overdue(children: dict[int, _Child]) -> None:
    now = time.monotonic()
    for pid, child in children.items():
        if child.ends_at <= now:
            child.overran = True
            child.ends_at = now + 1
            os.kill(pid, signal.SIGKILL)


def _end_unwanted(children: dict[int, _Child], ready: Mapping[int, int], poller: select.poll) -> None:
    """Kill those whose end nobody waits for any more, and those that somebody wants to end."""
    for pid, child in children.items():
        if child.status_fd in ready:
            poller.unregister(child.status_fd)
            os.kill(pid, signal.SIGKILL)


def _reap(children: dict[int, _Child], poller: select.poll) -> None:
    while children:
        pid, status, used = os.wait4(-1, os.WNOHANG)
        if pid == 0:
            return
        child = children.pop(pid)
        cpu_us = int((used.ru_utime + used.ru_stime) * 1e6)
        try:
            os.write(child.status_fd, ENDING.pack(status, used.ru_maxrss * 1024, cpu_us, child.overran))
        except (BrokenPipeError, ConnectionResetError):
            # nobody waits for it any more
            pass
        finally:
            with suppress(KeyError):
                poller.unregister(child.status_fd)
            os.close(child.status_fd)
