"""How fast a pipeline is on a tier: measured on jobs that ended, guessed from a table before there are any.

Quotes and holds come from here. Must not read a request: jobs of one kind carry the same key.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from secondface.control.admission import Rate
from secondface.domain.jobs import Job

_WEIGHT = 4
"""A new measurement counts one in so many: one odd job changes little, a new version shows within a few."""
_GUESS_MARGIN = 300
_MEASURED_MARGIN = 50


@dataclass(frozen=True, slots=True)
class _Measured:
    active_us: int
    wall_us: int
    other_ms: int


class Speeds:
    """Measured microseconds a frame by (tier, key). Lives in one process; `learn` fills it again after a start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._measured: dict[tuple[str, str], _Measured] = {}

    def learn(self, job: Job, key: str) -> None:
        """Take a measurement from a job that succeeded with one attempt; others say too little."""
        if job.state != "succeeded" or len(job.attempts) != 1:
            return
        usage = job.attempts[0].usage
        if not usage.frames or not usage.device_active_ms:
            return
        fresh = _Measured(
            usage.device_active_ms * 1000 // usage.frames, usage.run_ms * 1000 // usage.frames,
            usage.wall_ms - usage.run_ms,
        )  # fmt: skip
        with self._lock:
            known = self._measured.get((job.tier, key))
            self._measured[job.tier, key] = fresh if known is None else _mixed(known, fresh)

    def rate(self, tier: str, key: str, guess_us: int) -> Rate:
        """The speed to quote by. `guess_us` is taken, with a wide margin, where nothing was measured yet."""
        with self._lock:
            known = self._measured.get((tier, key))
        if known is None:
            return Rate(active_us=guess_us, wall_us=guess_us, other_ms=1_000, margin_percent=_GUESS_MARGIN)
        return Rate(
            active_us=known.active_us, wall_us=known.wall_us, other_ms=known.other_ms, margin_percent=_MEASURED_MARGIN
        )


def _mixed(known: _Measured, fresh: _Measured) -> _Measured:
    def mix(old: int, new: int) -> int:
        return ((_WEIGHT - 1) * old + new) // _WEIGHT

    return _Measured(
        mix(known.active_us, fresh.active_us), mix(known.wall_us, fresh.wall_us), mix(known.other_ms, fresh.other_ms)
    )
