"""Whether the cage of jobs holds on this machine: a process in one, with folders of its own, tries the doors.

Decides nothing about what is tried in tests; this is the short look that `doctor` takes.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

from secondface.errors import CageUnavailable
from secondface.media.bubblewrap import bubblewrap_program, bubblewrap_reason, library_folders, walls
from secondface.media.cage import Cage, Protection, nobody, worker_cage_reason
from secondface.media.cage_check import opens, second_process
from secondface.media.caged_process import Given
from secondface.media.caged_task import CagedTask
from secondface.media.landlock import landlock_version


def worker_protections() -> tuple[Protection, ...]:
    """What a job's process is held by on this machine, and behind it one for each door that was really tried.

    Raises CageUnavailable.
    """
    if (reason := worker_cage_reason()) is not None:
        return (Protection("jobs", False, detail=f"jobs run in the worker's own process: {reason}"),)
    user_detail = "a job runs as nobody" if nobody() is not None else "a job runs as this user, without new privileges"
    outer = bubblewrap_reason()
    held = (
        Protection(
            "jobs", True, detail=f"a job has its own folder alone, by seccomp and Landlock {landlock_version()}"
        ),
        Protection("user", True, detail=user_detail),
        Protection(
            "bubblewrap", outer is None,
            detail=outer or "a second wall: no network, and no other process or folder is there",
        ),
    )  # fmt: skip
    return (*held, *_tried())


def _tried() -> Iterator[Protection]:
    program, owner = bubblewrap_program(), nobody()
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        folders = [room / "job" / "in", room / "job" / "out", room / "other"]
        for folder in folders:
            folder.mkdir(parents=True)
            folder.chmod(0o755)
            (folder / "file").write_bytes(b"x")
        if owner is not None:
            with suppress(OSError):
                os.chown(folders[1], owner, owner)
        around = walls(program, readable=library_folders(), writable=[room]) if program is not None else ()
        cage = Cage(readable=(folders[0],), writable=(folders[1],), home=room / "job", output_bytes=1 << 20)
        with closing(CagedTask(f"{__name__}:try_doors", around=around)) as task:
            outcome = task.call([], str(folders[2] / "file"), cage)
    if not outcome.lines:
        raise CageUnavailable(f"A caged process ended with {outcome.signal_name or outcome.status}.")
    tried: Any = json.loads(outcome.lines[0])
    if not isinstance(tried, list):
        raise CageUnavailable(outcome.lines[0].decode("utf-8", "replace"))
    for door, was_open in cast("list[tuple[str, bool]]", tried):
        yield Protection(
            f"no {door}", not was_open, detail="tried, and it worked" if was_open else "tried, and refused"
        )


def try_doors(given: Given) -> Iterator[object]:
    """Inside the cage: each door, and whether it was open. Raises OSError where its own folders are closed."""
    Path("in/file").read_bytes()
    Path("out/new").write_bytes(b"x")
    doors: dict[str, Callable[[], object]] = {
        "other job's file": Path(given.argument).read_bytes,
        "socket": lambda: socket.socket().close(),
        "second process": second_process,
        "word to the worker": lambda: os.kill(os.getppid(), 0),
    }
    yield [[door, opens(attempt)] for door, attempt in doors.items()]
