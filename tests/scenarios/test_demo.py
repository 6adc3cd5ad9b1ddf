"""The first thing that a stranger runs."""

from __future__ import annotations

from tests.scenarios.conftest import World


def test_the_demo_makes_a_clip_and_prints_what_it_costs_on_each_tier(secondface: World) -> None:
    told = secondface("demo")
    assert told.code == 0, told.err
    assert secondface.files() == {"secondface-demo.mp4"}
    for words in ("secondface-demo.mp4", "frames", "60", "device worked", "cpu", "t4", "a10g", "v100", "spot"):
        assert words in told.out
