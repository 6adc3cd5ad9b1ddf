"""What a run cost, as it is shown."""

from __future__ import annotations

import pytest

from secondface.cli.receipts import bill_object, price_of, show_receipt, show_tiers, tiers_object
from secondface.cli.screen import Screen
from secondface.domain.pricing import Usage
from secondface.errors import InvalidOption

USAGE = Usage(load_ms=310, fetch_ms=12, run_ms=2_900, store_ms=7, device_active_ms=2_450, frames=60, faces=1)


def test_the_bill_as_an_object_adds_up() -> None:
    made = bill_object(USAGE, price_of("a10g", "on_demand"))
    assert (made["charged_s"], made["total_micros"], made["total"]) == (3, 9_000, "¥0.009")
    lines = made["lines"]
    assert isinstance(lines, list)
    assert sum(line["length_ms"] for line in lines) == USAGE.wall_ms


def test_every_tier_is_priced_in_both_markets() -> None:
    costs = {(row["tier"], row["market"]): row["total"] for row in tiers_object(USAGE)}
    assert costs["a10g", "spot"] == "¥0.0027"
    assert costs["cpu", "on_demand"] == "¥0.0009"
    assert len(costs) == 8


def test_the_receipt_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    show_receipt(screen, USAGE, price_of("a10g", "on_demand"))
    show_tiers(screen, USAGE)
    told = capsys.readouterr().out
    for words in ("2450 ms", "charged: the device worked", "3 device s", "¥0.009", "v100", "spot"):
        assert words in told


def test_a_tier_that_does_not_exist() -> None:
    with pytest.raises(InvalidOption, match="cpu, t4, a10g, v100"):
        price_of("abacus", "spot")
