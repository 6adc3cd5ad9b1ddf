"""The words beside the bar."""

from __future__ import annotations

from secondface.cli.progress import facts
from secondface.domain.pricing import PriceRow
from secondface.pipeline.engine import Progress

PRICE = PriceRow(tier="a10g", price_micros=3_000)


def test_frames_speed_time_left_device_seconds_and_cost() -> None:
    progress = Progress(212, 750, 8_000, 25.0, 6_800, ())
    assert facts(progress, PRICE) == "212/750 · 25.0 fps · 0:22 left · 6.8 device s · ¥0.021"


def test_a_length_that_is_not_known() -> None:
    assert facts(Progress(3, None, 100, 30.0, 0, ()), PRICE) == "3 · 30.0 fps · 0.0 device s · ¥0.00"


def test_no_speed_yet() -> None:
    assert facts(Progress(0, 10, 0, 0.0, 0, ()), PRICE) == "0/10 · 0.0 fps · 0.0 device s · ¥0.00"
