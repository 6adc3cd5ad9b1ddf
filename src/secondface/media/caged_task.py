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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import FileIO
from pathlib import Path

from secondface.errors import CageUnavailable
from secondface.media.cage import Cage, can_cage
from secondface.media.caged_process import ENDING

INSPECTION = "secondface.media.inspection:inspect_given"
"""The task of probe()."""
_BOOT = (
    "import json, sys; words = json.loads(sys.argv[1]); sys.path[:] = words['path']; "
    "from secondface.media.caged_process import main; main(words['control'], words['task'])"
)
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "LANG", "LC_ALL", "PYTHONHOME", "SYSTEMROOT")
"""No other variable reaches the child: environments hold keys."""
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
        """The signal that ended it, such as SIGSEGV."""
        return signal.Signals(os.WTERMSIG(self.status)).name if os.WIFSIGNALED(self.status) else None


class CagedTask:
    """One task, by `module:function`, and the process that forks a caged child for each call. Safe in any thread."""

    def __init__(self, task: str) -> None:
        self._task = task
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
        words = {"names": [name for _, name in files], "argument": argument, "cage": cage.words()}
        message = json.dumps(words).encode()
        for last_try in (False, True):
            outcome = self._try(message, [descriptor for descriptor, _ in files], cage, most_bytes)
            if outcome is not None:
                return outcome
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
        words = {"path": path, "control": theirs.fileno(), "task": self._task}
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        # a process that forks must have one thread
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, json.dumps(words)],
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

    def _try(self, message: bytes, files: list[int], cage: Cage, most_bytes: int) -> Outcome | None:
        """None when the forking process is gone."""
        (result_fd, result_end), (status_fd, status_end) = os.pipe(), os.pipe()
        with open(result_fd, "rb", buffering=0) as result, open(status_fd, "rb", buffering=0) as status:  # noqa: PTH123
            try:
                with self._guard:
                    socket.send_fds(self._started(), [message], [result_end, status_end, *files])
            except (BrokenPipeError, ConnectionResetError):
                return None
            finally:
                os.close(result_end)
                os.close(status_end)
            return _outcome(result, status, time.monotonic() + cage.wall_s + _LOADING_S, most_bytes)


def _outcome(result: FileIO, status: FileIO, give_up_at: float, most_bytes: int) -> Outcome | None:
    """Read both pipes until the child's end is told; None when nobody is left to tell it."""
    poller = select.poll()
    poller.register(result, select.POLLIN)
    poller.register(status, select.POLLIN)
    words, too_wordy = bytearray(), False
    while ready := {number for number, _ in poller.poll(max(0, int((give_up_at - time.monotonic()) * 1000)))}:
        if not result.closed and result.fileno() in ready:
            part = result.read(1 << 16) or b""
            words += part
            too_wordy = len(words) > most_bytes
            if not part or too_wordy:
                poller.unregister(result)
                result.close()
        else:
            # only now that no more words wait, so that they are complete
            ending = status.read(ENDING.size) or b""
            if len(ending) != ENDING.size:
                return None
            code, peak_bytes, cpu_us, overran = ENDING.unpack(ending)
            lines = () if too_wordy else tuple(bytes(words).split(b"\n")[:-1])
            return Outcome(lines, code, peak_bytes, cpu_us / 1e6, overran, too_wordy)
    return None


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
