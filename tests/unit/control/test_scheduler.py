"""Leases, heartbeats, sweeps, and what every end of a job does to money."""

from __future__ import annotations

import pytest

from secondface.control.waiting import why_waiting
from secondface.domain.accounts import Account, Plan
from secondface.domain.jobs import Job
from secondface.domain.ports import Offer
from secondface.domain.pricing import Usage
from secondface.domain.scaling import Decision
from secondface.errors import LeaseLost
from tests.unit.control.service import FUNDS, Service, active


def settled(service: Service, charge: int) -> None:
    """Everything that was held has been captured or given back."""
    assert service.balance("held:a") == 0
    assert service.balance("revenue:a") == charge
    assert service.balance("wallet:a") == FUNDS - charge


def test_a_job_from_claim_to_receipt(service: Service) -> None:
    job = service.submit().job
    grant = service.claim()
    assert (grant.lease.job_id, grant.tier, grant.alone, grant.account) == (job.id, "a10g", False, "a")
    assert service.desk.beat(grant.lease, active(1_000), 10, 100).stop is None
    usage = Usage(boot_ms=5_000, load_ms=900, fetch_ms=100, run_ms=10_500, store_ms=80, device_active_ms=9_500)
    service.desk.succeed(grant.lease, usage, "jobs/x/1/out.mp4")
    settled(service, 30_000)
    _, receipt = service.requests.receipt(service.owner, job.id)
    assert receipt.total_micros == 30_000
    assert sum(line.length_ms for line in receipt.lines) == usage.wall_ms
    assert service.kinds(job.id) == [
        "job.accepted", "attempt.leased", "attempt.running", "job.progress", "attempt.succeeded", "job.succeeded",
    ]  # fmt: skip


def test_nothing_to_do(service: Service) -> None:
    assert service.desk.claim(Offer(worker="w1", tiers=("a10g",))) is None


def test_a_heartbeat_extends_the_lease(service: Service) -> None:
    service.submit()
    grant = service.claim()
    for _ in range(5):
        service.clock.at_ms += 14_000
        assert service.desk.sweep() == 0
        assert service.desk.beat(grant.lease, Usage()).until_ms == service.clock.at_ms + 15_000


def test_a_silent_worker_loses_the_job_and_its_completion_changes_nothing(service: Service) -> None:
    job = service.submit().job
    zombie = service.claim("w1").lease
    service.desk.beat(zombie, active(9_000))
    service.bell.wait(["a10g"], 0)
    service.clock.at_ms += 15_000
    assert (service.desk.sweep(), service.desk.sweep()) == (1, 0)
    assert service.bell.wait(["a10g"], 0)
    lease = service.claim("w2").lease
    before = service.kinds(job.id)
    for late in (
        lambda: service.desk.beat(zombie, active(9_500)),
        lambda: service.desk.succeed(zombie, active(9_500), "zombie"),
        lambda: service.desk.fail(zombie, active(9_500), error="e", fault="caller", retryable=False),
        lambda: service.desk.stop(zombie, active(9_500)),
        lambda: service.desk.preempt(zombie, active(9_500)),
        lambda: service.desk.crash(zombie, active(9_500)),
        lambda: service.desk.cut(zombie, 3),
    ):
        with pytest.raises(LeaseLost):
            late()
    assert service.kinds(job.id) == before
    service.desk.succeed(lease, active(2_000), "out")
    settled(service, 6_000)
    assert service.job(job.id).result == "out"


def test_a_completion_before_the_sweep_is_kept(service: Service) -> None:
    job = service.submit().job
    lease = service.claim().lease
    service.clock.at_ms += 60_000
    service.desk.succeed(lease, active(1_000), "out")
    assert service.desk.sweep() == 0
    assert service.job(job.id).state == "succeeded"


def test_cancel_stops_the_device_and_charges_the_seconds_used(service: Service) -> None:
    job = service.submit().job
    lease = service.claim().lease
    service.requests.cancel(service.owner, job.id)
    assert service.desk.beat(lease, active(1_200)).stop == "cancelled"
    service.desk.stop(lease, active(1_300))
    assert service.job(job.id).state == "cancelled"
    settled(service, 6_000)


def test_cancel_before_the_device_worked_costs_nothing(service: Service) -> None:
    job = service.submit().job
    service.requests.cancel(service.owner, job.id)
    settled(service, 0)
    job = service.submit().job
    lease = service.claim().lease
    service.requests.cancel(service.owner, job.id)
    service.desk.stop(lease, Usage(boot_ms=900, fetch_ms=90))
    settled(service, 0)


def test_max_cost_stops_a_job_before_it_passes(service: Service) -> None:
    job = service.submit(max_cost_micros=30_000).job
    lease = service.claim().lease
    assert service.desk.beat(lease, active(9_000)).stop is None
    assert service.desk.beat(lease, active(9_001)).stop == "cost_limit"
    service.desk.stop(lease, active(9_900))
    ended = service.job(job.id)
    assert (ended.state, ended.error) == ("failed", "cost_limit_reached")
    settled(service, 30_000)


