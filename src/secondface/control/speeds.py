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
_PATIENCE = 16
"""After so many cheaper jobs a dear one is mostly forgotten: a new source person costs more than one who is known."""
_GUESS_MARGIN = 300
_MEASURED_MARGIN = 50


@dataclass(frozen=True, slots=True)
class _Measured:
    active_us: int
    high_us: int
    """The dearest of late, by the frame; the bound that is promised and held lies above it."""
    wall_us: int
    other_ms: int

    @property
    def margin_percent(self) -> int:
        above_percent = -(-self.high_us * (100 + _MEASURED_MARGIN) // max(1, self.active_us)) - 100
        return max(_MEASURED_MARGIN, above_percent)


class Speeds:
    """Measured microseconds a frame by (tier, key) and length, each twice the one before, because what is done once a
    job weighs on the frames of a short one. Lives in one process; `learn` fills it again after a start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._measured: dict[tuple[str, str], dict[int, _Measured]] = {}

    def learn(self, job: Job, key: str) -> None:
        """Take a measurement from a job that succeeded with one attempt; others say too little."""
        if job.state != "succeeded" or len(job.attempts) != 1:
            return
        usage = job.attempts[0].usage
        if not usage.frames or not usage.device_active_ms:
            return
        active_us = usage.device_active_ms * 1000 // usage.frames
        fresh = _Measured(active_us, active_us, usage.run_ms * 1000 // usage.frames, usage.wall_ms - usage.run_ms)
        with self._lock:
            lengths, length = self._measured.setdefault((job.tier, key), {}), usage.frames.bit_length()
            lengths[length] = _mixed(lengths[length], fresh) if length in lengths else fresh

    def rate(self, tier: str, key: str, guess_us: int, frames: int = 1) -> Rate:
        """The speed to quote by for a job of `frames`. `guess_us` a frame is taken, with a wide margin, where nothing
        was measured yet; where only other lengths were, as far as they do not contradict it."""
        wanted = frames.bit_length()
        with self._lock:
            lengths = dict(self._measured.get((tier, key), {}))
        if not lengths:
            return Rate(
                active_us=guess_us, wall_us=guess_us, other_ms=1_000, margin_percent=_GUESS_MARGIN, measured=False
            )
        nearest = min(lengths, key=lambda each: (abs(each - wanted), each))
        known = lengths[nearest]
        if nearest == wanted:
            active_us, margin_percent = known.active_us, known.margin_percent
        else:
            # A frame of a longer job needs no more than was measured, of a shorter one no less.
            active_us = (min if nearest < wanted else max)(known.active_us, guess_us)
            margin_percent = max(known.margin_percent, _GUESS_MARGIN)
        return Rate(
            active_us=active_us, wall_us=max(known.wall_us, active_us) if nearest >= wanted else active_us,
            other_ms=known.other_ms, margin_percent=margin_percent,
        )  # fmt: skip


def _mixed(known: _Measured, fresh: _Measured) -> _Measured:
    def mix(old: int, new: int) -> int:
        return ((_WEIGHT - 1) * old + new) // _WEIGHT

    return _Measured(
        mix(known.active_us, fresh.active_us), max(fresh.high_us, _forgotten(known.high_us, fresh.high_us)),
        mix(known.wall_us, fresh.wall_us), mix(known.other_ms, fresh.other_ms),
    )  # fmt: skip


def _forgotten(high_us: int, fresh_us: int) -> int:
    return high_us - (high_us - fresh_us) // _PATIENCE
