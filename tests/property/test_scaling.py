"""A tier under any load: the scaler never passes its cap, never stops who works, settles, and returns to zero."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from secondface.domain.scaling import Decision, Policy, Snapshot, Worker, decide
from tests.property.histories import histories


class TierHistory(RuleBasedStateMachine):
    """A little world: jobs of some length, workers that start, crash, work, rest and stop."""

    @initialize(most=st.integers(0, 6), wait=st.integers(1, 60), cold=st.integers(0, 90), spot=st.booleans())
    def open(self, most: int, wait: int, cold: int, spot: bool) -> None:
        self.policy = Policy(
            tier="t4", max_workers=most, target_wait_ms=wait * 1000, cold_start_ms=cold * 1000,
            markets=("spot", "on_demand") if spot else ("on_demand",),
        )  # fmt: skip
        self.at_ms = 0
        self.jobs: list[int] = []
        self.workers: dict[str, Worker] = {}
        self.crashes, self.last_crash_ms = 0, None
        self.number = 0

    def snapshot(self) -> Snapshot:
        busy = [worker for worker in self.workers.values() if worker.state == "busy"]
        return Snapshot(
            at_ms=self.at_ms, queued_jobs=len(self.jobs), queued_ms=sum(self.jobs), running_jobs=len(busy),
            running_ms=len(busy) * 1000, workers=tuple(self.workers.values()), recent_crashes=self.crashes,
            last_crash_ms=self.last_crash_ms,
        )  # fmt: skip

    def carry_out(self) -> Decision:
        before = self.snapshot()
        decision = decide(before, self.policy)
        assert not (decision.start and decision.stop)
        for name in decision.stop:
            assert self.workers.pop(name).state == "idle", "a worker was stopped that was not idle"
        for market, count in decision.start:
            assert before.queued_jobs + before.running_jobs, "a worker without work"
            for _ in range(count):
                self.number += 1
                name = f"w{self.number}"
                self.workers[name] = Worker(id=name, state="starting", since_ms=self.at_ms, market=market)
        assert decision.target == len(self.workers)
        return decision

    @rule(ms=st.lists(st.integers(1, 100_000), min_size=1, max_size=40))
    def jobs_come(self, ms: list[int]) -> None:
        self.jobs += ms

    @rule()
    def scale(self) -> None:
        self.carry_out()
        again = decide(self.snapshot(), self.policy)
        assert not again.start, "42 messages must not start 84 workers"
        assert not again.stop

    @rule(seconds=st.integers(1, 120))
    def time_passes(self, seconds: int) -> None:
        self.at_ms += seconds * 1000
        for worker in self.workers.values():
            if worker.state == "starting":
                self.workers[worker.id] = replace(worker, state="idle", since_ms=self.at_ms)

    @rule()
    def work_goes_on(self) -> None:
        for worker in self.workers.values():
            if worker.state == "busy":
                self.crashes = 0
                self.workers[worker.id] = replace(
                    worker, state="idle", since_ms=self.at_ms, served=worker.served + 1
                )  # fmt: skip
            elif worker.state == "idle" and self.jobs:
                self.jobs.pop()
                self.workers[worker.id] = replace(worker, state="busy", since_ms=self.at_ms)

    @rule(pick=st.integers(0, 9))
    def a_worker_crashes(self, pick: int) -> None:
        if self.workers:
            self.workers.pop(sorted(self.workers)[pick % len(self.workers)])
            self.crashes, self.last_crash_ms = self.crashes + 1, self.at_ms

    @rule()
    def everything_drains(self) -> None:
        """Whatever happened, once the work is done and enough time has passed, nobody is left."""
        self.jobs = []
        self.workers = {
            name: worker if worker.state == "idle" else replace(worker, state="idle", since_ms=self.at_ms)
            for name, worker in self.workers.items()
        }
        self.at_ms += max(self.policy.idle_ms, self.policy.cold_start_ms)
        self.carry_out()
        assert not self.workers

    @rule(ms=st.integers(1, 100_000))
    def no_job_waits_for_ever(self, ms: int) -> None:
        """With room in the policy, and once crashes have been waited for, work gets a worker."""
        self.jobs.append(ms)
        self.at_ms += self.policy.crash_most_ms
        decision = self.carry_out()
        assert self.workers or not self.policy.max_workers, decision

    @invariant()
    def never_above_the_cap(self) -> None:
        assert len(self.workers) <= self.policy.max_workers


TestTierHistory = TierHistory.TestCase
TestTierHistory.settings = histories()
