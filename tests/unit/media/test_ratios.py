"""FFmpeg's ratios as exact fractions, whatever type PyAV hands them out in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest

from secondface.media.ratios import exact, seconds


@dataclass(frozen=True)
class Pair:
    numerator: int
    denominator: int


@pytest.mark.parametrize("ratio", [Fraction(30000, 1001), Pair(30000, 1001)])
def test_a_ratio_is_exact(ratio: Pair) -> None:
    assert exact(ratio) == Fraction(30000, 1001)
    assert type(exact(ratio)) is Fraction


@pytest.mark.parametrize("ratio", [None, Fraction(0), Pair(0, 1), Pair(0, 0), Pair(1, 0)])
def test_an_unset_ratio_is_none(ratio: Pair | None) -> None:
    assert exact(ratio) is None
    assert seconds(5, ratio) is None


def test_seconds_are_exact() -> None:
    assert seconds(3, Pair(1, 90000)) == Fraction(1, 30000)
    assert seconds(0, Fraction(1, 25)) == 0
    assert seconds(None, Fraction(1, 25)) is None
