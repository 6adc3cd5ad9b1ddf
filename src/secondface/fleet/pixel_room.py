"""How many pixels the jobs of one worker may hold at once, so that several large pictures do not end it together.

Decides who goes first: whoever came first, however large. Must not know what is done with pixels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

_TICK_S = 0.1


class PixelRoom:
    """Room for so many pixels. What is larger than all of it gets it when it is empty."""

    def __init__(self, most_pixels: int) -> None:
        self._most = most_pixels
        self._taken = 0
        self._waiting: list[object] = []
        self._changed = threading.Condition()

    @contextmanager
    def take(self, pixels: int, checkpoint: Callable[[], None]) -> Generator[None]:
        """Wait for room and keep it for the block. Raises what `checkpoint` raises meanwhile."""
        me, needed = object(), min(pixels, self._most)
        with self._changed:
            self._waiting.append(me)
            try:
                while self._waiting[0] is not me or self._taken + needed > self._most:
                    checkpoint()
                    self._changed.wait(_TICK_S)
            finally:
                self._waiting.remove(me)
                self._changed.notify_all()
            self._taken += needed
        try:
            yield
        finally:
            with self._changed:
                self._taken -= needed
                self._changed.notify_all()
