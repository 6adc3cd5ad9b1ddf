from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.errors import InvalidOption
from secondface.media.trim import Trim, timecode_after

NTSC = Fraction(30000, 1001)


def test_a_part_holds_its_begin_and_not_its_end() -> None:
    trim = Trim(Fraction(1), Fraction(2), origin=Fraction(10))
    assert [trim.is_before(Fraction(time)) for time in (10, 11)] == [True, False]
    assert [trim.is_after(Fraction(time)) for time in (11, 12)] == [False, True]
    assert trim.length_of(Fraction(5)) == 1
    assert trim.length_of(Fraction(3, 2)) == Fraction(1, 2)


def test_a_whole_file_loses_nothing_that_lies_before_its_start() -> None:
    trim = Trim()
    assert trim.is_whole
    assert not trim.is_before(Fraction(-1))
    assert trim.clipped(Fraction(-1), Fraction(2)) == (-1, 2)


@pytest.mark.parametrize(("begin", "end"), [(2, 1), (1, 1), (-1, None), (None, 0)])
def test_parts_without_time_are_refused(begin: int | None, end: int | None) -> None:
    with pytest.raises(InvalidOption, match="from"):
        Trim(None if begin is None else Fraction(begin), None if end is None else Fraction(end))


def test_a_part_behind_the_end_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"lasts 2\.000 s"):
        Trim(Fraction(2)).length_of(Fraction(2))


@pytest.mark.parametrize(("start", "end", "expected"), [
    (0, 1, None), (0, 3, (0, 1)), (2, 5, (0, 2)), (3, 9, (1, 2)), (4, 5, None), (3, 3, (1, 1)),
])  # fmt: skip
def test_what_overlaps_is_clipped(start: int, end: int, expected: tuple[int, int] | None) -> None:
    assert Trim(Fraction(2), Fraction(4)).clipped(Fraction(start), Fraction(end)) == expected


@pytest.mark.parametrize(("code", "frames", "rate", "expected"), [
    ("01:00:00:00", 12, Fraction(25), "01:00:00:12"), ("00:59:59:24", 1, Fraction(25), "01:00:00:00"),
    ("23:59:59:23", 1, Fraction(24), "00:00:00:00"), ("00:00:59;29", 1, NTSC, "00:01:00;02"),
    ("00:09:59;29", 1, NTSC, "00:10:00;00"), ("00:00:00;00", 17982, NTSC, "00:10:00;00"),
    ("00:00:59:29", 1, NTSC, "00:01:00:00"), ("no timecode", 5, Fraction(25), "no timecode"),
])  # fmt: skip
def test_timecodes_move_on(code: str, frames: int, rate: Fraction, expected: str) -> None:
    assert timecode_after(code, frames, rate) == expected


@given(st.integers(0, 200_000), st.integers(0, 200_000), st.sampled_from([Fraction(25), NTSC, Fraction(60000, 1001)]),
       st.sampled_from(":;"))  # fmt: skip
def test_two_steps_are_one(first: int, second: int, rate: Fraction, mark: str) -> None:
    zero = f"00:00:00{mark}00"
    assert timecode_after(timecode_after(zero, first, rate), second, rate) == timecode_after(zero, first + second, rate)
