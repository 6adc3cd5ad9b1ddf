"""A constant frame rate out of frames of any: time runs as before, frames are left out or shown again.

Decides which frame fills which place; must not know pictures.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Generic, TypeVar

Item = TypeVar("Item")
_EARLY = Fraction(1, 4)
"""Of a step: by so much a frame may come too late for its place, for stamps in whole milliseconds stray."""


class ConstantRate(Generic[Item]):
    """Places at first + n / rate, each filled by the frame that is shown at that time."""

    def __init__(self, rate: Fraction) -> None:
        self.step = 1 / rate
        self._first: Fraction | None = None
        self._held: tuple[int, Item] | None = None

    def add(self, time: Fraction, item: Item) -> list[tuple[Fraction, Item]]:
        """The places, by their times, that are settled now that a frame is known to begin at `time` seconds."""
        if self._first is None:
            self._first = time
        place = self._place(time)
        settled = self._filled(place)
        self._held = (place, item)
        return settled

    def finish(self, end: Fraction | None) -> list[tuple[Fraction, Item]]:
        """The last places, up to `end`; there is at least one in all."""
        if self._held is None:
            return []
        return self._filled(self._held[0] + 1 if end is None else max(1, self._place(end)))

    def _place(self, time: Fraction) -> int:
        """The first place at which what begins at `time` is shown."""
        assert self._first is not None
        return max(0, math.ceil((time - self._first) / self.step - _EARLY))

    def _filled(self, until: int) -> list[tuple[Fraction, Item]]:
        if self._held is None or self._first is None:
            return []
        place, item = self._held
        return [(self._first + number * self.step, item) for number in range(place, until)]
