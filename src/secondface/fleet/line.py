"""The line between a local fleet and one of its workers: short words over a pair of sockets.

To a worker: `ring NAME`, `drain`. From it: `state CONDITION SERVED`, `ring NAME`, `over JOB` when it has told how an
attempt ended. All are hints but `drain`; when one side dies, the other hears the end of the line.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence

from secondface.domain.ports import Doorbell

_MOST_WAITING_BYTES = 1 << 16


class Line:
    """One end. Words that do not fit into the pipe at once are dropped, so that nobody ever waits for a slow reader."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._connection.setblocking(True)
        self._guard = threading.Lock()

    def say(self, *words: str | int) -> bool:
        """Send one line; False where it could not be."""
        content = (" ".join(map(str, words)) + "\n").encode()
        with self._guard, contextlib.suppress(OSError):
            # One send of a short line to a local socket is whole or refused.
            return self._connection.send(content, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL) == len(content)
        return False

    def listen(self, heard: Callable[[list[str]], None]) -> None:
        """Hand over each line until either side has hung up. Blocks."""
        waiting = b""
        while content := self._received():
            *lines, waiting = (waiting + content).split(b"\n")
            waiting = waiting[-_MOST_WAITING_BYTES:]
            for line in lines:
                heard(line.decode("utf-8", "replace").split())
        self.hang_up()

    def _received(self) -> bytes:
        try:
            return self._connection.recv(4096)
        except OSError:
            return b""

    def hang_up(self) -> None:
        """End the line for both sides."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class WorkerLine:
    """The worker's end: bells from the fleet are rung here, and the worker's state is told."""

    def __init__(self, descriptor: int, bell: Doorbell) -> None:
        self._line, self._bell = Line(socket.socket(fileno=descriptor)), bell

    def start(self, drain: Callable[[], None]) -> None:
        """Listen from now on; `drain` is called when the fleet says so or is gone."""

        def listen() -> None:
            self._line.listen(self._heard(drain))
            drain()

        threading.Thread(target=listen, name="line", daemon=True).start()

    def tell(self, condition: str, served: int) -> None:
        """Say what the worker does and how many jobs it has ended."""
        self._line.say("state", condition, served)

    def over(self, job_id: str) -> None:
        """Say that an attempt at a job is over, for those who wait for the job."""
        self._line.say("over", job_id)

    def ring(self, name: str) -> None:
        """Let the fleet ring a bell for everybody."""
        self._line.say("ring", name)

    def _heard(self, drain: Callable[[], None]) -> Callable[[list[str]], None]:
        def heard(words: list[str]) -> None:
            match words:
                case ["ring", name]:
                    self._bell.ring(name)
                case ["drain"]:
                    drain()
                case _:
                    pass

        return heard


class RelayedBell:
    """A doorbell that also rings elsewhere: it is heard by whoever waits here and by those beyond `relay`."""

    def __init__(self, inner: Doorbell, relay: Callable[[str], None]) -> None:
        self._inner, self._relay = inner, relay

    def ring(self, tier: str) -> None:
        self._inner.ring(tier)
        self._relay(tier)

    def wait(self, tiers: Sequence[str], timeout_s: float) -> bool:
        return self._inner.wait(tiers, timeout_s)

    def close(self) -> None:
        self._inner.close()
