"""One device that several runs use at once, and how its time is divided among them.

Decides that at each moment those who work share the time by what they have under way, so that the sum over runs is the
union of all work, to the nanosecond. Must not know jobs or models.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Self

from secondface.observe import BusyClock


class SharedDevice:
    """The clock of a device. Each run has a share of it, which is the run's own clock."""

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._weights: dict[DeviceShare, int] = {}
        """What each run has under way; runs that wait have no entry."""
        self._since_ns = clock()
        self._busy_ns = 0
        self._turn = 0

    def share(self) -> DeviceShare:
        """The clock of one more run."""
        return DeviceShare(self)

    @property
    def busy_ns(self) -> int:
        """Nanoseconds in which anybody worked: the sum over all shares."""
        with self._guard:
            self._divide()
            return self._busy_ns

    def change(self, steps: Mapping[DeviceShare, int]) -> None:
        """Add to, or take from, what runs have under way, all at the same moment."""
        with self._guard:
            self._divide()
            for share, step in steps.items():
                weight = self._weights.pop(share, 0) + step
                if weight > 0:
                    self._weights[share] = weight

    def counted_ns(self, share: DeviceShare) -> int:
        """What a run has had so far, up to now."""
        with self._guard:
            self._divide()
            return share.counted_ns

    @contextmanager
    def batch(self, rows: Mapping[DeviceShare, int]) -> Generator[None]:
        """While inside, the device works on a batch with so many rows of each run."""
        self.change(rows)
        try:
            yield
        finally:
            self.change({share: -count for share, count in rows.items()})

    def _divide(self) -> None:
        """Hand out the time since the last change; what does not divide evenly goes to one run, another each time."""
        now_ns = self._clock()
        length, self._since_ns = now_ns - self._since_ns, now_ns
        if not self._weights or length <= 0:
            return
        whole = sum(self._weights.values())
        rest = length
        for share, weight in self._weights.items():
            part = length * weight // whole
            share.counted_ns += part
            rest -= part
        self._turn += 1
        list(self._weights)[self._turn % len(self._weights)].counted_ns += rest
        self._busy_ns += length


class DeviceShare(BusyClock):
    """One run's clock on a shared device. Blocks inside of one another in one thread count once."""

    def __init__(self, device: SharedDevice) -> None:
        super().__init__()
        self.device = device
        self.counted_ns = 0
        """Kept by the device, under its lock."""
        self._thread = threading.local()

    def __enter__(self) -> Self:
        self._thread.depth = depth = self._depth + 1
        if depth == 1:
            self.device.change({self: 1})
        return self

    def __exit__(self, *exception: object) -> None:
        self._thread.depth = depth = self._depth - 1
        if depth == 0:
            self.device.change({self: -1})

    @contextmanager
    def aside(self) -> Generator[None]:
        """While inside, this thread's blocks do not count: it waits for work that is counted elsewhere."""
        step = min(self._depth, 1)
        self.device.change({self: -step})
        try:
            yield
        finally:
            self.device.change({self: step})

    @property
    def busy_ns(self) -> int:
        return self.device.counted_ns(self)

    @property
    def busy_ms(self) -> int:
        return self.busy_ns // 1_000_000

    @property
    def _depth(self) -> int:
        return getattr(self._thread, "depth", 0)
