"""No millisecond of a shared device is lost or counted twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.domain.device_time import split, union_length

POINTS = st.tuples(st.integers(0, 200), st.integers(0, 200)).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(POINTS, max_size=12))
def test_the_union_counts_each_millisecond_once(intervals: list[tuple[int, int]]) -> None:
    assert union_length(intervals) == len({at for begin, end in intervals for at in range(begin, end)})


@given(
    st.integers(0, 10**9),
    st.dictionaries(st.text(max_size=3), st.integers(0, 10**6), min_size=1, max_size=32).filter(
        lambda shares: any(shares.values())
    ),
)
def test_the_parts_of_a_batch_sum_to_its_interval(length: int, shares: dict[str, int]) -> None:
    parts = split(length, shares)
    whole = sum(shares.values())
    assert sum(parts.values()) == length
    assert all(abs(parts[job] * whole - length * share) < whole for job, share in shares.items())


def test_the_same_batch_is_always_divided_the_same_way() -> None:
    assert split(10, {"b": 1, "a": 1, "c": 1}) == split(10, {"c": 1, "a": 1, "b": 1}) == {"a": 4, "b": 3, "c": 3}


@pytest.mark.parametrize(("length", "shares"), [(-1, {"a": 1}), (1, {"a": 0}), (1, {"a": 2, "b": -1})])
def test_a_batch_that_cannot_be_is_refused(length: int, shares: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="batch"):
        split(length, shares)
