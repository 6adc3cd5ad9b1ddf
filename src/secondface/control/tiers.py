"""Which tier a job goes to where its caller names none: by its size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_LONG_MS = 600_000


def tier_for(tiers: Sequence[str], expected_ms: Callable[[str], int]) -> str:
    """The first of `tiers` that a job keeps busy for ten minutes at most; where it is longer on all, the fastest.

    `expected_ms` says how long its device would work on a tier.
    """
    return next((tier for tier in tiers if expected_ms(tier) <= _LONG_MS), min(tiers, key=expected_ms))
