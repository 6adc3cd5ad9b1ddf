"""Memory that a phase of a run has freed but the C library still keeps.

Decides how it goes back to the system. Must not know what it was used for.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


def give_back_spare_memory() -> None:
    """Between phases: what loading models and looking at sources left would stay beside all that the frames take.

    About 10 ms, and 70 MB of a 1080p run. Nothing where the C library cannot do it.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    # glibc has this function alone; musl and the libraries of other systems give back by themselves or not at all
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
