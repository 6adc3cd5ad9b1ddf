"""How the time of a device that several jobs share is counted, so that no millisecond is lost or counted twice.

Works on integers of any unit; must not know what the device did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Interval = tuple[int, int]
"""Begin and end, the end exclusive."""


def union_length(intervals: Iterable[Interval]) -> int:
    """Length of the union: two stages that work at once count once."""
    length, reached = 0, None
    for begin, end in sorted(intervals):
        if reached is None or begin > reached:
            length, reached = length + max(0, end - begin), max(begin, end)
        elif end > reached:
            length, reached = length + end - reached, end
    return length


def split(length: int, shares: Mapping[str, int]) -> dict[str, int]:
    """Divide an interval by each job's share of the batch (frames). The parts sum to the length exactly.

    Largest remainders first, ties by name: the same batch is always divided the same way. Raises ValueError.
    """
    whole = sum(shares.values())
    if length < 0 or whole <= 0 or min(shares.values()) < 0:
        raise ValueError("a batch needs a length >= 0 and at least one share above zero")
    parts = {job: length * share // whole for job, share in shares.items()}
    by_remainder = sorted(shares, key=lambda job: (-(length * shares[job] % whole), job))
    for job in by_remainder[: length - sum(parts.values())]:
        parts[job] += 1
    return parts
