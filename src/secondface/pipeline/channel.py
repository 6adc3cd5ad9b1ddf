"""How items pass between the threads of an engine: ordered channels, and credits that bound what is under way.

Decides who waits for whom; must not know what an item is.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The engine is stopping; the thread that meets this leaves."""


class Channel(Generic[T]):
    """First in, first out, between threads. Its length is bounded by the credits that each item holds."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: deque[T] = deque()
        self._taken = 0
        self._closed = False
        self._stopped = False

    def put(self, item: T) -> None:
        """Append an item. Raises Stopped."""
        with self._changed:
            if self._stopped:
                raise Stopped
            self._items.append(item)
            self._changed.notify()

    def take(self, most: int, least: int = 1) -> tuple[int, list[T]] | None:
        """Wait for `least` items or the end; take what is there, at most `most`, with the number taken before.

        None when the channel is closed and empty. Raises Stopped.
        """
        with self._changed:
            while len(self._items) < least and not self._closed and not self._stopped:
                self._changed.wait()
            if self._stopped:
                raise Stopped
            batch = [self._items.popleft() for _ in range(min(most, len(self._items)))]
            before = self._taken
            self._taken += len(batch)
            return (before, batch) if batch else None

    def close(self) -> None:
        """No item will follow."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Drop what is inside and wake everyone with Stopped."""
        with self._changed:
            self._stopped = True
            self._items.clear()
            self._changed.notify_all()


class Credits:
    """One per item under way; the source waits for one, the sink gives it back. This is the engine's back-pressure."""

    def __init__(self, number: int) -> None:
        self._changed = threading.Condition()
        self._number = number
        self._used = 0
        self._stopped = False
        self.most_used = 0
        """The highest number ever under way at once."""

    def acquire(self) -> None:
        """Wait for a credit. Raises Stopped."""
        with self._changed:
            while self._used >= self._number and not self._stopped:
                self._changed.wait()
            if self._stopped:
                raise Stopped
            self._used += 1
            self.most_used = max(self.most_used, self._used)

    def release(self) -> None:
        with self._changed:
            self._used -= 1
            self._changed.notify()

    def stop(self) -> None:
        """Wake everyone with Stopped."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


class Reorder(Generic[T]):
    """Puts what several workers finish into a channel in the order in which they took it, without making them wait."""

    def __init__(self, out: Channel[T]) -> None:
        self._guard = threading.Lock()
        self._out = out
        self._next = 0
        self._early: dict[int, list[T]] = {}

    def hand_on(self, before: int, items: list[T]) -> None:
        """Items that follow the first `before` ones; they are kept until those have passed. Raises Stopped."""
        with self._guard:
            self._early[before] = items
            while (ready := self._early.pop(self._next, None)) is not None:
                self._next += len(ready)
                for item in ready:
                    self._out.put(item)