def test_a_charge_never_passes_the_quote(service: Service) -> None:
    job = service.submit().job
    service.desk.succeed(service.claim().lease, active(60_000), "out")
    settled(service, 39_000)
    assert service.requests.receipt(service.owner, job.id)[1].waived_micros == 60 * 3_000 - 39_000


@pytest.mark.parametrize(("fault", "charge"), [("caller", 6_000), ("provider", 0)])
def test_who_is_at_fault_pays(service: Service, fault: str, charge: int) -> None:
    service.submit()
    lease = service.claim().lease
    service.desk.fail(lease, active(1_500), error="e", fault=fault, retryable=False)  # type: ignore[arg-type]
    settled(service, charge)


def test_a_deadline_ends_what_waits_and_stops_what_runs(service: Service) -> None:
    deadline_ms = service.clock.at_ms + 5_000
    running, waiting = (service.submit(deadline_ms=deadline_ms).job for _ in range(2))
    lease = service.claim().lease
    service.clock.at_ms += 5_000
    assert service.desk.sweep() == 2
    assert service.job(waiting.id).state == "expired"
    assert service.desk.beat(lease, active(2_000)).stop == "deadline"
    service.desk.stop(lease, active(2_000))
    assert service.job(running.id).state == "expired"
    settled(service, 0)


def test_a_heartbeat_notices_a_deadline_before_the_sweep_does(service: Service) -> None:
    service.submit(deadline_ms=service.clock.at_ms + 5_000)
    lease = service.claim().lease
    service.clock.at_ms += 5_000
    assert service.desk.beat(lease, Usage()).stop == "deadline"


def test_a_late_job_of_a_silent_worker_ends(service: Service) -> None:
    job = service.submit(deadline_ms=service.clock.at_ms + 5_000).job
    service.claim()
    service.clock.at_ms += 20_000
    assert service.desk.sweep() == 1
    assert service.job(job.id).state == "expired"
    settled(service, 0)


def test_a_crash_is_not_waited_for_and_two_are_poison(service: Service) -> None:
    job = service.submit().job
    service.claim("w1")
    assert service.desk.worker_crashed("w2") == 0
    assert service.desk.worker_crashed("w1") == 1
    assert service.desk.claim(Offer(worker="w2", tiers=("a10g",), alone=False)) is None
    assert service.claim("w2").alone
    assert service.desk.worker_crashed("w2") == 1
    assert service.job(job.id).error == "input_poisonous"
    settled(service, 0)


def test_a_run_that_died_goes_back_at_once_to_run_alone(service: Service) -> None:
    job = service.submit().job
    service.desk.crash(service.claim("w1").lease, active(3_000))
    assert service.bell.wait(["a10g"], 0)
    assert service.desk.claim(Offer(worker="w2", tiers=("a10g",), alone=False)) is None
    service.desk.crash(service.claim("w1").lease, active(3_000))
    assert (service.job(job.id).state, service.job(job.id).error) == ("failed", "input_poisonous")
    settled(service, 0)


def test_segments_go_on_in_the_next_attempt(service: Service) -> None:
    service.submit()
    lease = service.claim("w1").lease
    assert len(service.desk.cut(lease, 2)) == 2
    service.desk.finish_segment(lease, active(4_000), index=0, active_ms=4_000, result="s0")
    service.desk.preempt(lease, active(5_000))
    grant = service.claim("w2")
    assert [segment.result for segment in grant.segments] == ["s0", None]
    service.desk.succeed(grant.lease, active(3_000), "out")
    settled(service, 21_000)


def test_accounts_take_turns(service: Service) -> None:
    other = service.caller("b", "owner")
    for _ in range(8):
        service.submit()
    for _ in range(4):
        service.submit(other)
    accounts: list[str] = []
    for _ in range(8):
        grant = service.claim()
        accounts.append(grant.account)
        service.desk.succeed(grant.lease, active(1), "out")
    assert accounts.count("a") == 4


# ---- why a job waits -------------------------------------------------------------------------------------------------


def reason(service: Service, job: Job, why: str | None = None, workers: int = 0) -> str | None:
    decision = Decision(0, (), (), why) if why else None  # type: ignore[arg-type]
    with service.transactions.view() as work:
        return why_waiting(work, work.jobs.get(job.id), decision, workers)


def test_a_job_says_why_it_waits(service: Service) -> None:
    service.set_account(Account(id="a", name="A", plan=Plan(max_running=1)))
    job = service.submit().job
    assert reason(service, job) == "no_worker"
    assert reason(service, job, "workers_crashing") == "workers_crashing"
    assert reason(service, job, "no_budget") == "no_budget"
    assert reason(service, job, "predicted_wait") == "no_worker"
    assert reason(service, job, workers=1) == "queue"
    lease = service.claim().lease
    assert reason(service, job) is None
    assert reason(service, service.submit().job, workers=1) == "rate"
    service.desk.fail(lease, active(1), error="e", fault="provider", retryable=True)
    assert reason(service, job, workers=1) == "back_off"


def test_a_job_that_awaits_approval_says_so(service: Service) -> None:
    service.set_account(Account(id="a", name="A", plan=Plan(approval_above_faces=0)))
    job = service.submit(service.caller("a", "developer")).job
    assert reason(service, job, workers=1) == "awaiting_approval"
