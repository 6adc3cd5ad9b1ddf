"""CagedTask: hand open files to a caged child and read, within bounds, what it says.

Decides how much of a child's words is read and for how long it is waited for, and starts the forking process again
when it is gone. Must not trust a byte that comes back, and must not know media; loads nothing of it, so that the
forking process can be started before the libraries of this one are loaded.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Self

from secondface.errors import CageUnavailable
from secondface.media.cage import Cage, can_cage
from secondface.media.caged_process import ENDING

INSPECTION = "secondface.media.inspection:inspect_given"
"""The task of probe()."""
_BOOT = (
    "import json, sys; words = json.loads(sys.argv[1]); sys.path[:] = words['path']; "
    "from secondface.media.caged_process import main; main(words['control'], words['tasks'])"
)
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "LANG", "LC_ALL", "PYTHONHOME", "SYSTEMROOT")
"""No other variable reaches the child: environments hold keys."""
_NAMED_SIGNALS = frozenset(map(int, signal.Signals))
_DYING_S = 1.0
"""A killed process is gone long before, unless whoever is to kill it is still loading."""
_LOADING_S = 30.0
"""The forking process may need this long on a cold and busy machine."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one child: whole lines of its output, and how it ended."""

    lines: tuple[bytes, ...]
    status: int
    """As os.waitpid() gives it; 0 is a good end."""
    peak_bytes: int
    cpu_s: float
    overran: bool
    """Its wall time was up."""
    too_wordy: bool
    """It wrote more than is read."""

    @property
    def signal_name(self) -> str | None:
        """The signal that ended it, such as SIGSEGV. A process can end itself by those that have no name too."""
        if not os.WIFSIGNALED(self.status):
            return None
        number = os.WTERMSIG(self.status)
        return signal.Signals(number).name if number in _NAMED_SIGNALS else f"signal {number}"


class CagedTask:
    """Tasks, by `module:function`, and the process that forks a caged child for each call. Safe in any thread."""

    def __init__(self, *tasks: str, around: Sequence[str] = ()) -> None:
        """The first is the usual one. `around` is a program that starts the forking process inside of its own walls."""
        self._tasks, self._around = tasks, tuple(around)
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = 0

    @property
    def process_id(self) -> int | None:
        """Of the forking process, while there is one."""
        process = self._process
        return None if process is None else process.pid

    def start(self) -> None:
        """Start the forking process without waiting for it. Raises CageUnavailable."""
        with self._guard:
            self._started()

    def call(
        self, files: Sequence[tuple[int, str]], argument: object, cage: Cage, most_bytes: int = 1 << 20
    ) -> Outcome:
        """Run the task on open `files` (descriptor and name) in a child of its own. Raises CageUnavailable."""
        for last_try in (False, True):
            with self.begin(files, argument, cage) as child:
                outcome = child.outcome(most_bytes)
            if outcome is not None:
                return outcome
            if not last_try:
                self.close()
        raise CageUnavailable("The process that starts caged processes ends at once.")

    def begin(
        self, files: Sequence[tuple[int, str]], argument: object, cage: Cage, task: str | None = None
    ) -> CagedChild:
        """The same, or another of the tasks, for a caller who has to do with the child meanwhile."""
        place = 0 if task is None else self._tasks.index(task)
        words = {"names": [name for _, name in files], "argument": argument, "cage": cage.words(), "task": place}
        message, descriptors = json.dumps(words).encode(), [descriptor for descriptor, _ in files]
        for last_try in (False, True):
            child = self._try(message, descriptors, cage)
            if child is not None:
                return child
            if not last_try:
                self.close()
        raise CageUnavailable("The process that starts caged processes ends at once.")

    def close(self) -> None:
        """End the forking process and its children; a later call starts another."""
        with self._guard:
            control, process = self._control, self._process
            self._control = self._process = None
            if control is not None:
                control.close()
            if process is None or self._owner != os.getpid():
                return
            try:
                process.wait(1)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _started(self) -> socket.socket:
        if self._control is not None and self._owner == os.getpid():
            return self._control
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # what is relative is so to a folder that the other process is not in
        path = [str(Path(entry).absolute()) for entry in sys.path]
        words = {"path": path, "control": theirs.fileno(), "tasks": self._tasks}
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        # a process that forks must have one thread
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        try:
            self._process = subprocess.Popen(
                [*self._around, sys.executable, "-I", "-c", _BOOT, json.dumps(words)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),), env=environment, cwd="/", start_new_session=True,
            )  # fmt: skip
        except OSError as cause:
            ours.close()
            raise CageUnavailable(str(cause)) from cause
        finally:
            theirs.close()
        self._control, self._owner = ours, os.getpid()
        return ours

    def _try(self, message: bytes, files: list[int], cage: Cage) -> CagedChild | None:
        """None when the forking process is gone."""
        (result_fd, result_end), (status, status_end) = os.pipe(), socket.socketpair()
        result = open(result_fd, "rb", buffering=0)  # noqa: PTH123, SIM115  a descriptor; the child's owner closes it
        try:
            with self._guard:
                socket.send_fds(self._started(), [message], [result_end, status_end.fileno(), *files])
        except (BrokenPipeError, ConnectionResetError):
            result.close()
            status.close()
            return None
        except BaseException:
            result.close()
            status.close()
            raise
        finally:
            os.close(result_end)
            status_end.close()
        return CagedChild(result, status, time.monotonic() + cage.wall_s + _LOADING_S)


