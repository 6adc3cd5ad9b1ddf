"""Cores that OpenCV may spread one call over, beside the threads of a stream's stages.

Its threads wait for work by asking for their core again and again. Where the stages keep all cores busy, that is a
twelfth of a run's processor time, and nothing is quicker for it. Must not know what the stages do.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

import cv2

from secondface import processors


@contextmanager
def opencv_beside(threads: int) -> Generator[None]:
    """Leave OpenCV the cores that so many busy threads leave, at least the caller's own."""
    with _opencv().limited_to(max(1, processors.usable() - threads)):
        yield


class _OpenCV:
    """Its number of threads is the whole process's: of runs side by side the first sets it, the last puts it back."""

    def __init__(self) -> None:
        self._guard, self._runs, self._usual = threading.Lock(), 0, 1

    @contextmanager
    def limited_to(self, threads: int) -> Generator[None]:
        with self._guard:
            if self._runs == 0:
                self._usual = cv2.getNumThreads()
                cv2.setNumThreads(min(threads, self._usual))
            self._runs += 1
        try:
            yield
        finally:
            with self._guard:
                self._runs -= 1
                if self._runs == 0:
                    cv2.setNumThreads(self._usual)


@cache
def _opencv() -> _OpenCV:
    return _OpenCV()
