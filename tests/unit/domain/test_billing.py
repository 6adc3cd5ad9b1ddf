"""From a job's attempts to what it costs, and when a limit of cost stops it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secondface.domain import jobs
from secondface.domain.billing import bill, billable, passes_limit
from secondface.domain.jobs import Job
from secondface.domain.pricing import PriceRow, Usage

A10G = PriceRow(tier="a10g", price_micros=3_000)


def running(**fields: object) -> Job:
    job = Job(
        id="j", account="a", tier="a10g", price=A10G, created_ms=0, hold_micros=10_000_000,
        **fields,  # type: ignore[arg-type]
    )  # fmt: skip
    return jobs.claim(jobs.submit(job)[0], "w1", 0, 15_000)[0]


def active(ms: int) -> Usage:
    return Usage(run_ms=ms, device_active_ms=ms)


def cost(job: Job) -> int:
    return bill(job).total_micros


def test_success_costs_its_device_seconds() -> None:
    job = running()
    job, _ = jobs.succeed(job, jobs.lease_of(job), 1, active(90_000), "x")
    assert cost(job) == 270_000


@pytest.mark.parametrize("fault", ["caller", "provider"])
def test_a_failure_costs_where_the_caller_is_at_fault(fault: str) -> None:
    job = running()
    job, _ = jobs.fail(job, jobs.lease_of(job), 1, active(1_500), "e", fault)  # type: ignore[arg-type]
    assert cost(job) == (6_000 if fault == "caller" else 0)


def test_a_cancel_costs_the_seconds_used_and_a_passed_deadline_nothing() -> None:
    job = running(deadline_ms=5)
    lease = jobs.lease_of(job)
    cancelled, _ = jobs.cancel(job, 1)
    late, _ = jobs.expire(job, 5)
    assert cost(jobs.stop(cancelled, lease, 6, active(1_500))[0]) == 6_000
    assert cost(jobs.stop(late, lease, 6, active(1_500))[0]) == 0


def test_lost_seconds_are_ours_but_reused_segments_are_charged_once() -> None:
    job = running()
    lease = jobs.lease_of(job)
    job, _ = jobs.cut(job, lease, 2)
    job, _ = jobs.finish_segment(job, lease, 1, active(30_000), index=0, active_ms=30_000, result="s0")
    job, _ = jobs.beat(job, lease, 2, 15_000, active(50_000))
    job, _ = jobs.lose(job, 1, 20_000, "silent")
    assert cost(job) == 0
    job, _ = jobs.claim(job, "w2", 21_000, 15_000)
    assert cost(job) == 90_000
    job, _ = jobs.succeed(job, jobs.lease_of(job), 30_000, active(20_000), "x")
    assert cost(job) == 150_000
    assert sum(line.length_ms for line in bill(job).lines) == 70_000


def test_segments_of_a_job_that_we_failed_are_free() -> None:
    job = running()
    lease = jobs.lease_of(job)
    job, _ = jobs.cut(job, lease, 1)
    job, _ = jobs.finish_segment(job, lease, 1, active(30_000), index=0, active_ms=30_000, result="s0")
    job, _ = jobs.lose(job, 1, 20_000, "silent")
    job, _ = jobs.claim(job, "w2", 21_000, 15_000)
    job, _ = jobs.fail(job, jobs.lease_of(job), 22_000, active(5), "internal_fault", "provider")
    assert cost(job) == 0


def test_a_job_that_never_ran_costs_nothing() -> None:
    job = Job(id="j", account="a", tier="a10g", price=A10G, created_ms=0)
    assert (billable(job), cost(job)) == ((), 0)


def test_a_charge_never_passes_what_was_held() -> None:
    job = replace(running(), hold_micros=200_000)
    job, _ = jobs.succeed(job, jobs.lease_of(job), 1, active(90_000), "x")
    made = bill(job)
    assert (made.total_micros, made.waived_micros, made.charged_s) == (200_000, 70_000, 90)


def test_a_limit_of_cost_is_met_before_it_is_passed() -> None:
    job = running(max_cost_micros=30_000)
    job, _ = jobs.beat(job, jobs.lease_of(job), 1, 15_000, active(4_000))
    assert not passes_limit(job, 6_000)
    assert passes_limit(job, 6_001)
    assert not passes_limit(replace(job, max_cost_micros=None), 10**9)
    assert not passes_limit(replace(job, price=replace(A10G, price_micros=0)), 10**9)
