"""A constant frame rate out of frames of any: time runs as before, frames are left out or shown again.

Decides which frame fills which place; must not know pictures.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ConstantRate(Generic[Item]):
    """Places at first + n / rate, each filled by the frame that lies nearest, or else by the last one before it."""

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
        """The last places, up to `end`; at least one for a frame that would have none."""
        if self._held is None:
            return []
        last = self._held[0] + 1
        return self._filled(last if end is None else max(last, self._place(end)))

    def _place(self, time: Fraction) -> int:
        assert self._first is not None
        # halves always go up, so that a steady rate gives a steady rhythm
        return max(0, int((time - self._first) / self.step + Fraction(1, 2)))

    def _filled(self, until: int) -> list[tuple[Fraction, Item]]:
        if self._held is None or self._first is None:
            return []
        place, item = self._held
        return [(self._first + number * self.step, item) for number in range(place, until)]
