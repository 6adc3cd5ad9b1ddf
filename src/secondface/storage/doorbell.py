"""The doorbell inside one process. Between processes the poll of the queue finds what no bell announced."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic


class LocalDoorbell:
    """Bells of all tiers; a bell that rang before anybody waited is heard by the next who does."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rung: dict[str, int] = {}
        self._closed = False

    def ring(self, tier: str) -> None:
        with self._changed:
            self._rung[tier] = min(self._rung.get(tier, 0) + 1, 1_000)
            self._changed.notify_all()

    def wait(self, tiers: Sequence[str], timeout_s: float) -> bool:
        until = monotonic() + timeout_s
        with self._changed:
            while not self._closed:
                for tier in tiers:
                    if self._rung.get(tier, 0):
                        self._rung[tier] -= 1
                        return True
                if not self._changed.wait(max(0.0, until - monotonic())):
                    return False
            return False

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
