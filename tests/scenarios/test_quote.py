"""What a run will cost, before it runs."""

from __future__ import annotations

from tests.scenarios.conftest import World


def test_a_quote_for_each_tier_and_nothing_written(secondface: World) -> None:
    told = secondface("quote", "-s", secondface.person_a, "-t", secondface.clip, "--json")
    assert told.code == 0, told.err
    quote = told.object
    assert (quote["frames"], quote["rehearsed"], quote["faces"]) == (60, 48, 1)
    assert quote["frame_us"] > 0
    tiers = {(each["tier"], each["market"]): each for each in quote["quotes"]}
    expected_s = -(-(60 * quote["frame_us"] + quote["once_us"]) // 1_000_000)
    assert tiers["a10g", "on_demand"]["expected_micros"] == tiers["a10g", "on_demand"]["expected_s"] * 3000
    assert abs(tiers["cpu", "on_demand"]["expected_s"] - expected_s) <= 1
    assert all(each["upper_micros"] >= each["expected_micros"] for each in quote["quotes"])
    assert secondface.files() == set()


def test_what_cannot_run_has_no_quote(secondface: World) -> None:
    told = secondface("quote", "-s", secondface.person_a, "-t", secondface.clip, "--preset", "quick", "--json")
    assert (told.code, told.object["error"]["code"]) == (3, "invalid_option")
    told = secondface("quote", "-s", secondface.person_a, "-t", "gone.mp4", "--json")
    assert (told.code, told.object["error"]["code"]) == (4, "file_unreadable")