class CagedChild:
    """A child under way. Leaving it as a context manager ends it."""

    def __init__(self, result: FileIO, status: socket.socket, give_up_at: float) -> None:
        self._result, self._status, self._give_up_at = result, status, give_up_at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Kill it and wait for its end: what it could still write to is about to be removed."""
        self.kill()
        with suppress(OSError):
            self._status.settimeout(_DYING_S)
            self._status.recv(ENDING.size)
        self._result.close()
        self._status.close()

    def kill(self) -> None:
        """Let it end at once; outcome() tells when it has."""
        with suppress(OSError):
            self._status.shutdown(socket.SHUT_WR)

    def outcome(
        self, most_bytes: int = 1 << 20, *, hear: Mapping[int, Callable[[], bool]] | None = None,
        look: Callable[[], None] = lambda: None, look_every_s: float = _LOADING_S,
    ) -> Outcome | None:  # fmt: skip
        """Read its words until its end is told; None when nobody is left to tell it.

        `hear` is called when its descriptor can be read, until it says False; `look` every so often. What they raise
        is raised here, and the child goes on until it is left or killed.
        """
        waits = dict(hear or {})
        poller = select.poll()
        for each in (self._result, self._status, *waits):
            poller.register(each, select.POLLIN)
        words, too_wordy = bytearray(), False
        while (left_s := self._give_up_at - time.monotonic()) > 0:
            ready = {number for number, _ in poller.poll(int(min(left_s, look_every_s) * 1000) + 1)}
            look()
            for number in ready & waits.keys():
                if not waits[number]():
                    poller.unregister(number)
                    del waits[number]
            if not self._result.closed and self._result.fileno() in ready:
                part = self._result.read(1 << 16) or b""
                words += part
                too_wordy = len(words) > most_bytes
                if not part or too_wordy:
                    poller.unregister(self._result)
                    self._result.close()
            elif self._status.fileno() in ready and not ready & waits.keys():
                # only now that no more words wait, so that they are complete
                return self._ending(words, too_wordy=too_wordy)
        return None

    def _ending(self, words: bytearray, *, too_wordy: bool) -> Outcome | None:
        try:
            ending = self._status.recv(ENDING.size)
        except OSError:
            return None
        if len(ending) != ENDING.size:
            return None
        code, peak_bytes, cpu_us, overran = ENDING.unpack(ending)
        lines = () if too_wordy else tuple(bytes(words).split(b"\n")[:-1])
        return Outcome(lines, code, peak_bytes, cpu_us / 1e6, overran, too_wordy)


@lru_cache(maxsize=8)
def caged_task(task: str) -> CagedTask:
    """The CagedTask of that name in this process, which ends with it."""
    made = CagedTask(task)
    atexit.register(made.close)
    return made


def start_inspection() -> None:
    """Begin to load what probe() needs, in another process, without waiting for it. Raises CageUnavailable."""
    if can_cage():
        caged_task(INSPECTION).start()
