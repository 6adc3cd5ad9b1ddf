"""A clock for tests."""

from __future__ import annotations


class HandClock:
    """A clock that goes on when the test says so."""

    def __init__(self) -> None:
        self.at_ms = 1_790_000_000_000

    def now_ms(self) -> int:
        return self.at_ms

    def elapsed_ms(self) -> int:
        return self.at_ms
