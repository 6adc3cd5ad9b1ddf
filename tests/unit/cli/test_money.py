"""Amounts as people write them, exactly."""

from __future__ import annotations

import pytest

from secondface.cli.money import parse_money
from secondface.errors import InvalidOption


@pytest.mark.parametrize(
    ("word", "micros"), [("0.30", 300_000), ("¥0.3", 300_000), ("2", 2_000_000), ("0.000001", 1), (" 0.1 ", 100_000)]
)
def test_amounts(word: str, micros: int) -> None:
    assert parse_money("--max-cost", word) == micros


@pytest.mark.parametrize("word", ["", "cheap", "-1", "0.0000001", "nan", "inf", "1e99999999", "0,30"])
def test_what_is_no_amount(word: str) -> None:
    with pytest.raises(InvalidOption, match="--max-cost"):
        parse_money("--max-cost", word)
