"""The control plane on every store: many at once, and processes that die in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from secondface.control.admission import Rate
from secondface.domain import ledger
from secondface.domain.accounts import Account, Plan
from secondface.domain.billing import bill
from secondface.domain.ports import Offer
from secondface.errors import BudgetExceeded, LeaseLost
from tests.conformance.conftest import Place
from tests.hand_clock import HandClock
from tests.unit.control.service import FUNDS, Service, active


@pytest.fixture
def service(place: Place, clock: HandClock) -> Service:
    return Service(place.open(), clock)


def test_a_job_is_paid_once_whatever_a_zombie_does(service: Service, clock: HandClock) -> None:
    job = service.submit(cache_key="c").job
    zombie = service.claim("w1").lease
    service.desk.cut(zombie, 2)
    service.desk.finish_segment(zombie, active(3_000), index=0, active_ms=3_000, result="s0")
    clock.at_ms += 15_000
    assert service.desk.sweep() == 1
    lease = service.claim("w2").lease
    with pytest.raises(LeaseLost):
        service.desk.succeed(zombie, active(9_000), "zombie")
    service.desk.beat(lease, active(500), 50, 100)
    service.desk.succeed(lease, active(1_000), "out")
    with pytest.raises(LeaseLost):
        service.desk.succeed(lease, active(1_000), "again")
    assert service.balance("revenue:a") == 4 * 3_000 == bill(service.job(job.id)).total_micros
    assert (service.balance("held:a"), service.balance("wallet:a")) == (0, FUNDS - 12_000)
    assert service.submit(cache_key="c").job.result == "out"
    with service.transactions.view() as work:
        assert work.ledger.imbalance() == 0


def test_many_submits_and_workers_at_once(service: Service) -> None:
    """None lost, none doubled, fair between accounts, and the ledger sums to zero."""
    for name in ("a", "b", "c"):
        service.set_account(Account(id=name, name=name, plan=Plan(max_running=50)))
    with service.transactions.begin() as work:
        work.ledger.post(ledger.deposit("c", FUNDS, "pay_c", service.clock.at_ms, "CNY"))
    callers = [service.caller(name, "owner") for name in ("a", "b", "c")]
    with ThreadPoolExecutor(6) as pool:
        asked = [callers[number % 3] for number in range(48)]
        ids = [accepted.job.id for accepted in pool.map(service.submit, asked)]
    taken: list[tuple[str, str]] = []

    def work_off(worker: int) -> None:
        while grant := service.desk.claim(Offer(worker=f"w{worker}", tiers=("a10g",))):
            taken.append((grant.account, grant.lease.job_id))
            service.desk.succeed(grant.lease, active(1_500), "out")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work_off, range(4)))
    assert sorted(job_id for _, job_id in taken) == sorted(ids) == sorted(set(ids))
    half = Counter(account for account, _ in taken[:24])
    assert all(7 <= half[name] <= 9 for name in ("a", "b", "c")), half
    assert [service.balance(f"revenue:{name}") for name in ("a", "b", "c")] == [16 * 6_000] * 3
    with service.transactions.view() as work:
        assert work.ledger.imbalance() == 0
        assert work.ledger.balance("held:a", "CNY") == 0


def test_the_same_request_sent_many_times_at_once_is_one_job(service: Service) -> None:
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda _: service.submit(idempotency_key="k"), range(12)))
    assert len({accepted.job.id for accepted in made}) == 1
    assert sum(not accepted.replayed for accepted in made) == 1
    assert service.balance("held:a") == made[0].job.hold_micros


_DEAR = Rate(active_us=10_000_000, margin_percent=0)
"""100 frames of 10 device-seconds: 3,000,000 micros."""


def test_a_wallet_is_not_spent_twice(service: Service) -> None:
    def admit(_: int) -> bool:
        try:
            service.submit(rate=_DEAR)
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(admit, range(8))) == 3
    assert service.balance("wallet:a") >= 0


def test_cancel_against_completion_has_one_winner(service: Service) -> None:
    for _ in range(6):
        job = service.submit().job
        lease = service.claim().lease
        with ThreadPoolExecutor(2) as pool:
            done = pool.submit(service.desk.succeed, lease, active(1_000), "out")
            pool.submit(service.requests.cancel, service.owner, job.id).result()
            done.result()
        assert service.job(job.id).state == "succeeded"
        assert service.balance("held:a") == 0


_DIES = """
import sys, time
from secondface.domain import jobs, ledger
from secondface.domain.ports import Offer
from secondface.storage.database import Database
from secondface.storage.sql import SqlTransactions
from tests.conformance.conftest import new_job

transactions = SqlTransactions(Database(sys.argv[1]))
with transactions.sole("sweep") as mine, transactions.begin() as work:
    assert mine
    assert work.jobs.claim(Offer(worker="dies", tiers=("cpu",))) is not None
    work.jobs.add(jobs.submit(new_job(2))[0])
    work.ledger.post(ledger.deposit("a", 7, "pay_dead", 0, "CNY"))
    print("inside", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_a_process_that_is_killed_in_a_transaction_leaves_nothing(place: Place, service: Service) -> None:
    assert place.database is not None
    job = service.submit(tier="cpu").job
    url = place.database.engine.url.render_as_string(hide_password=False)
    child = subprocess.Popen([sys.executable, "-c", _DIES, url], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "inside\n"
        with service.transactions.sole("sweep") as mine:
            assert not mine
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(150)
        child.stdout.close()
    grant = service.claim("w1", "cpu")
    assert (grant.lease.job_id, grant.lease.attempt) == (job.id, 1)
    with service.transactions.view() as work:
        assert [each.id for each in work.jobs.page(None)] == [job.id]
        assert work.ledger.entries("pay_dead") == []
    with service.transactions.sole("sweep") as mine:
        assert mine
