"""Each transition of the state machine: what it changes, what it says, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secondface.domain import jobs
from secondface.domain.jobs import Change, Job, Lease, Retries
from secondface.domain.pricing import PriceRow, Usage
from secondface.errors import InternalFault, JobSettled, LeaseLost

PRICE = PriceRow(tier="cpu", price_micros=300)
LEASE_MS = 15_000


def new_job(**fields: object) -> Job:
    return Job(id="job_1", account="acme", tier="cpu", price=PRICE, created_ms=1_000, **fields)  # type: ignore[arg-type]


def queued(**fields: object) -> Job:
    return jobs.submit(new_job(**fields))[0]


def leased(**fields: object) -> tuple[Job, Lease]:
    job, _ = jobs.claim(queued(**fields), "w1", 2_000, LEASE_MS)
    return job, jobs.lease_of(job)


def active(ms: int) -> Usage:
    return Usage(run_ms=ms, device_active_ms=ms)


def kinds(change: Change) -> list[str]:
    return [event.kind for event in change[1]]


def failed(job: Job, lease: Lease, at_ms: int = 3_000, **how: object) -> Job:
    return jobs.fail(job, lease, at_ms, active(10), "model_failed", "provider", **how)[0]  # type: ignore[arg-type]


# ---- the straight way ------------------------------------------------------------------------------------------------


def test_a_job_runs_from_submission_to_success() -> None:
    job, lease = leased()
    assert (job.state, lease.attempt, lease.until_ms) == ("running", 1, 17_000)
    job, events = jobs.start(job, lease, 2_500)
    assert [event.kind for event in events] == ["attempt.running"]
    job, events = jobs.beat(job, lease, 5_000, LEASE_MS, active(2_000), done=10, total=30)
    assert jobs.lease_of(job).until_ms == 20_000
    assert [dict(event.facts) for event in events] == [{"done": 10, "total": 30}]
    usage = replace(active(6_000), frames=30)
    change = jobs.succeed(job, lease, 9_000, usage, "jobs/job_1/1/out.mp4")
    assert change[0].done_frames == 30
    assert kinds(change) == ["attempt.succeeded", "job.succeeded"]
    assert (change[0].state, change[0].ended_ms, change[0].result) == ("succeeded", 9_000, "jobs/job_1/1/out.mp4")
    assert change[0].attempts[0].usage.device_active_ms == 6_000


def test_submission_is_an_event() -> None:
    assert kinds(jobs.submit(new_job())) == ["job.accepted"]


def test_saying_twice_that_an_attempt_runs_changes_nothing() -> None:
    job, lease = leased()
    started, _ = jobs.start(job, lease, 2_500)
    assert jobs.start(started, lease, 2_900) == (started, ())


def test_a_cached_result_ends_a_job_without_an_attempt() -> None:
    change = jobs.serve_cached(new_job(), "jobs/other/1/out.png")
    assert kinds(change) == ["job.accepted", "job.succeeded"]
    assert (change[0].state, change[0].cause, change[0].attempts) == ("succeeded", "cached", ())


# ---- approval --------------------------------------------------------------------------------------------------------


def test_a_job_that_needs_approval_waits_for_it() -> None:
    waiting, _ = jobs.submit(new_job(), approval=True)
    with pytest.raises(JobSettled, match="awaiting_approval"):
        jobs.claim(waiting, "w1", 2_000, LEASE_MS)
    approved, events = jobs.approve(waiting, "bob", 1_500)
    assert (approved.state, approved.queued_ms, events[0].facts["by"]) == ("queued", 1_500, "bob")
    with pytest.raises(JobSettled):
        jobs.approve(approved, "bob", 1_600)


def test_a_rejected_job_ends_cancelled() -> None:
    waiting, _ = jobs.submit(new_job(), approval=True)
    job, events = jobs.reject(waiting, "bob", 1_500)
    assert (job.state, job.cause) == ("cancelled", "rejected")
    assert events[0].facts == {"cause": "rejected", "by": "bob"}


# ---- fencing ---------------------------------------------------------------------------------------------------------


def test_a_zombie_changes_nothing() -> None:
    job, zombie = leased()
    job, _ = jobs.lose(job, 1, 20_000, "silent")
    job, _ = jobs.claim(job, "w2", 21_000, LEASE_MS)
    assert jobs.lease_of(job).attempt == 2
    for late in (
        lambda: jobs.start(job, zombie, 22_000),
        lambda: jobs.beat(job, zombie, 22_000, LEASE_MS, active(1)),
        lambda: jobs.cut(job, zombie, 3),
        lambda: jobs.finish_segment(job, zombie, 22_000, active(1), index=0, active_ms=1, result="x"),
        lambda: jobs.succeed(job, zombie, 22_000, active(1), "x"),
        lambda: jobs.fail(job, zombie, 22_000, active(1), "e", "caller"),
        lambda: jobs.preempt(job, zombie, 22_000, active(1)),
        lambda: jobs.crash(job, zombie, 22_000, active(1)),
        lambda: jobs.stop(job, zombie, 22_000, active(1)),
        lambda: jobs.lose(job, 1, 22_000, "silent"),
    ):
        with pytest.raises(LeaseLost):
            late()


@pytest.mark.parametrize("change", [{"worker": "w9"}, {"attempt": 2}, {"job_id": "job_2"}])
def test_a_lease_of_somebody_else_is_refused(change: dict[str, object]) -> None:
    job, lease = leased()
    with pytest.raises(LeaseLost):
        jobs.start(job, replace(lease, **change), 2_500)  # type: ignore[arg-type]


def test_a_late_report_takes_nothing_back() -> None:
    job, lease = leased()
    job, _ = jobs.beat(job, lease, 5_000, LEASE_MS, active(2_000), done=20, total=30)
    job, events = jobs.beat(job, lease, 4_000, LEASE_MS, active(900), done=10, total=30)
    assert (job.done_frames, job.attempts[0].usage.device_active_ms, events) == (20, 2_000, ())
    assert jobs.lease_of(job).until_ms == 20_000


def test_an_ended_job_stays_as_it_ended() -> None:
    job, lease = leased()
    job, _ = jobs.succeed(job, lease, 9_000, active(1), "x")
    with pytest.raises(LeaseLost):
        jobs.beat(job, lease, 9_001, LEASE_MS, active(2))
    assert jobs.cancel(job, 9_002) == (job, ())
    assert jobs.expire(replace(job, deadline_ms=1), 9_003) == (replace(job, deadline_ms=1), ())
    assert jobs.limit_cost(job, 9_004) == (job, ())


# ---- cancel, deadline, cost ------------------------------------------------------------------------------------------


def test_what_waits_is_cancelled_at_once() -> None:
    change = jobs.cancel(queued(), 1_500)
    assert (change[0].state, kinds(change)) == ("cancelled", ["job.cancelled"])


def test_what_runs_is_asked_to_stop_and_then_ends() -> None:
    job, lease = leased()
    job, events = jobs.cancel(job, 3_000)
    assert (job.state, job.stop_asked, events[0].kind) == ("running", "cancelled", "job.stopping")
    assert jobs.cancel(job, 3_001) == (job, ())
    change = jobs.stop(job, lease, 3_500, active(700))
    assert (change[0].state, kinds(change)) == ("cancelled", ["attempt.cancelled", "job.cancelled"])


def test_a_worker_that_stops_unasked_is_a_defect() -> None:
    job, lease = leased()
    with pytest.raises(InternalFault):
        jobs.stop(job, lease, 3_000, active(1))


def test_a_result_that_comes_with_the_cancel_is_kept() -> None:
    job, lease = leased()
    job, _ = jobs.cancel(job, 3_000)
    assert jobs.succeed(job, lease, 3_001, active(1), "x")[0].state == "succeeded"


def test_a_deadline_ends_what_waits_and_stops_what_runs() -> None:
    assert jobs.expire(queued(deadline_ms=5_000), 4_999)[0].state == "queued"
    assert jobs.expire(queued(deadline_ms=5_000), 5_000)[0].state == "expired"
    job, lease = leased(deadline_ms=5_000)
    job, _ = jobs.expire(job, 5_000)
    assert job.stop_asked == "deadline"
    ended, _ = jobs.stop(job, lease, 5_500, active(1))
    assert (ended.state, ended.error) == ("expired", "job_expired")


def test_a_cost_limit_fails_the_job() -> None:
    job, lease = leased()
    job, _ = jobs.limit_cost(job, 3_000)
    ended, _ = jobs.stop(job, lease, 3_500, active(1))
    assert (ended.state, ended.error) == ("failed", "cost_limit_reached")


def test_a_worker_that_is_lost_while_it_was_to_stop_ends_the_job() -> None:
    job, _ = leased()
    job, _ = jobs.cancel(job, 3_000)
    change = jobs.lose(job, 1, 20_000, "silent")
    assert (change[0].state, kinds(change)) == ("cancelled", ["attempt.lost", "job.cancelled"])


# ---- tries -----------------------------------------------------------------------------------------------------------


def test_the_callers_error_is_final() -> None:
    job, lease = leased()
    ended, _ = jobs.fail(job, lease, 3_000, active(10), "no_face_in_source", "caller", retryable=True)
    assert (ended.state, ended.error, ended.cause) == ("failed", "no_face_in_source", "caller_error")


def test_our_error_is_tried_again_later_and_later_but_not_for_ever() -> None:
    job, lease = leased()
    waits: list[int] = []
    at_ms = 3_000
    while (job := failed(job, lease, at_ms, retryable=True)).state == "queued":
        waits.append(job.not_before_ms - at_ms)
        job, _ = jobs.claim(job, "w1", job.not_before_ms, LEASE_MS)
        lease, at_ms = jobs.lease_of(job), job.not_before_ms + 10
    assert waits == [2_000, 4_000]
    assert (job.state, job.error, len(job.attempts)) == ("failed", "model_failed", 3)


def test_the_wait_has_a_bound() -> None:
    retries = Retries(provider_errors=20)
    job, lease = leased()
    for _ in range(12):
        job = failed(job, lease, 3_000, retryable=True, retries=retries)
        assert job.not_before_ms - 3_000 <= 60_000
        job, _ = jobs.claim(job, "w1", 3_000, LEASE_MS)
        lease = jobs.lease_of(job)


def test_an_error_that_comes_again_is_not_tried_again() -> None:
    job, lease = leased()
    assert failed(job, lease, retryable=False).state == "failed"


def test_a_lost_worker_costs_no_wait() -> None:
    job, _ = leased()
    job, events = jobs.lose(job, 1, 20_000, "silent")
    assert (job.state, job.not_before_ms, job.suspect) == ("queued", 20_000, False)
    assert [event.kind for event in events] == ["attempt.lost", "job.queued"]


def test_workers_may_be_lost_often_but_not_for_ever() -> None:
    job, _ = leased()
    for number in range(1, 11):
        job, _ = jobs.lose(job, number, 20_000, "silent")
        if job.state == "queued":
            job, _ = jobs.claim(job, "w1", 20_000, LEASE_MS)
    assert (job.state, job.error, len(job.attempts)) == ("failed", "worker_lost", 10)


def test_an_input_that_ends_two_workers_is_poison() -> None:
    job, _ = leased()
    job, _ = jobs.lose(job, 1, 3_000, "crashed")
    assert (job.state, job.suspect) == ("queued", True)
    job, _ = jobs.claim(job, "w2", 4_000, LEASE_MS)
    job, _ = jobs.lose(job, 2, 5_000, "crashed")
    assert (job.state, job.error) == ("failed", "input_poisonous")


def test_a_run_that_crashes_twice_is_poison_whether_or_not_its_worker_lives() -> None:
    job, lease = leased()
    job, events = jobs.crash(job, lease, 3_000, active(700))
    assert (job.state, job.suspect, job.attempts[0].cause, job.attempts[0].usage) == (
        "queued", True, "crashed", active(700),
    )  # fmt: skip
    assert events[0].kind == "attempt.lost"
    job, _ = jobs.claim(job, "w2", 4_000, LEASE_MS)
    with pytest.raises(LeaseLost):
        jobs.crash(job, lease, 4_500, active(1))
    job, _ = jobs.crash(job, jobs.lease_of(job), 5_000, active(10))
    assert (job.state, job.error) == ("failed", "input_poisonous")


def test_a_preempted_job_goes_on_elsewhere() -> None:
    job, lease = leased()
    job, events = jobs.preempt(job, lease, 3_000, active(900))
    assert (job.state, job.attempts[0].state) == ("queued", "preempted")
    assert events[0].kind == "attempt.preempted"


# ---- segments --------------------------------------------------------------------------------------------------------


def test_a_done_segment_survives_its_attempt() -> None:
    job, lease = leased()
    job, _ = jobs.cut(job, lease, 2)
    job, events = jobs.finish_segment(job, lease, 3_000, active(500), index=0, active_ms=400, result="s0")
    assert events[0].facts == {"attempt": 1, "index": 0}
    job, _ = jobs.preempt(job, lease, 4_000, active(600))
    job, _ = jobs.claim(job, "w2", 5_000, LEASE_MS)
    again = jobs.lease_of(job)
    assert jobs.cut(job, again, 5) == (job, ())
    assert [segment.state for segment in job.segments] == ["done", "pending"]
    same, events = jobs.finish_segment(job, again, 6_000, active(9), index=0, active_ms=9, result="other")
    assert (same, events) == (job, ())


def test_a_segment_that_was_never_cut_is_a_defect() -> None:
    job, lease = leased()
    with pytest.raises(InternalFault):
        jobs.finish_segment(job, lease, 3_000, active(1), index=0, active_ms=1, result="x")


def test_segments_cannot_take_more_than_their_attempt() -> None:
    job, lease = leased()
    job, _ = jobs.cut(job, lease, 1)
    with pytest.raises(InternalFault):
        jobs.finish_segment(job, lease, 3_000, active(1), index=0, active_ms=2, result="x")


def test_only_a_new_job_is_submitted() -> None:
    with pytest.raises(InternalFault):
        jobs.submit(leased()[0])


def test_no_lease_without_an_attempt() -> None:
    with pytest.raises(LeaseLost):
        jobs.lease_of(queued())
