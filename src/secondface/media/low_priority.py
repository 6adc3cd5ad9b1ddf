"""Threads that give way to those which hold up everything else.

Decides how the threads of codecs stand beside those that look for faces and draw them. Must not know media.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
STEP = 10
"""Steps of nice: by them a thread gets about a tenth of a core for which another one competes."""
_LEAST = 19


def giving_way(work: Callable[[], T]) -> T:
    """What `work` returns or raises; all threads that it starts yield to the caller's when cores are scarce.

    A codec's threads seldom wait for anyone, whereas a thread of Python that loses its core in mid-step often holds
    the interpreter, and then all others of Python wait with it while a core may be idle.
    """
    # A thread inherits the priority of the one that starts it, and may lower its own but not raise it again.
    with ThreadPoolExecutor(1, initializer=_yield_more) as starter:
        return starter.submit(work).result()


def _yield_more() -> None:
    if not sys.platform.startswith("linux"):
        return  # elsewhere a priority belongs to a whole process
    here = threading.get_native_id()
    try:
        os.setpriority(os.PRIO_PROCESS, here, min(_LEAST, os.getpriority(os.PRIO_PROCESS, here) + STEP))
    except OSError:
        return  # a filter of system calls may forbid it: then all threads stand alike
