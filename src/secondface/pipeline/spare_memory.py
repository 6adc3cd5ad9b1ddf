"""Memory that a run has freed but the C library still keeps.

Decides when and how it goes back to the system. Must not know what it was used for.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from functools import cache


def give_back_spare_memory() -> None:
    """Between phases: what loading models and looking at sources left would stay beside all that the frames take.

    About 10 ms, and 70 MB of a 1080p run. Nothing where the C library cannot do it.
    """
    if (trim := _trim()) is not None:
        trim(0)


class SpareMemory:
    """Given back again and again in a long run: each thread has a heap of its own, which only ever grows."""

    def __init__(self, every_s: float = 5.0, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._every_s, self._clock_s = every_s, clock_s
        self._last_s = clock_s()

    def tidy(self) -> bool:
        """Cheap enough to be asked at any time; whether it was time to give something back."""
        now_s = self._clock_s()
        if now_s - self._last_s < self._every_s:
            return False
        self._last_s = now_s
        give_back_spare_memory()
        return True


@cache
def _trim() -> Callable[[int], int] | None:
    # glibc has this function alone; musl and the libraries of other systems give back by themselves or not at all
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
