"""What every store of jobs promises: round trips, the order of the queue, leases, and what is overdue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secondface.domain import jobs
from secondface.domain.accounts import Account, Plan
from secondface.domain.jobs import Job
from secondface.domain.ports import Offer, Transactions
from secondface.domain.pricing import Usage
from secondface.errors import InternalFault, JobMissing
from secondface.spec.marks import watermark_text_of_job
from tests.conformance.conftest import new_job, submitted
from tests.hand_clock import HandClock

OFFER = Offer(worker="w1", tiers=("cpu",))


def claimed(store: Transactions, offer: Offer = OFFER) -> Job | None:
    with store.begin() as work:
        found = work.jobs.claim(offer)
        return found[0] if found else None


def claim(store: Transactions, offer: Offer = OFFER) -> Job:
    job = claimed(store, offer)
    assert job is not None
    return job


def order(store: Transactions, most: int = 99) -> list[str]:
    """The ids in the order in which they are claimed, each ended before the next is taken."""
    ids: list[str] = []
    while len(ids) < most and (job := claimed(store)):
        ids.append(job.id)
        finish(store, job)
    return ids


def finish(store: Transactions, job: Job) -> None:
    with store.begin() as work:
        locked = work.jobs.lock(job.id)
        lease = jobs.lease_of(locked)
        work.jobs.save(locked, jobs.succeed(locked, lease, work.now_ms(), Usage(), "out")[0])


def test_a_job_comes_back_as_it_was_stored(store: Transactions, clock: HandClock) -> None:
    job, _ = jobs.submit(new_job(1, key_id="k", spec='{"ü": 1}', deadline_ms=clock.at_ms + 10, max_cost_micros=7))
    with store.begin() as work:
        stored = work.jobs.add(job)
    with store.view() as work:
        assert work.jobs.get("job_0001") == stored == replace(job, turn=stored.turn)


def test_a_job_is_found_by_the_watermark_of_its_output(store: Transactions) -> None:
    first, second = submitted(store, new_job(1), new_job(2))
    with store.view() as work:
        assert work.jobs.marked(watermark_text_of_job(second.id)) == work.jobs.get(second.id)
        assert work.jobs.marked(watermark_text_of_job(first.id)) == work.jobs.get(first.id)
        assert work.jobs.marked("0" * 16) is None
        assert work.jobs.marked("") is None


def test_every_part_of_a_job_comes_back(store: Transactions, clock: HandClock) -> None:
    submitted(store, new_job(1))
    job = claim(store)
    lease = jobs.lease_of(job)
    usage = Usage(boot_ms=1, load_ms=2, fetch_ms=3, run_ms=40, store_ms=5, device_active_ms=6, frames=7, faces=8)
    with store.begin() as work:
        before = work.jobs.lock(job.id)
        after, _ = jobs.start(before, lease, clock.at_ms)
        after, _ = jobs.cut(after, lease, 3)
        after, _ = jobs.finish_segment(after, lease, clock.at_ms, usage, index=1, active_ms=4, result="s1")
        work.jobs.save(before, after)
    with store.begin() as work:
        before = work.jobs.lock(job.id)
        assert before == after
        again, _ = jobs.preempt(before, lease, clock.at_ms, replace(usage, run_ms=50))
        work.jobs.save(before, again)
    with store.view() as work:
        assert work.jobs.get(job.id) == again


def test_a_job_that_is_not_there(store: Transactions) -> None:
    with store.view() as work, pytest.raises(JobMissing):
        work.jobs.get("job_9")
    with store.begin() as work, pytest.raises(JobMissing):
        work.jobs.lock("job_9")


def test_a_claim_is_what_the_machine_says(store: Transactions, clock: HandClock) -> None:
    [job] = submitted(store, new_job(1))
    with store.begin() as work:
        found = work.jobs.claim(replace(OFFER, lease_ms=9_000))
    assert found == jobs.claim(job, "w1", clock.at_ms, 9_000)
    assert found is not None
    with store.view() as work:
        assert work.jobs.get(job.id) == found[0]
    assert claimed(store) is None


def test_the_fencing_token_rises_with_each_claim(store: Transactions, clock: HandClock) -> None:
    submitted(store, new_job(1))
    tokens: list[int] = []
    for _ in range(3):
        job = claim(store)
        tokens.append(jobs.lease_of(job).attempt)
        with store.begin() as work:
            locked = work.jobs.lock(job.id)
            work.jobs.save(locked, jobs.lose(locked, tokens[-1], clock.at_ms, "silent")[0])
    assert tokens == [1, 2, 3]


def test_a_worker_gets_only_its_tiers_in_its_order(store: Transactions) -> None:
    submitted(store, new_job(1, tier="t4"), new_job(2, tier="cpu"), new_job(3, tier="a10g"))
    offer = Offer(worker="w1", tiers=("a10g", "cpu"))
    assert [claim(store, offer).tier for _ in range(2)] == ["a10g", "cpu"]
    assert claimed(store, offer) is None


def test_priority_first_then_the_fair_order(store: Transactions) -> None:
    submitted(store, new_job(1), new_job(2), new_job(3), new_job(4, "b"), new_job(5, "b", priority=5))
    assert order(store) == ["job_0005", "job_0001", "job_0004", "job_0002", "job_0003"]


def test_accounts_take_turns_however_many_jobs_one_has(store: Transactions) -> None:
    submitted(store, *(new_job(number) for number in range(20)))
    submitted(store, *(new_job(number, "b") for number in range(20, 30)))
    first = order(store, 20)
    assert sum(job_id < "job_0020" for job_id in first) == 10


def test_shares_are_of_device_time_and_not_of_jobs(store: Transactions) -> None:
    submitted(store, *(new_job(number, expected_ms=3_000) for number in range(10)))
    submitted(store, *(new_job(number, "b", expected_ms=1_000) for number in range(10, 40)))
    first = order(store, 16)
    assert sum(job_id < "job_0010" for job_id in first) == 4


def test_a_newcomer_is_level_with_the_next_in_line(store: Transactions) -> None:
    submitted(store, *(new_job(number) for number in range(10)))
    order(store, 5)
    submitted(store, *(new_job(number, "b") for number in range(10, 15)))
    assert sum(job_id >= "job_0010" for job_id in order(store, 6)) == 3


def test_an_account_runs_no_more_than_its_plan_allows(store: Transactions) -> None:
    submitted(store, *(new_job(number) for number in range(5)), new_job(9, "b"))
    taken = [claim(store) for _ in range(4)]
    assert [job.account for job in taken].count("a") == 3
    assert claimed(store) is None
    finish(store, next(job for job in taken if job.account == "a"))
    assert claim(store).account == "a"


def test_a_changed_plan_counts_from_the_next_claim(store: Transactions) -> None:
    submitted(store, *(new_job(number) for number in range(5)))
    for _ in range(3):
        claim(store)
    assert claimed(store) is None
    with store.begin() as work:
        work.accounts.save(Account(id="a", name="A", plan=Plan(max_running=4)))
    assert claimed(store) is not None
    assert claimed(store) is None


def test_every_way_out_of_running_makes_room(store: Transactions, clock: HandClock) -> None:
    submitted(store, *(new_job(number) for number in range(4)))
    for how in ("fail", "lose", "preempt"):
        job = claim(store)
        with store.begin() as work:
            locked = work.jobs.lock(job.id)
            lease = jobs.lease_of(locked)
            match how:
                case "fail":
                    after, _ = jobs.fail(locked, lease, clock.at_ms, Usage(), "e", "caller")
                case "lose":
                    after, _ = jobs.lose(locked, lease.attempt, clock.at_ms, "silent")
                case _:
                    after, _ = jobs.preempt(locked, lease, clock.at_ms, Usage())
            work.jobs.save(locked, after)
    assert [claimed(store) is not None for _ in range(4)] == [True, True, True, False]


def test_a_job_that_backs_off_waits(store: Transactions, clock: HandClock) -> None:
    submitted(store, new_job(1))
    job = claim(store)
    with store.begin() as work:
        locked = work.jobs.lock(job.id)
        lease = jobs.lease_of(locked)
        after, _ = jobs.fail(locked, lease, clock.at_ms, Usage(), "e", "provider", retryable=True)
        work.jobs.save(locked, after)
    assert claimed(store) is None
    clock.at_ms += 2_000
    assert claim(store).id == job.id


def test_a_suspect_goes_to_a_worker_that_is_alone(store: Transactions, clock: HandClock) -> None:
    submitted(store, new_job(1))
    job = claim(store)
    with store.begin() as work:
        locked = work.jobs.lock(job.id)
        work.jobs.save(locked, jobs.lose(locked, 1, clock.at_ms, "crashed")[0])
    assert claimed(store, replace(OFFER, alone=False)) is None
    assert claim(store).suspect


def test_what_awaits_approval_is_not_claimed_and_then_takes_its_turn(store: Transactions) -> None:
    [waiting] = submitted(store, new_job(1), approval=True)
    submitted(store, new_job(2))
    assert order(store) == ["job_0002"]
    with store.begin() as work:
        locked = work.jobs.lock(waiting.id)
        work.jobs.save(locked, jobs.approve(locked, "bob", work.now_ms())[0])
    assert order(store) == ["job_0001"]


def test_overdue_are_leases_and_deadlines(store: Transactions, clock: HandClock) -> None:
    submitted(store, new_job(1), new_job(2, deadline_ms=clock.at_ms + 5_000), new_job(3))
    claim(store)
    with store.view() as work:
        assert work.jobs.overdue(9) == []
    clock.at_ms += 5_000
    with store.view() as work:
        assert work.jobs.overdue(9) == ["job_0002"]
    clock.at_ms += 10_000
    with store.view() as work:
        assert work.jobs.overdue(9) == ["job_0001", "job_0002"]
        assert work.jobs.overdue(1) == ["job_0001"]


def test_a_job_that_was_asked_to_stop_is_not_overdue_again(store: Transactions, clock: HandClock) -> None:
    submitted(store, new_job(1, deadline_ms=clock.at_ms + 5_000))
    claim(store)
    clock.at_ms += 5_000
    with store.begin() as work:
        locked = work.jobs.lock("job_0001")
        work.jobs.save(locked, jobs.expire(locked, work.now_ms())[0])
    with store.view() as work:
        assert work.jobs.overdue(9) == []


def test_pages_go_from_the_newest_back(store: Transactions) -> None:
    submitted(store, *(new_job(number) for number in range(4)), new_job(9, "b"))
    claim(store)
    with store.view() as work:
        page = work.jobs.page("a", limit=2)
        assert [job.id for job in page] == ["job_0003", "job_0002"]
        assert [job.id for job in work.jobs.page("a", after=page[-1].id)] == ["job_0001", "job_0000"]
        assert [job.id for job in work.jobs.page("a", ["running"])] == ["job_0000"]
        assert len(work.jobs.page(None)) == 5


def test_queues_say_how_much_work_there_is(store: Transactions, clock: HandClock) -> None:
    submitted(store, new_job(1, expected_ms=100), new_job(2, expected_ms=20), new_job(3, tier="t4", expected_ms=5))
    claim(store)
    with store.view() as work:
        cpu, t4 = work.jobs.queues()
    assert (cpu.tier, cpu.queued_jobs, cpu.queued_ms, cpu.running_jobs, cpu.running_ms) == ("cpu", 1, 20, 1, 100)
    assert (t4.tier, t4.queued_jobs, t4.oldest_queued_ms, t4.running_ms) == ("t4", 1, new_job(3).created_ms, 0)


def test_a_save_over_another_change_is_refused(store: Transactions, clock: HandClock) -> None:
    submitted(store, new_job(1))
    job = claim(store)
    finish(store, job)
    with store.begin() as work, pytest.raises(InternalFault):
        work.jobs.save(job, jobs.cancel(job, clock.at_ms)[0])
