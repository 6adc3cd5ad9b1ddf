"""FFmpeg's ratios (time bases, rates, aspects) as exact fractions.

Decides what an unset ratio is; must not know streams. PyAV before 19 has fractions and None, later ones a type of
their own whose unset value is 0.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

_FINEST = 50_000_000
"""Ticks a second; containers count time in 32 bits."""


class Ratio(Protocol):
    """Whatever PyAV hands out for a ratio."""

    @property
    def numerator(self) -> int: ...
    @property
    def denominator(self) -> int: ...


def exact(ratio: Ratio | None) -> Fraction | None:
    """`ratio` as a fraction; None where FFmpeg leaves it open (0, 0/0, n/0)."""
    if ratio is None or not ratio.numerator or not ratio.denominator:
        return None
    return Fraction(ratio.numerator, ratio.denominator)


def seconds(stamp: int | None, time_base: Ratio | None) -> Fraction | None:
    """The time of `stamp`; None when it, or what it counts in, is unset."""
    base = exact(time_base)
    return stamp * base if stamp is not None and base is not None else None


def common_step(one: Fraction, *others: Fraction) -> Fraction:
    """The largest step in which `one` and all of `others` are whole; `one`'s own order of size where that is too fine.

    What a file cannot count exactly is then rounded, by less than a ten thousandth of a second.
    """
    step = one
    for other in others:
        if other:
            finer = Fraction(
                math.gcd(step.numerator * other.denominator, other.numerator * step.denominator),
                step.denominator * other.denominator,
            )
            step = finer if finer.denominator <= _FINEST else min(step, Fraction(1, 90_000))
    return step
