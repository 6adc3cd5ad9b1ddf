"""The first start, accounts and their money, and what is measured and summed up of their jobs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secondface.control.accounts import DEFAULT_ACCOUNT, Accounts
from secondface.control.auth import Caller
from secondface.control.speeds import Speeds
from secondface.control.usage import usage_of
from secondface.domain.accounts import Plan
from secondface.domain.pricing import PriceRow, Usage
from secondface.errors import AccountMissing, BudgetExceeded, InvalidOption, KeyUnknown, ScopeMissing
from tests.unit.control.service import FUNDS, Service, active


@pytest.fixture
def accounts(service: Service) -> Accounts:
    return Accounts(service.transactions, service.keyring, service.ids)


@pytest.fixture
def operator(service: Service) -> Caller:
    return service.caller("a", "operator")


# ---- the first start -------------------------------------------------------------------------------------------------


def started(accounts: Accounts, *, new_key: bool = False) -> str | None:
    """What one start shows."""
    shown: list[str] = []
    assert accounts.start(shown.append, new_key=new_key) == (len(shown) == 1)
    return shown[0] if shown else None


def test_the_first_start_gives_a_key_once(service: Service, accounts: Accounts) -> None:
    text = started(accounts)
    assert text is not None
    caller = service.keyring.caller(text)
    assert (caller.account.id, "admin" in caller.scopes) == (DEFAULT_ACCOUNT, True)
    standing = accounts.standing(caller)
    assert (standing.balance_micros, standing.budgets[0].span) == (1_000_000_000, "day")
    assert started(accounts) is None
    assert accounts.standing(caller).balance_micros == 1_000_000_000


def test_a_first_start_that_died_before_or_after_it_showed_the_key_is_finished(
    service: Service, accounts: Accounts
) -> None:
    seen: list[str] = []

    def cut(text: str) -> None:
        seen.append(text)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        accounts.start(cut)
    with pytest.raises(KeyUnknown):
        service.keyring.caller(seen[0])
    text = started(accounts)
    assert text is not None
    assert accounts.standing(service.keyring.caller(text)).balance_micros == 1_000_000_000


def test_a_lost_key_is_replaced_by_another_start(service: Service, accounts: Accounts) -> None:
    first, second = started(accounts), started(accounts, new_key=True)
    assert first and second and first != second
    for text in (first, second):
        assert "admin" in service.keyring.caller(text).scopes
    assert started(accounts) is None


# ---- operators -------------------------------------------------------------------------------------------------------


def test_accounts_are_opened_changed_and_listed(service: Service, accounts: Accounts, operator: Caller) -> None:
    made = accounts.open(operator, "School", Plan(max_running=1), credit_micros=5)
    assert accounts.standing(operator, made.id).balance_micros == 0
    changed = accounts.change(operator, made.id, name="College", suspended=True)
    assert (changed.name, changed.suspended, changed.plan.max_running, changed.credit_micros) == (
        "College", True, 1, 5,
    )  # fmt: skip
    assert [account.name for account in accounts.all(operator)] == ["College"]
    with service.transactions.view() as work:
        kinds = [each.event.kind for each in work.journal.since("accounts")]
    assert kinds == ["account.opened", "account.changed"]
    accounts.change(operator, made.id)
    with service.transactions.view() as work:
        assert len(work.journal.since("accounts")) == 2


def test_many_accounts_are_all_listed(service: Service, accounts: Accounts, operator: Caller) -> None:
    made = [accounts.open(operator, f"n{at}", Plan()).id for at in range(1_010)]
    assert [account.id for account in accounts.all(operator)] == made


def test_only_operators_do_what_operators_do(service: Service, accounts: Accounts) -> None:
    owner, row = service.owner, PriceRow(tier="cpu", price_micros=1)
    for refused in (
        lambda: accounts.open(owner, "x", Plan()), lambda: accounts.change(owner, "a"), lambda: accounts.all(owner),
        lambda: accounts.deposit(owner, "a", 1, "r"), lambda: accounts.set_budget(owner, "account:a", "day", 1),
        lambda: accounts.issue_key(owner, "a", "owner"), lambda: accounts.keys(owner, "a"),
        lambda: accounts.revoke_key(owner, "a", "k"), lambda: accounts.standing(owner, "b"),
        lambda: accounts.set_price(owner, row), lambda: accounts.audit(owner),
    ):  # fmt: skip
        with pytest.raises(ScopeMissing):
            refused()
    assert accounts.standing(owner).account.id == "a"


def test_what_is_not_there_is_said(service: Service, accounts: Accounts, operator: Caller) -> None:
    for missing in (
        lambda: accounts.change(operator, "x"), lambda: accounts.deposit(operator, "x", 1, "r"),
        lambda: accounts.issue_key(operator, "x", "owner"), lambda: accounts.keys(operator, "x"),
        lambda: accounts.revoke_key(operator, "x", "k"), lambda: accounts.standing(operator, "x"),
    ):  # fmt: skip
        with pytest.raises(AccountMissing):
            missing()


def test_a_payment_counts_once(service: Service, accounts: Accounts, operator: Caller) -> None:
    for _ in range(2):
        standing = accounts.deposit(operator, "b", 7, "invoice-1")
    assert standing.balance_micros == FUNDS + 7
    with service.transactions.view() as work:
        assert [each.event.kind for each in work.journal.since("b")] == ["account.deposit"]
        assert work.ledger.imbalance() == 0


def test_a_budget_holds_for_an_account_or_a_key(service: Service, accounts: Accounts, operator: Caller) -> None:
    accounts.set_budget(operator, f"key:{service.owner.key_id}", "day", 1)
    with pytest.raises(BudgetExceeded):
        service.submit()
    for scope in ("account", "tier:cpu", "account:", ""):
        with pytest.raises(InvalidOption):
            accounts.set_budget(operator, scope, "day", 1)


def test_keys_come_and_go(service: Service, accounts: Accounts, operator: Caller) -> None:
    key, text = accounts.issue_key(operator, "b", "viewer", "ci")
    assert service.keyring.caller(text).account.id == "b"
    assert [each.name for each in accounts.keys(operator, "b")] == ["ci"]
    accounts.revoke_key(operator, "b", key.id)
    with pytest.raises(KeyUnknown):
        service.keyring.caller(text)


def test_a_new_price_is_for_new_jobs(service: Service, accounts: Accounts, operator: Caller) -> None:
    before = service.submit().job
    service.clock.at_ms += 1
    accounts.set_price(operator, PriceRow(tier="a10g", price_micros=9))
    assert (before.price.price_micros, service.submit().job.price.price_micros) == (3_000, 9)
    rows = [row for row in accounts.prices().rows if (row.tier, row.market) == ("a10g", "on_demand")]
    assert [row.valid_until is None for row in rows] == [False, True]


# ---- speeds and usage ------------------------------------------------------------------------------------------------


def ended(service: Service, usage: Usage) -> str:
    job = service.submit().job.id
    service.desk.succeed(service.claim().lease, usage, "out")
    return job


def test_speeds_are_guessed_then_measured_then_followed(service: Service) -> None:
    speeds = Speeds()
    guess = speeds.rate("a10g", "swap", 70_000)
    assert (guess.active_us, guess.measured, guess.margin_percent) == (70_000, False, 300)
    slow = Usage(fetch_ms=40, run_ms=2_000, store_ms=60, device_active_ms=1_000, frames=100)
    speeds.learn(service.job(ended(service, slow)), "swap")
    rate = speeds.rate("a10g", "swap", 70_000, 100)
    assert (rate.active_us, rate.wall_us, rate.other_ms, rate.measured) == (10_000, 20_000, 100, True)
    speeds.learn(service.job(ended(service, replace(slow, device_active_ms=200))), "swap")
    assert speeds.rate("a10g", "swap", 0, 100).active_us == 8_000
    assert not speeds.rate("cpu", "swap", 1).measured
    assert not speeds.rate("a10g", "other", 1).measured


def test_the_bound_lies_above_the_dearest_of_late_and_comes_down_again(service: Service) -> None:
    speeds = Speeds()

    def bound_us() -> int:
        rate = speeds.rate("a10g", "swap", 0)
        return rate.active_us * (100 + rate.margin_percent) // 100

    for active_ms in (200, 4_000, 200, 200):
        speeds.learn(service.job(ended(service, Usage(run_ms=5_000, device_active_ms=active_ms, frames=1))), "swap")
    assert bound_us() >= 4_000_000, "the next job with a new person would be waived in part"
    for _ in range(60):
        speeds.learn(service.job(ended(service, Usage(run_ms=5_000, device_active_ms=200, frames=1))), "swap")
    assert 300_000 <= bound_us() < 600_000


def test_other_lengths_say_as_much_as_they_can(service: Service) -> None:
    speeds = Speeds()
    speeds.learn(service.job(ended(service, Usage(run_ms=9_000, device_active_ms=8_000, frames=100))), "swap")
    rates = {frames: speeds.rate("a10g", "swap", 200_000, frames) for frames in (1, 70, 10_000)}
    assert [rate.active_us for rate in rates.values()] == [200_000, 80_000, 80_000]
    assert [rate.margin_percent for rate in rates.values()] == [300, 50, 300]
    assert speeds.rate("a10g", "swap", 50_000, 10_000).active_us == 50_000
    assert all(rate.measured and rate.wall_us >= rate.active_us for rate in rates.values())


def test_nothing_is_learnt_from_jobs_that_say_too_little(service: Service) -> None:
    speeds = Speeds()
    waiting = service.submit().job
    speeds.learn(waiting, "k")
    service.desk.fail(service.claim().lease, active(100), error="e", fault="caller", retryable=False)
    speeds.learn(service.job(waiting.id), "k")
    speeds.learn(service.job(ended(service, active(100))), "k")  # no frames
    speeds.learn(service.job(ended(service, Usage(run_ms=5, frames=5))), "k")  # no device time
    assert not speeds.rate("a10g", "k", 1).measured


def test_usage_sums_what_lies_in_the_stretch(service: Service) -> None:
    started = service.clock.at_ms
    for _ in range(3):
        ended(service, Usage(run_ms=3_000, device_active_ms=2_500, frames=10))
        service.clock.at_ms += 1_000
    service.submit()
    with service.transactions.view() as work:
        whole = usage_of(work, "a", 0, service.clock.at_ms + 1)
        part = usage_of(work, "a", started + 1_000, started + 2_000)
        nobody = usage_of(work, "b", 0, service.clock.at_ms + 1)
    assert (whole.jobs, whole.attempts, whole.frames) == ({"succeeded": 3, "queued": 1}, 3, 30)
    assert (whole.wall_ms, whole.device_active_ms, whole.charged_s) == (9_000, 7_500, 9)
    assert (whole.total_micros, whole.complete) == (27_000, True)
    assert (part.jobs, part.total_micros) == ({"succeeded": 1}, 9_000)
    assert (nobody.jobs, nobody.total_micros) == ({}, 0)
