"""When workers are started and stopped, and for which reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secondface.domain.scaling import Decision, Floor, Policy, Snapshot, Worker, crash_wait_ms, decide

NOW_MS = 12 * 3_600_000
POLICY = Policy(tier="t4")


def workers(count: int, state: str = "busy", **fields: object) -> tuple[Worker, ...]:
    return tuple(
        Worker(id=f"{state}{number}", state=state, since_ms=NOW_MS, **fields)  # type: ignore[arg-type]
        for number in range(count)
    )


def at(**fields: object) -> Snapshot:
    return Snapshot(at_ms=NOW_MS, **fields)  # type: ignore[arg-type]


def test_nothing_to_do_nobody_there() -> None:
    assert decide(at(), POLICY) == Decision(0, (), (), "steady")


def test_the_first_job_starts_one_worker_on_the_cheapest_market() -> None:
    assert decide(at(queued_jobs=1, queued_ms=1), POLICY) == Decision(1, (("spot", 1),), (), "no_worker")


def test_work_is_divided_by_the_target_wait() -> None:
    decision = decide(at(queued_jobs=50, queued_ms=300_000), POLICY)
    assert (decision.target, decision.why) == (10, "no_worker")


def test_one_long_job_starts_one_worker() -> None:
    assert decide(at(queued_jobs=1, queued_ms=10**7), POLICY).target == 1


def test_workers_that_are_starting_count() -> None:
    busy = at(queued_jobs=42, queued_ms=42 * 30_000)
    first = decide(busy, POLICY)
    second = decide(replace(busy, workers=workers(first.target, "starting")), POLICY)
    assert (first.target, second.start, second.why) == (20, (), "steady")


def test_a_start_that_would_come_too_late_is_not_made() -> None:
    slow = replace(POLICY, cold_start_ms=70_000)
    decision = decide(at(queued_jobs=4, queued_ms=60_000, workers=workers(1)), slow)
    assert (decision.start, decision.why) == ((), "waiting_is_faster")


def test_the_floor_holds_by_the_time_of_day() -> None:
    day = Policy(
        tier="t4", floors=(Floor(from_minute=480, until_minute=1200, workers=10),
                           Floor(from_minute=1200, until_minute=480, workers=2)),
    )  # fmt: skip
    assert decide(at(), day).target == 10
    assert decide(replace(at(), at_ms=NOW_MS + 12 * 3_600_000), day).target == 2
    assert decide(at(), replace(day, utc_offset_minutes=8 * 60)).target == 2
    assert decide(at(), day).why == "floor"


def test_only_idle_workers_are_stopped_and_only_after_their_time() -> None:
    idle_since = NOW_MS - POLICY.idle_ms
    rested = Worker(id="rested", state="idle", since_ms=idle_since, served=1)
    fresh = Worker(id="fresh", state="idle", since_ms=idle_since + 1, served=1)
    decision = decide(at(workers=(rested, fresh, *workers(2, "busy"), *workers(1, "starting"))), POLICY)
    assert (decision.stop, decision.why, decision.target) == (("rested",), "idle_timeout", 4)


def test_a_worker_that_started_slowly_is_not_stopped_before_it_served() -> None:
    slow = replace(POLICY, cold_start_ms=300_000)
    young = Worker(id="young", state="idle", since_ms=NOW_MS - 299_999, served=0)
    assert decide(at(workers=(young,)), slow).stop == ()
    assert decide(at(workers=(replace(young, since_ms=NOW_MS - 300_000),)), slow).stop == ("young",)


def test_a_worker_that_is_needed_is_not_stopped() -> None:
    idle = Worker(id="idle", state="idle", since_ms=0, served=1)
    assert decide(at(running_jobs=1, running_ms=1, workers=(idle,)), POLICY).stop == ()


def test_crashes_back_off_and_say_so() -> None:
    crashing = at(queued_jobs=1, queued_ms=1, recent_crashes=3, last_crash_ms=NOW_MS - 59_999)
    assert decide(crashing, POLICY) == Decision(0, (), (), "workers_crashing")
    assert decide(replace(crashing, last_crash_ms=NOW_MS - 60_000), POLICY).target == 1
    assert [crash_wait_ms(n, POLICY) for n in (1, 2, 3, 21, 99)] == [0, 30_000, 60_000, 600_000, 600_000]


def test_a_budget_caps_the_fleet_and_says_so() -> None:
    poor = replace(POLICY, worker_micros_per_hour=100, budget_micros_per_hour=250)
    much = at(queued_jobs=50, queued_ms=10**7)
    assert decide(much, poor).target == 2
    assert decide(much, replace(poor, budget_micros_per_hour=99)) == Decision(0, (), (), "no_budget")


def test_above_the_cap_idle_workers_go_at_once() -> None:
    decision = decide(at(workers=(*workers(2, "idle"), *workers(2, "busy"))), replace(POLICY, max_workers=3))
    assert (decision.stop, decision.why) == (("idle0",), "above_cap")


REFUSED: dict[str, int] = {"spot_refused_until_ms": NOW_MS + 1}
TIGHT: dict[str, int] = {"tightest_slack_ms": POLICY.cold_start_ms}


@pytest.mark.parametrize("field", [REFUSED, TIGHT], ids=["refused", "tight"])
def test_on_demand_where_spot_will_not_do(field: dict[str, int]) -> None:
    assert decide(at(queued_jobs=1, queued_ms=1, **field), POLICY).start == (("on_demand", 1),)


def test_a_policy_of_spot_alone_never_buys_on_demand() -> None:
    spot_only = replace(POLICY, markets=("spot",))
    refused = decide(at(queued_jobs=1, queued_ms=1, **REFUSED), spot_only)
    assert (refused.start, refused.why) == ((), "spot_refused")
    assert decide(at(queued_jobs=1, queued_ms=1, **TIGHT), spot_only).start == (("spot", 1),)


def test_a_draining_worker_does_not_count() -> None:
    assert decide(at(queued_jobs=1, queued_ms=1, workers=workers(1, "draining")), POLICY).target == 1


def test_the_buffer_is_there_while_there_is_work() -> None:
    buffered = replace(POLICY, buffer_workers=2)
    assert decide(at(queued_jobs=1, queued_ms=1), buffered).target == 3
    assert decide(at(), buffered).target == 0
