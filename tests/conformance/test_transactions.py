"""What every transaction promises: whole or not at all, one after another where it counts, one sweeper at a time."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from secondface.domain import jobs, ledger
from secondface.domain.accounts import Account, Actor, Plan
from secondface.domain.budgets import Budget, reserve
from secondface.domain.jobs import Event
from secondface.domain.ports import Offer, Transactions, UnitOfWork
from secondface.errors import BudgetExceeded, StorageUnavailable
from tests.conformance.conftest import Place, new_job, submitted
from tests.hand_clock import HandClock


def test_the_moment_is_that_of_the_clock(store: Transactions, clock: HandClock) -> None:
    with store.begin() as work:
        assert work.now_ms() == clock.at_ms


def test_an_exception_takes_everything_back(store: Transactions) -> None:
    def fail(work: UnitOfWork) -> None:
        work.jobs.add(jobs.submit(new_job(1))[0])
        work.ledger.post(ledger.deposit("a", 5, "pay_1", 0, "CNY"))
        work.journal.record("a", Actor("x"), [Event("job_0001", "job.accepted", 0)])
        work.cache.put("k", "v", 9)
        raise RuntimeError("the process dies here")

    with pytest.raises(RuntimeError), store.begin() as work:
        fail(work)
    with store.view() as work:
        assert work.jobs.page(None) == []
        assert work.ledger.balance("wallet:a", "CNY") == 0
        assert work.journal.since("job_0001") == []
        assert work.cache.get("k") is None


def test_a_view_changes_nothing(store: Transactions, place: Place) -> None:
    refused = False
    try:
        with store.view() as work:
            work.cache.put("k", "v", 9)
    except StorageUnavailable:
        refused = True
    assert refused == (place.database is not None)
    with store.view() as work:
        assert work.cache.get("k") is None
    with store.begin() as work:
        work.cache.put("k", "v", 9)


def test_a_view_does_not_wait_for_who_writes(store: Transactions) -> None:
    with store.begin() as writing:
        writing.cache.put("k", "v", 9)
        with store.view() as work:
            assert work.cache.get("k") is None
    with store.view() as work:
        assert work.cache.get("k") == "v"


def test_no_job_is_claimed_twice(place: Place, store: Transactions) -> None:
    with store.begin() as work:
        work.accounts.save(Account(id="a", name="A", plan=Plan(max_running=1000)))
    submitted(store, *(new_job(number) for number in range(60)))

    def take(worker: int) -> list[str]:
        transactions, taken = place.open(), list[str]()
        while True:
            with transactions.begin() as work:
                found = work.jobs.claim(Offer(worker=f"w{worker}", tiers=("cpu",)))
            if found is None:
                return taken
            taken.append(found[0].id)

    with ThreadPoolExecutor(4) as pool:
        taken = [job_id for ids in pool.map(take, range(4)) for job_id in ids]
    assert sorted(taken) == [f"job_{number:04}" for number in range(60)]


def test_no_limit_is_passed_when_many_claim_at_once(place: Place, store: Transactions) -> None:
    submitted(store, *(new_job(number, "ab"[number % 2]) for number in range(40)))
    barrier = threading.Barrier(6)

    def take(worker: int) -> list[str]:
        transactions, taken = place.open(), list[str]()
        barrier.wait()
        for _ in range(5):
            with transactions.begin() as work:
                if found := work.jobs.claim(Offer(worker=f"w{worker}", tiers=("cpu",))):
                    taken.append(found[0].account)
        return taken

    with ThreadPoolExecutor(6) as pool:
        accounts = [account for each in pool.map(take, range(6)) for account in each]
    assert Counter(accounts) == {"a": 3, "b": 3}


def test_no_wallet_and_no_budget_is_spent_twice(place: Place, store: Transactions) -> None:
    with store.begin() as work:
        work.ledger.post(ledger.deposit("a", 1_000, "pay_1", 0, "CNY"))
        work.ledger.set_budget(Budget("account:a", "day", 500))

    def admit(number: int) -> bool:
        try:
            with place.open().begin() as work:
                assert work.accounts.lock("a") is not None
                balance = work.ledger.balance("wallet:a", "CNY")
                entry = ledger.hold("a", f"job_{number}", 90, 0, "CNY", balance_micros=balance)
                assert entry is not None
                work.ledger.post(entry)
                spend = work.ledger.spend("account:a", "2026-11-30")
                work.ledger.save_spend(reserve(work.ledger.budgets(["account:a"])[0], spend, 90))
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        admitted = sum(pool.map(admit, range(20)))
    with store.view() as work:
        assert admitted == 5
        assert work.ledger.balance("held:a", "CNY") == 450
        assert work.ledger.spend("account:a", "2026-11-30").reserved_micros == 450
        assert work.ledger.imbalance() == 0


def test_an_entry_that_many_write_is_written_once(place: Place, store: Transactions) -> None:
    def post(_: int) -> bool:
        with place.open().begin() as work:
            return work.ledger.post(ledger.deposit("a", 5, "pay_1", 0, "CNY"))

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(post, range(12))) == 1
    with store.view() as work:
        assert work.ledger.balance("wallet:a", "CNY") == 5


def test_one_sweeper_at_a_time(place: Place, store: Transactions) -> None:
    with store.sole("sweep") as first, place.open().sole("sweep") as second, place.open().sole("seal") as other:
        assert (first, second, other) == (True, False, True)
    with store.sole("sweep") as again:
        assert again
