"""Small jobs go to the first tier, long ones to one that is fast enough."""

from __future__ import annotations

import pytest

from secondface.control.tiers import tier_for


@pytest.mark.parametrize(
    ("expected_s", "tier"),
    [
        ({"cpu": 5, "t4": 1, "a10g": 1}, "cpu"),
        ({"cpu": 600, "t4": 60, "a10g": 30}, "cpu"),
        ({"cpu": 601, "t4": 60, "a10g": 30}, "t4"),
        ({"cpu": 9_000, "t4": 900, "a10g": 450}, "a10g"),
        ({"cpu": 90_000, "t4": 9_000, "a10g": 4_500}, "a10g"),
        ({"cpu": 90_000, "t4": 90_000, "a10g": 90_000}, "cpu"),
    ],
)
def test_a_job_goes_to_the_first_tier_that_is_fast_enough(expected_s: dict[str, int], tier: str) -> None:
    assert tier_for(("cpu", "t4", "a10g"), lambda each: expected_s[each] * 1000) == tier


def test_where_there_is_one_tier_it_takes_everything() -> None:
    assert tier_for(("cpu",), lambda _tier: 10**9) == "cpu"
