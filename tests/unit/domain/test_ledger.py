"""Money moves in pairs, within what was held, and budgets count what was promised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secondface.domain import ledger
from secondface.domain.budgets import Budget, Spend, period_of, reserve, settle
from secondface.domain.ledger import Entry, Posting
from secondface.errors import BudgetExceeded, InternalFault

NOV_30_2026_MS = 1_796_083_199_999
"""The last millisecond of 30 November 2026 in UTC."""


def paid_in(micros: int = 1_000) -> dict[str, int]:
    return ledger.apply({}, [ledger.deposit("a", micros, "pay_1", 0, "CNY")])


def hold(micros: int, balance: int, credit: int = 0) -> Entry | None:
    return ledger.hold("a", "j", micros, 1, "CNY", balance_micros=balance, credit_micros=credit)


def test_a_job_from_deposit_to_refund() -> None:
    balances = paid_in()
    held = hold(600, balances["wallet:a"])
    assert held is not None
    balances = ledger.apply(balances, [held])
    assert (balances["wallet:a"], balances["held:a"]) == (400, 600)
    balances = ledger.apply(balances, ledger.settle("a", "j", 600, 250, 2, "CNY"))
    assert (balances["wallet:a"], balances["held:a"], balances["revenue:a"]) == (750, 0, 250)
    balances = ledger.apply(balances, [ledger.refund("a", "j", 250, 50, 3, "CNY")])
    assert (balances["wallet:a"], balances["revenue:a"], sum(balances.values())) == (800, 200, 0)


def test_no_hold_beyond_the_wallet_and_its_credit() -> None:
    with pytest.raises(BudgetExceeded, match="601"):
        hold(601, 600)
    assert hold(601, 600, credit=1) is not None


def test_what_costs_nothing_moves_nothing() -> None:
    assert hold(0, 0) is None
    assert ledger.settle("a", "j", 0, 0, 2, "CNY") == ()
    assert ledger.device_cost("boot_1", 0, 500, 2, "CNY") is None


@pytest.mark.parametrize(("charge", "kinds"), [(0, ["release"]), (5, ["capture", "release"]), (9, ["capture"])])
def test_the_hold_is_used_up(charge: int, kinds: list[str]) -> None:
    assert [entry.kind for entry in ledger.settle("a", "j", 9, charge, 2, "CNY")] == kinds


@pytest.mark.parametrize("charge", [-1, 10])
def test_a_charge_lies_within_its_hold(charge: int) -> None:
    with pytest.raises(InternalFault):
        ledger.settle("a", "j", 9, charge, 2, "CNY")


def test_a_refund_lies_within_its_capture() -> None:
    with pytest.raises(InternalFault):
        ledger.refund("a", "j", 9, 10, 3, "CNY")


@pytest.mark.parametrize("micros", [0, -5])
def test_an_entry_moves_something(micros: int) -> None:
    with pytest.raises(InternalFault):
        ledger.deposit("a", micros, "p", 0, "CNY")


def test_postings_sum_to_zero() -> None:
    with pytest.raises(InternalFault):
        Entry(subject="x", kind="hold", at_ms=0, currency="CNY", postings=(Posting("a", -1), Posting("b", 2)))
    with pytest.raises(InternalFault):
        Entry(subject="x", kind="hold", at_ms=0, currency="CNY", postings=())


def test_the_operator_owes_started_seconds() -> None:
    entry = ledger.device_cost("boot_1", 1_001, 500, 2, "CNY")
    assert entry is not None
    assert entry.postings == (Posting("supplier", -1_000), Posting("device_cost", 1_000))


# ---- budgets ---------------------------------------------------------------------------------------------------------

DAY = Budget("account:a", "day", 1_000)


def test_periods_are_those_of_utc() -> None:
    assert period_of("day", NOV_30_2026_MS) == "2026-11-30"
    assert period_of("day", NOV_30_2026_MS + 1) == "2026-12-01"
    assert period_of("month", NOV_30_2026_MS) == "2026-11"


def test_what_is_reserved_counts_until_it_is_settled() -> None:
    spend = reserve(DAY, Spend("account:a", "2026-11-30"), 700)
    with pytest.raises(BudgetExceeded, match="300 micros left"):
        reserve(DAY, spend, 301)
    spend = settle(spend, 700, 100)
    assert spend == Spend("account:a", "2026-11-30", 0, 100)
    assert reserve(DAY, spend, 900).total_micros == 1_000


def test_a_budget_that_was_lowered_has_nothing_left_rather_than_less() -> None:
    with pytest.raises(BudgetExceeded, match=" 0 micros left"):
        reserve(replace(DAY, limit_micros=1), Spend("account:a", "2026-11-30", 5, 5), 1)


@pytest.mark.parametrize(("reserved", "charge"), [(6, 1), (5, 6), (5, -1)])
def test_a_budget_settles_only_what_it_reserved(reserved: int, charge: int) -> None:
    with pytest.raises(InternalFault):
        settle(Spend("account:a", "2026-11-30", 5, 0), reserved, charge)
