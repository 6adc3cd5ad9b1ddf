"""The worked examples of the metering plan, and what must hold for every usage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secondface.domain.pricing import (
    CALLER_PAYS,
    Attempt,
    Ended,
    PriceBook,
    PriceRow,
    Usage,
    default_price_book,
    format_micros,
    quote,
    receipt,
    spot,
)
from secondface.errors import InvalidOption

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BOOK = default_price_book()
A10G = BOOK.price("a10g", "on_demand", NOW)
A10G_SPOT = BOOK.price("a10g", "spot", NOW)


def bill(usage: Usage, price: PriceRow = A10G, ended: Ended = "succeeded") -> int:
    return receipt([Attempt(1, usage, ended)], price).total_micros


def active(ms: int) -> Usage:
    return Usage(run_ms=ms, device_active_ms=ms)


# ---- worked examples -------------------------------------------------------------------------------------------------


def test_90_active_seconds_cost_27_fen() -> None:
    assert format_micros(bill(active(90_000))) == "¥0.27"


def test_a_120_s_job_pays_for_its_80_s_of_compute() -> None:
    usage = Usage(boot_ms=20_000, fetch_ms=12_000, run_ms=80_000, store_ms=8_000, device_active_ms=80_000)
    assert usage.wall_ms == 120_000
    assert format_micros(bill(usage)) == "¥0.24"


def test_100_jobs_of_90_s_cost_27_yuan() -> None:
    assert format_micros(sum(bill(active(90_000)) for _ in range(100))) == "¥27.00"


def test_80_s_on_spot_at_70_percent_off() -> None:
    assert format_micros(bill(active(80_000), A10G_SPOT)) == "¥0.072"


def test_a_fifth_of_a_second_is_one_second() -> None:
    assert format_micros(bill(active(200))) == "¥0.003"


# ---- who pays --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ended", sorted(CALLER_PAYS))
def test_the_caller_pays_for_what_the_device_did(ended: Ended) -> None:
    assert bill(active(1_500), ended=ended) == 2 * 3_000


@pytest.mark.parametrize("ended", ["failed_by_provider", "lost", "preempted", "from_cache"])
def test_the_provider_pays_for_its_faults_and_the_cache_is_free(ended: Ended) -> None:
    assert bill(active(90_000), ended=ended) == 0


def test_nothing_is_charged_before_the_device_worked() -> None:
    assert bill(Usage(boot_ms=9_000, load_ms=900, fetch_ms=5_000, store_ms=70), ended="failed_by_caller") == 0


def test_segments_of_a_lost_attempt_that_the_last_one_reuses_are_charged_once() -> None:
    lost = Attempt(1, active(50_000), "lost", reused_ms=30_000)
    final = Attempt(2, active(20_000))
    bill_of_both = receipt([lost, final], A10G)
    assert bill_of_both.charged_ms == 50_000
    assert {(line.attempt, line.reason, line.charged_ms) for line in bill_of_both.lines if line.item == "device"} == {
        (1, "segment_reused", 30_000),
        (1, "provider_pays", 0),
        (2, "device_worked", 20_000),
    }


def test_the_charge_is_rounded_once_per_job_and_not_per_attempt() -> None:
    attempts = [Attempt(1, active(400), "lost", reused_ms=400), Attempt(2, active(400))]
    assert receipt(attempts, A10G).total_micros == 3_000


# ---- the price book --------------------------------------------------------------------------------------------------


def test_a_price_of_the_family_wins_and_a_later_row_replaces_an_earlier_one() -> None:
    old = PriceRow(tier="t4", price_micros=10, valid_until=NOW)
    new = PriceRow(tier="t4", price_micros=20, valid_from=NOW)
    own = PriceRow(tier="t4", price_micros=30, family="big")
    book = PriceBook("CNY", (old, new, own))
    assert book.price("t4", "on_demand", NOW - timedelta(seconds=1)).price_micros == 10
    assert book.price("t4", "on_demand", NOW).price_micros == 20
    assert book.price("t4", "on_demand", NOW, family="big").price_micros == 30


def test_an_unknown_tier_is_refused_with_the_tiers_that_exist() -> None:
    with pytest.raises(InvalidOption, match="cpu, t4, a10g, v100"):
        BOOK.price("abacus", "on_demand", NOW)


def test_every_tier_has_both_markets() -> None:
    assert {(r.tier, r.market) for r in BOOK.rows} == {(t, m) for t in BOOK.tiers() for m in ("on_demand", "spot")}


def test_minimum_and_step_of_a_row() -> None:
    row = PriceRow(tier="x", price_micros=1, minimum_s=10, step_s=60)
    assert [row.charged_s(ms) for ms in (0, 1, 60_000, 60_001)] == [0, 60, 60, 120]
    assert PriceRow(tier="x", price_micros=1, minimum_s=10).charged_s(1) == 10


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (0, "¥0.00"),
        (300, "¥0.0003"),
        (270_000, "¥0.27"),
        (27_000_000, "¥27.00"),
        (1, "¥0.000001"),
        (-1_500_000, "-¥1.50"),
    ],
)
def test_money_is_shown_exactly(micros: int, shown: str) -> None:
    assert format_micros(micros) == shown


# ---- what holds for every usage --------------------------------------------------------------------------------------

MS = st.integers(0, 10**9)
ENDS = st.sampled_from(
    ["succeeded", "failed_by_caller", "cancelled_by_caller", "failed_by_provider", "lost", "preempted", "from_cache"]
)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    run_ms = draw(MS)
    return Usage(
        boot_ms=draw(MS), load_ms=draw(MS), fetch_ms=draw(MS), run_ms=run_ms, store_ms=draw(MS),
        device_active_ms=draw(st.integers(0, run_ms)),
    )  # fmt: skip


@st.composite
def attempts(draw: st.DrawFn) -> list[Attempt]:
    found = draw(st.lists(st.tuples(usages(), ENDS, st.floats(0, 1)), min_size=1, max_size=5))
    return [Attempt(n, u, end, int(u.device_active_ms * share)) for n, (u, end, share) in enumerate(found, 1)]  # type: ignore[arg-type]


ROWS = st.builds(
    PriceRow,
    tier=st.just("x"),
    price_micros=st.integers(0, 10**7),
    minimum_s=st.integers(0, 60),
    step_s=st.integers(1, 60),
)


@given(attempts(), ROWS)
def test_the_lines_account_for_every_millisecond(tries: list[Attempt], row: PriceRow) -> None:
    bill = receipt(tries, row)
    assert sum(line.length_ms for line in bill.lines) == sum(t.usage.wall_ms for t in tries)
    assert all(0 <= line.charged_ms <= line.length_ms for line in bill.lines)
    assert all(line.charged_ms == 0 for line in bill.lines if line.item != "device")


@given(attempts(), ROWS)
def test_the_charge_is_fair(tries: list[Attempt], row: PriceRow) -> None:
    bill = receipt(tries, row)
    assert bill.charged_ms <= sum(t.usage.device_active_ms for t in tries)
    assert bill.total_micros == bill.charged_s * row.price_micros
    assert (bill.charged_s == 0) == (bill.charged_ms == 0)
    assert bill.charged_ms <= bill.charged_s * 1000 < bill.charged_ms + 1000 * (row.step_s + row.minimum_s)


@given(st.integers(1, 10**9), st.integers(1, 10**6), ROWS)
def test_more_device_time_never_costs_less(ms: int, more: int, row: PriceRow) -> None:
    assert row.charge_micros(ms) <= row.charge_micros(ms + more)


@given(ROWS, st.integers(0, 100))
def test_spot_is_never_dearer(row: PriceRow, off: int) -> None:
    assert 0 <= spot(row, off).price_micros <= row.price_micros


@given(st.integers(1, 10**6), st.integers(1, 10**6), ROWS)
def test_a_quote_bounds_what_it_expects(frames: int, us: int, row: PriceRow) -> None:
    offer = quote(frames, us, row)
    assert 0 < offer.expected_s <= offer.upper_s
    assert offer.expected_micros <= offer.upper_micros


def test_a_usage_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot exceed"):
        Usage(run_ms=1, device_active_ms=2)
    with pytest.raises(ValueError, match="negative"):
        Usage(boot_ms=-1)


# ---- versions, bounds, times -----------------------------------------------------------------------------------------


def test_a_new_version_of_a_price_ends_the_old_one_and_keeps_it() -> None:
    later = NOW + timedelta(days=1)
    newer = BOOK.replaced(PriceRow(tier="a10g", price_micros=5_000), later)
    assert newer.price("a10g", "on_demand", later - timedelta(milliseconds=1)).price_micros == 3_000
    assert newer.price("a10g", "on_demand", later).price_micros == 5_000
    assert newer.price("a10g", "spot", later) == A10G_SPOT
    assert BOOK.price("a10g", "on_demand", later).price_micros == 3_000


def test_a_version_cannot_start_before_a_later_one() -> None:
    newer = BOOK.replaced(PriceRow(tier="a10g", price_micros=5_000), NOW)
    with pytest.raises(InvalidOption, match="later one"):
        newer.replaced(PriceRow(tier="a10g", price_micros=6_000), NOW)


@given(ROWS, st.integers(0, 10**9))
@example(PriceRow(tier="x", price_micros=1, minimum_s=10, step_s=7), 12)
def test_what_is_affordable_is_within_the_limit_and_a_step_more_is_not(row: PriceRow, limit: int) -> None:
    ms = row.affordable_ms(limit)
    if ms is None:
        assert row.price_micros == 0
        return
    assert row.charge_micros(ms) <= limit
    assert row.charge_micros(ms + 1) > limit


@given(attempts(), ROWS, st.integers(0, 10**9))
def test_a_bound_is_kept_and_the_rest_is_shown(tries: list[Attempt], row: PriceRow, bound: int) -> None:
    full, bounded = receipt(tries, row), receipt(tries, row, bound_micros=bound)
    assert bounded.total_micros <= bound
    assert bounded.total_micros + bounded.waived_micros == full.total_micros
    assert bounded.lines == full.lines


def test_a_quote_says_how_long_it_takes() -> None:
    offer = quote(100, 20_000, A10G, wall_us_per_frame=25_000, other_ms=700)
    assert (offer.expected_s, offer.expected_wall_ms) == (2, 3_200)
    assert quote(100, 20_000, A10G).expected_wall_ms == 2_000
