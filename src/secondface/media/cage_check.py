"""Whether the cage holds on this machine: a caged child tries the doors and says which were open.

Decides nothing about what is tried in tests; this is the short look that `doctor` takes.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing

from secondface.errors import CageUnavailable
from secondface.media.cage import Cage, Protection, can_cage, protections
from secondface.media.caged_process import Given
from secondface.media.caged_task import CagedTask


def checked_protections() -> tuple[Protection, ...]:
    """protections(), and behind them one for each door that was really tried. Raises CageUnavailable."""
    if not can_cage():
        return protections()
    with closing(CagedTask(f"{__name__}:try_doors")) as task:
        outcome = task.call([], None, Cage())
    if not outcome.lines:
        raise CageUnavailable(f"A caged process ended with {outcome.signal_name or outcome.status}.")
    tried = json.loads(outcome.lines[0])
    if "unavailable" in tried:
        raise CageUnavailable(tried["unavailable"])
    return (*protections(), *(_outcome(door, was_open=was_open) for door, was_open in tried.items()))


def _outcome(door: str, *, was_open: bool) -> Protection:
    return Protection(f"no {door}", not was_open, detail="tried, and it worked" if was_open else "tried, and refused")


def try_doors(given: Given) -> Iterator[object]:  # noqa: ARG001  the shape of a task
    """Inside the cage: each door, and whether it was open."""
    doors: dict[str, Callable[[], object]] = {
        "other file": lambda: os.close(os.open("/", os.O_RDONLY)),
        "socket": lambda: socket.socket().close(),
        "second process": second_process,
    }
    yield {door: opens(attempt) for door, attempt in doors.items()}


def opens(attempt: Callable[[], object]) -> bool:
    """Whether a door that is tried is open."""
    try:
        attempt()
    except OSError:
        return False
    return True


def second_process() -> None:
    """Start a process and wait for its end. Raises OSError where that is not allowed."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
