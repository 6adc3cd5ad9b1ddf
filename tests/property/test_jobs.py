"""A job under any order of workers, zombies, cancels, deadlines and losses: it ends once, and is charged once."""

from __future__ import annotations

from typing import Literal, get_args

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from secondface.domain import jobs
from secondface.domain.billing import bill, billable, ended_as
from secondface.domain.findings import Finding
from secondface.domain.jobs import Attempt, AttemptState, Change, Event, Job, JobState, Lease
from secondface.domain.pricing import CALLER_PAYS, PriceRow, Usage
from secondface.errors import InternalFault, LeaseLost
from tests.property.histories import histories

LEASE_MS = 15_000
RANK: dict[JobState, int] = {"awaiting_approval": 0, "queued": 1, "running": 2, "held": 3}
FOUND = (Finding(rule="nsfw", verdict="hold", input="target"),)
ENDED_ATTEMPTS = set(get_args(AttemptState)) - {"leased", "running"}
WORKERS = st.sampled_from(["w1", "w2", "w3"])
MS = st.integers(0, 20_000)
PICK = st.sampled_from([-1, -1, -1, -2, -2, 0, 1, 2])
"""Which lease acts: mostly the last, sometimes an earlier one, whose holder is a zombie by then."""


class JobHistory(RuleBasedStateMachine):
    """One job, every worker that ever had it, and a model of what must not be taken back."""

    @initialize(approval=st.booleans(), deadline=st.none() | st.integers(1, 400_000), cost=st.none() | MS)
    def submit(self, approval: bool, deadline: int | None, cost: int | None) -> None:
        self.at_ms = 0
        self.leases: list[Lease] = []
        self.events: list[Event] = []
        new = Job(
            id="j", account="a", tier="x", price=PriceRow(tier="x", price_micros=7), created_ms=0,
            deadline_ms=deadline, hold_micros=5_000, max_cost_micros=cost,
        )  # fmt: skip
        self.job = new
        self.take(jobs.submit(new, approval=approval))

    @precondition(lambda self: self.job.ended)
    @rule(deadline=st.none() | st.integers(1, 400_000), cost=st.none() | MS)
    def next_one(self, deadline: int | None, cost: int | None) -> None:
        """Steps after the end are few: the rest of the history goes to another job."""
        self.submit(False, deadline, cost)

    def take(self, change: Change) -> None:
        """Accept a transition, after looking at what it must never do."""
        before, (after, events) = self.job, change
        assert not before.ended or (after, events) == (before, ()), "a job that ended changed"
        assert after.done_frames >= before.done_frames
        assert len(after.attempts) >= len(before.attempts)
        for old, new in zip(before.attempts, after.attempts, strict=False):
            assert old.live or old == new, "an attempt that ended changed"
            assert new.usage.wall_ms >= old.usage.wall_ms
        for old, new in zip(before.segments, after.segments, strict=False):
            assert old.state == "pending" or old == new, "a done segment changed"
        assert (after.state == before.state) or events, "a change of state that nobody is told of"
        self.job = after
        self.events.extend(events)

    def by_worker(self, pick: int, change: object) -> None:
        """Let one of all workers that ever had the job act; only the one that has it now may change it."""
        if not self.leases:
            return
        lease = self.leases[pick % len(self.leases)]
        current = self.job.current
        holds = current is not None and current.number == lease.attempt
        try:
            made: Change = change(lease)  # type: ignore[operator]
        except LeaseLost:
            assert not holds
        else:
            assert holds, "a zombie was listened to"
            self.take(made)

    def usage(self, active_ms: int, idle_ms: int) -> Usage:
        current = self.job.current
        known = current.usage if current else Usage()
        return Usage(
            run_ms=known.run_ms + active_ms + idle_ms, device_active_ms=known.device_active_ms + active_ms
        )  # fmt: skip

    @rule(ms=st.integers(0, 30_000))
    def time_passes(self, ms: int) -> None:
        self.at_ms += ms

    @precondition(lambda self: self.job.state == "awaiting_approval")
    @rule(yes=st.booleans())
    def judge(self, yes: bool) -> None:
        self.take((jobs.approve if yes else jobs.reject)(self.job, "bob", self.at_ms))

    @precondition(lambda self: self.job.state == "queued")
    @rule(worker=WORKERS, count=st.integers(0, 3))
    def claim(self, worker: str, count: int) -> None:
        self.take(jobs.claim(self.job, worker, self.at_ms, LEASE_MS))
        self.leases.append(jobs.lease_of(self.job))
        if count:
            self.take(jobs.cut(self.job, self.leases[-1], count))

    @rule(pick=PICK)
    def start(self, pick: int) -> None:
        self.by_worker(pick, lambda lease: jobs.start(self.job, lease, self.at_ms))

    @rule(pick=PICK, ms=MS, idle=MS, done=st.integers(0, 99), stale=st.booleans())
    def beat(self, pick: int, ms: int, idle: int, done: int, stale: bool) -> None:
        usage = Usage() if stale else self.usage(ms, idle)
        self.by_worker(pick, lambda lease: jobs.beat(self.job, lease, self.at_ms, LEASE_MS, usage, done=done, total=99))

    @rule(pick=PICK, count=st.integers(1, 4))
    def cut(self, pick: int, count: int) -> None:
        self.by_worker(pick, lambda lease: jobs.cut(self.job, lease, count))

    @precondition(lambda self: self.job.segments)
    @rule(pick=PICK, index=st.integers(0, 3), ms=MS)
    def finish_segment(self, pick: int, index: int, ms: int) -> None:
        index %= len(self.job.segments)
        usage = self.usage(ms, 0)
        self.by_worker(
            pick,
            lambda lease: jobs.finish_segment(
                self.job, lease, self.at_ms, usage, index=index, active_ms=ms, result=f"{lease.attempt}/{index}"
            ),
        )

    @rule(pick=PICK, ms=MS)
    def succeed(self, pick: int, ms: int) -> None:
        usage = self.usage(ms, 5)
        self.by_worker(pick, lambda lease: jobs.succeed(self.job, lease, self.at_ms, usage, f"out/{lease.attempt}"))

    @precondition(lambda self: self.at_ms % 2 == 0)
    @rule(pick=PICK, ms=MS)
    def hold(self, pick: int, ms: int) -> None:
        usage = self.usage(ms, 5)
        self.by_worker(pick, lambda lease: jobs.hold(self.job, lease, self.at_ms, usage, f"out/{lease.attempt}", FOUND))

    @precondition(lambda self: self.job.state == "held")
    @rule(yes=st.booleans())
    def review(self, yes: bool) -> None:
        pending = self.job.pending
        self.take((jobs.release if yes else jobs.refuse)(self.job, "eve", "looked at", self.at_ms))
        assert self.job.result == (pending if yes else None)

    @rule(pick=PICK, ms=MS, fault=st.sampled_from(["caller", "provider"]), retryable=st.booleans())
    def fail(self, pick: int, ms: int, fault: Literal["caller", "provider"], retryable: bool) -> None:
        usage = self.usage(ms, 5)
        self.by_worker(
            pick, lambda lease: jobs.fail(self.job, lease, self.at_ms, usage, "e", fault, retryable=retryable)
        )

    @rule(pick=PICK, ms=MS)
    def preempt(self, pick: int, ms: int) -> None:
        usage = self.usage(ms, 5)
        self.by_worker(pick, lambda lease: jobs.preempt(self.job, lease, self.at_ms, usage))

    @rule(pick=PICK, ms=MS)
    def crash(self, pick: int, ms: int) -> None:
        usage = self.usage(ms, 5)
        self.by_worker(pick, lambda lease: jobs.crash(self.job, lease, self.at_ms, usage))

    @rule(pick=PICK, cause=st.sampled_from(["silent", "crashed"]))
    def lose(self, pick: int, cause: Literal["silent", "crashed"]) -> None:
        self.by_worker(pick, lambda lease: jobs.lose(self.job, lease.attempt, self.at_ms, cause))

    @precondition(lambda self: self.job.stop_asked)
    @rule(pick=PICK, ms=MS)
    def stop(self, pick: int, ms: int) -> None:
        usage = self.usage(ms, 0)
        self.by_worker(pick, lambda lease: jobs.stop(self.job, lease, self.at_ms, usage))

    @precondition(lambda self: self.at_ms % 3 == 0)
    @rule()
    def cancel(self) -> None:
        self.take(jobs.cancel(self.job, self.at_ms))
        assert self.job.ended or self.job.stop_asked

    @rule()
    def expire(self) -> None:
        self.take(jobs.expire(self.job, self.at_ms))

    @precondition(lambda self: self.at_ms % 5 == 0)
    @rule()
    def limit_cost(self) -> None:
        self.take(jobs.limit_cost(self.job, self.at_ms))

    # ---- what holds after every step --------------------------------------------------------------------------------

    @invariant()
    def one_attempt_at_most_is_live_and_only_while_running(self) -> None:
        live = [attempt for attempt in self.job.attempts if attempt.live]
        assert len(live) == (1 if self.job.state == "running" else 0)
        assert not live or live == [self.job.attempts[-1]]

    @invariant()
    def the_fencing_token_only_rises(self) -> None:
        numbers = [attempt.number for attempt in self.job.attempts]
        assert numbers == sorted(set(numbers))
        assert [lease.attempt for lease in self.leases] == numbers

    @invariant()
    def what_ended_says_when_and_why(self) -> None:
        assert self.job.ended == (self.job.ended_ms is not None) == (self.job.cause is not None)
        for attempt in self.job.attempts:
            assert (attempt.state in ENDED_ATTEMPTS) == (attempt.ended_ms is not None) == (attempt.cause is not None)
        assert (self.job.state == "succeeded") == (self.job.result is not None)

    @invariant()
    def what_waits_for_a_reviewer_is_nobodys(self) -> None:
        assert (self.job.state == "held") == (self.job.pending is not None)

    @invariant()
    def the_end_is_told_once(self) -> None:
        ends = [event.kind for event in self.events if event.kind.removeprefix("job.") in get_args(JobState)]
        ends = [kind for kind in ends if kind not in ("job.queued", "job.held")]
        assert ends == ([f"job.{self.job.state}"] if self.job.ended else [])

    @invariant()
    def nobody_is_cancelled_or_late_unasked(self) -> None:
        asked = {"cancelled", "rejected"} if self.job.state == "cancelled" else {"deadline"}
        assert self.job.state not in ("cancelled", "expired") or self.job.cause in asked
        told = {event.kind for event in self.events}
        if self.job.state == "cancelled" and (last := self.events[-2:])[0].kind.startswith("attempt."):
            assert "job.stopping" in told, last

    @invariant()
    def no_job_is_tried_for_ever(self) -> None:
        assert len(self.job.attempts) <= 13

    @invariant()
    def the_bill_is_fair(self) -> None:
        made = bill(self.job)
        bounds = [self.job.hold_micros, self.job.max_cost_micros]
        assert 0 <= made.total_micros <= min(bound for bound in bounds if bound is not None)
        worked = sum(attempt.usage.device_active_ms for attempt in self.job.attempts)
        assert made.charged_ms <= worked
        assert sum(line.length_ms for line in made.lines) == sum(a.usage.wall_ms for a in self.job.attempts)
        if self.job.ended and not any(self.pays(attempt) for attempt in self.job.attempts):
            assert made.total_micros == 0

    @invariant()
    def a_segment_is_charged_once(self) -> None:
        for attempt in billable(self.job):
            own = sum(each.active_ms for each in self.job.segments if each.attempt == attempt.number)
            assert attempt.reused_ms in (0, own)

    def pays(self, attempt: Attempt) -> bool:
        return ended_as(attempt) in CALLER_PAYS

    @precondition(lambda self: self.job.segments)
    @rule(pick=PICK, ms=st.integers(1, 99))
    def a_segment_that_claims_more_than_its_attempt_is_refused(self, pick: int, ms: int) -> None:
        current = self.job.current
        index = next((s.index for s in self.job.segments if s.state == "pending"), None)
        if current is None or index is None:
            return
        try:
            jobs.finish_segment(
                self.job, jobs.lease_of(self.job), self.at_ms, current.usage,
                index=index, active_ms=current.usage.device_active_ms + ms, result="x",
            )  # fmt: skip
        except InternalFault:
            return
        raise AssertionError("accepted")


TestJobHistory = JobHistory.TestCase
TestJobHistory.settings = histories()
