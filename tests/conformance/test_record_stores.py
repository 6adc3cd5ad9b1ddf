"""What every ledger, journal, outbox and the small stores promise."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from secondface.domain import ledger
from secondface.domain.accounts import ROLE_SCOPES, Account, Actor, Key, Plan
from secondface.domain.budgets import Budget, Spend
from secondface.domain.deliveries import Delivery, Endpoint, answered
from secondface.domain.jobs import Event
from secondface.domain.ports import Transactions
from secondface.domain.pricing import PriceRow, default_price_book
from secondface.errors import RequestChanged
from tests.hand_clock import HandClock

DEPOSIT = ledger.deposit("a", 1_000, "pay_1", 5, "CNY")


# ---- ledger ----------------------------------------------------------------------------------------------------------


def test_an_entry_moves_balances_once(store: Transactions) -> None:
    with store.begin() as work:
        assert work.ledger.post(DEPOSIT)
        assert not work.ledger.post(DEPOSIT)
    with store.begin() as work:
        assert not work.ledger.post(replace(DEPOSIT, at_ms=9))
    with store.view() as work:
        assert work.ledger.balance("wallet:a", "CNY") == 1_000
        assert work.ledger.balance("funding:a", "CNY") == -1_000
        assert work.ledger.balance("wallet:a", "USD") == 0
        assert work.ledger.imbalance() == 0


def test_entries_of_a_job_come_in_order(store: Transactions) -> None:
    hold = ledger.hold("a", "job_1", 600, 6, "CNY", balance_micros=1_000)
    assert hold is not None
    made = [hold, *ledger.settle("a", "job_1", 600, 250, 7, "CNY")]
    with store.begin() as work:
        for entry in [DEPOSIT, *made]:
            work.ledger.post(entry)
    with store.view() as work:
        assert list(work.ledger.entries("job_1")) == made
        assert list(work.ledger.entries("job_2")) == []
        assert work.ledger.balance("wallet:a", "CNY") == 750


def test_entries_of_a_customer_come_page_by_page_without_those_of_others(store: Transactions) -> None:
    hold = ledger.hold("a", "job_1", 600, 6, "CNY", balance_micros=1_000)
    assert hold is not None
    mine = [DEPOSIT, hold, *ledger.settle("a", "job_1", 600, 250, 7, "CNY")]
    with store.begin() as work:
        for entry in mine:
            work.ledger.post(entry)
            work.ledger.post(ledger.deposit("b", 1, f"pay_b{entry.kind}", 5, "CNY"))
    with store.view() as work:
        last = work.ledger.entries(accounts=["wallet:a", "held:a"], limit=3)
        assert list(last) == mine[1:]
        first = work.ledger.entries(accounts=["wallet:a", "held:a"], limit=3, before=last[0].number)
        assert list(first) == mine[:1]
        assert [entry.number for entry in (*first, *last)] == [1, 3, 5, 7]
        assert list(work.ledger.entries(accounts=["wallet:c"])) == []


def test_budgets_and_their_counters(store: Transactions) -> None:
    day = Budget("account:a", "day", 500)
    with store.begin() as work:
        work.ledger.set_budget(day)
        work.ledger.set_budget(Budget("key:k", "month", 9))
        work.ledger.set_budget(replace(day, limit_micros=600))
        assert work.ledger.spend("account:a", "2026-11-30") == Spend("account:a", "2026-11-30")
        work.ledger.save_spend(Spend("account:a", "2026-11-30", 4, 5))
    with store.view() as work:
        assert work.ledger.budgets(["account:a"]) == [replace(day, limit_micros=600)]
        assert len(work.ledger.budgets(["account:a", "key:k", "key:other"])) == 2
        assert work.ledger.spend("account:a", "2026-11-30").total_micros == 9
        assert work.ledger.spend("account:a", "2026-12-01").total_micros == 0


# ---- accounts, keys, prices ------------------------------------------------------------------------------------------


def test_accounts_come_back_and_change(store: Transactions) -> None:
    account = Account(
        id="c",
        name="Ç",
        plan=Plan(max_faces=3, max_upload_bytes=7 << 40, formats=("png",), approval_above_faces=2),
        credit_micros=5,
        created_ms=9,
    )
    with store.begin() as work:
        work.accounts.save(account)
        assert work.accounts.lock("c") == account
        work.accounts.save(replace(account, suspended=True))
    with store.view() as work:
        assert work.accounts.get("c") == replace(account, suspended=True)
        assert work.accounts.get("nobody") is None


def test_keys_are_found_by_their_digest(store: Transactions) -> None:
    key = Key(id="key_1", account="a", digest="d1", name="ci", scopes=ROLE_SCOPES["developer"], expires_ms=77)
    with store.begin() as work:
        work.accounts.save_key(key)
        work.accounts.save_key(Key(id="key_2", account="b", digest="d2", scopes=frozenset()))
        work.accounts.save_key(replace(key, revoked_ms=50))
    with store.view() as work:
        assert work.accounts.find_key("d1") == replace(key, revoked_ms=50)
        assert work.accounts.find_key("d3") is None
        assert [each.id for each in work.accounts.keys("a")] == ["key_1"]
        assert work.accounts.keys("b")[0].scopes == frozenset()


def test_the_price_book_keeps_every_version(store: Transactions) -> None:
    book = default_price_book()
    newer = book.replaced(PriceRow(tier="t4", price_micros=9), datetime(2026, 12, 1, 12, 30, tzinfo=UTC))
    with store.begin() as work:
        assert work.accounts.prices() is None
        work.accounts.save_prices(book)
    with store.begin() as work:
        assert work.accounts.prices() == book
        work.accounts.save_prices(newer)
    with store.view() as work:
        assert work.accounts.prices() == newer


# ---- journal ---------------------------------------------------------------------------------------------------------


KEY = Actor("key:k", "192.0.2.7")


def told(store: Transactions, count: int, account: str = "a", subject: str = "job_1") -> None:
    with store.begin() as work:
        events = [Event(subject, "job.progress", 10 + number, {"done": number, "ok": True}) for number in range(count)]
        work.journal.record(account, KEY, events)


def test_a_stream_goes_on_where_it_was_left(store: Transactions) -> None:
    told(store, 3)
    told(store, 2, subject="job_2")
    with store.view() as work:
        seen = work.journal.since("job_1")
        assert [each.event.facts["done"] for each in seen] == [0, 1, 2]
        assert work.journal.since("job_1", seen[1].number) == seen[2:]
        assert work.journal.since("job_1", limit=1) == seen[:1]
        assert seen[0].actor == KEY
        assert seen[0].event.facts["ok"] is True


def test_sealing_chains_everything_once(store: Transactions) -> None:
    told(store, 3)
    with store.begin() as work:
        assert (work.journal.seal(2), work.journal.seal(), work.journal.seal()) == (2, 1, 0)
    told(store, 1, "b")
    with store.begin() as work:
        assert work.journal.seal() == 1
        assert work.journal.broken() is None
    with store.view() as work:
        everything = work.journal.audit(None)
        assert [each.position for each in everything] == [1, 2, 3, 4]
        assert len({each.digest for each in everything}) == 4
        assert [each.position for each in work.journal.audit("a", after=1)] == [2, 3]
        assert [each.position for each in work.journal.audit("b")] == [4]


def test_nothing_told_is_no_event(store: Transactions) -> None:
    with store.begin() as work:
        work.journal.record("a", Actor("clock"), [])
        assert work.journal.seal() == 0


# ---- outbox ----------------------------------------------------------------------------------------------------------


def endpoint(store: Transactions) -> Endpoint:
    made = Endpoint(id="ep_1", account="a", url="https://example.org/h", secret="s", kinds=("job.failed",))
    with store.begin() as work:
        work.outbox.save_endpoint(made)
    return made


def delivery(number: int, due_ms: int) -> Delivery:
    return Delivery(
        id=f"d{number}", endpoint="ep_1", account="a", subject="job_1", kind="job.failed", body="{}", due_ms=due_ms
    )  # fmt: skip


def test_endpoints_change_in_place(store: Transactions) -> None:
    made = endpoint(store)
    with store.begin() as work:
        work.outbox.save_endpoint(replace(made, enabled=False))
        assert work.outbox.endpoints("a") == [replace(made, enabled=False)]
        assert work.outbox.endpoints("b") == []


def test_a_delivery_that_is_due_is_given_to_one_sender(store: Transactions, clock: HandClock) -> None:
    endpoint(store)
    with store.begin() as work:
        for number, due_ms in ((1, clock.at_ms), (2, clock.at_ms - 5), (3, clock.at_ms + 1)):
            work.outbox.put(delivery(number, due_ms))
    with store.begin() as work:
        taken = work.outbox.due(9, 30_000)
        assert [(each.id, each.due_ms) for each in taken] == [
            ("d1", clock.at_ms + 30_000),
            ("d2", clock.at_ms + 30_000),
        ]
        assert [each.id for each in work.outbox.due(9, 30_000)] == []
        work.outbox.put(answered(taken[0], 200, clock.at_ms))
    clock.at_ms += 30_000
    with store.begin() as work:
        assert [each.id for each in work.outbox.due(1, 30_000)] == ["d3"]
        assert [each.id for each in work.outbox.due(9, 30_000)] == ["d2"]
        assert work.outbox.find("d1") == answered(taken[0], 200, clock.at_ms - 30_000)
        assert work.outbox.find("d9") is None


def test_deliveries_are_listed_from_the_newest_back(store: Transactions, clock: HandClock) -> None:
    endpoint(store)
    with store.begin() as work:
        for number in range(3):
            work.outbox.put(delivery(number, 0))
        assert [each.id for each in work.outbox.page("a", limit=2)] == ["d2", "d1"]
        assert [each.id for each in work.outbox.page("a", after="d1")] == ["d0"]
        assert work.outbox.page("b") == []


# ---- idempotency, cache ----------------------------------------------------------------------------------------------


def test_the_same_request_is_the_same_job(store: Transactions, clock: HandClock) -> None:
    with store.begin() as work:
        assert work.replays.remember("a", "k", "digest", "job_1") is None
        assert work.replays.remember("a", "k", "digest", "job_2") == "job_1"
        assert work.replays.remember("b", "k", "other", "job_3") is None
        with pytest.raises(RequestChanged):
            work.replays.remember("a", "k", "other", "job_4")
    with store.view() as work:
        assert work.replays.known("a", "k", "digest") == "job_1"
        assert work.replays.known("b", "never", "digest") is None
        with pytest.raises(RequestChanged):
            work.replays.known("b", "k", "digest")
    clock.at_ms += 1_000
    with store.begin() as work:
        assert work.replays.forget(clock.at_ms - 1_000) == 0
        assert work.replays.forget(clock.at_ms) == 2
        assert work.replays.remember("a", "k", "other", "job_5") is None


def test_a_cached_result_expires(store: Transactions, clock: HandClock) -> None:
    with store.begin() as work:
        work.cache.put("k", "old", 5)
        work.cache.put("k", "new", 10)
        work.cache.put("gone", "x", 1)
    clock.at_ms += 9_999
    with store.begin() as work:
        assert (work.cache.get("k"), work.cache.get("gone"), work.cache.get("never")) == ("new", None, None)
        assert work.cache.prune() == 1
    clock.at_ms += 1
    with store.begin() as work:
        assert work.cache.get("k") is None
        assert work.cache.prune() == 1
