"""What a worker and one caged run hold of each other: a line, lanes, and memory that both see.

Decides that every descriptor is closed whatever happens, each by one owner.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Self

from secondface.errors import CageUnavailable
from secondface.fleet.lanes import MOST_LANES, hang_up, shared_memory


class RunEnds:
    """The worker's ends, and for a moment those of the run. Raises CageUnavailable where there are no descriptors."""

    def __init__(self) -> None:
        self._ours, self._theirs = ExitStack(), ExitStack()
        try:
            self.arena = self._kept(self._ours, shared_memory())
            self.line, line = self._pair()
            os.set_blocking(self.line, False)  # who hears it must also hear others, and look at the time
            pairs = [self._pair() for _ in range(MOST_LANES)]
        except OSError as error:
            self.__exit__()
            raise CageUnavailable(f"No descriptors for a caged run: {error.strerror}.") from error
        self.lanes = tuple(ours for ours, _ in pairs)
        self._named = [(line, "line"), (self.arena, "arena"), *((lane, "lane") for _, lane in pairs)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._theirs.close()
        self._ours.close()

    @contextmanager
    def theirs(self) -> Generator[list[tuple[int, str]]]:
        """What the run is handed: its line, the memory, its lanes. They are closed here afterwards."""
        with self._theirs:
            yield self._named

    def hang_up(self) -> None:
        """End all lanes, whoever still holds the other ends: nobody here may wait for them any more."""
        for each in self.lanes:
            hang_up(each)

    def _pair(self) -> tuple[int, int]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return self._kept(self._ours, ours.detach()), self._kept(self._theirs, theirs.detach())

    @staticmethod
    def _kept(stack: ExitStack, descriptor: int) -> int:
        stack.callback(os.close, descriptor)
        return descriptor
