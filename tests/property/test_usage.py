"""Clocks and a device of attempts under any order of phases and reports: no gap, and no moment counted twice."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from secondface.domain.pricing import Phase, Usage
from secondface.pipeline.device_share import DeviceShare, SharedDevice
from secondface.pipeline.meter import PhaseClock
from tests.property.histories import histories

NS = st.integers(0, 5 * 10**8)
PHASES: tuple[Phase, ...] = get_args(Phase)


class UsageHistory(RuleBasedStateMachine):
    """Three attempts on one device; each works on it only in its `run`, as the engine does."""

    def now(self) -> int:
        return self.at_ns

    @initialize(start=NS)
    def open(self, start: int) -> None:
        self.at_ns = self.began_ns = start
        self.device = SharedDevice(self.now)
        self.clocks = [PhaseClock(self.now, first="boot") for _ in range(3)]
        self.shares: list[DeviceShare] = [self.device.share() for _ in range(3)]
        self.phases: list[Phase] = ["boot"] * 3
        self.depths = [0] * 3
        self.known = [Usage() for _ in range(3)]
        self.busy_ns = 0

    @rule(ns=NS)
    def time_passes(self, ns: int) -> None:
        self.at_ns += ns
        self.busy_ns += ns if any(self.depths) else 0

    @rule(who=st.integers(0, 2), phase=st.sampled_from(PHASES))
    def enter(self, who: int, phase: Phase) -> None:
        if phase != "run":
            while self.depths[who]:
                self.leave(who)
        self.clocks[who].enter(phase)
        self.phases[who] = phase

    @rule(who=st.integers(0, 2))
    def work(self, who: int) -> None:
        if self.phases[who] == "run":
            self.shares[who].__enter__()
            self.depths[who] += 1

    @precondition(lambda self: any(self.depths))
    @rule(who=st.integers(0, 2))
    def leave(self, who: int) -> None:
        if self.depths[who]:
            self.shares[who].__exit__()
            self.depths[who] -= 1

    @rule(who=st.integers(0, 2), ns=NS)
    def share_a_batch(self, who: int, ns: int) -> None:
        other = (who + 1) % 3
        if self.phases[who] == self.phases[other] == "run":
            with self.device.batch({self.shares[who]: 3, self.shares[other]: 1}):
                self.at_ns += ns
                self.busy_ns += ns

    def usage(self, who: int) -> Usage:
        active_ms = self.shares[who].busy_ns // 1_000_000
        spent = self.clocks[who].spent()
        return Usage(
            boot_ms=spent["boot"], load_ms=spent["load"], fetch_ms=spent["fetch"], run_ms=spent["run"],
            store_ms=spent["store"], device_active_ms=active_ms,
        )  # fmt: skip

    @invariant()
    def phases_sum_to_the_wall_and_only_grow(self) -> None:
        for who in range(3):
            told = self.usage(who)  # refuses more device time than `run`
            assert told.wall_ms == (self.at_ns - self.began_ns) // 1_000_000
            assert told.device_active_ms <= told.run_ms
            for name in (*(f"{phase}_ms" for phase in PHASES), "device_active_ms"):
                assert getattr(told, name) >= getattr(self.known[who], name)
            self.known[who] = told

    @invariant()
    def the_parts_of_all_are_the_time_in_which_the_device_worked(self) -> None:
        assert sum(share.busy_ns for share in self.shares) == self.device.busy_ns == self.busy_ns
        assert self.busy_ns <= self.at_ns - self.began_ns


TestUsageHistory = UsageHistory.TestCase
TestUsageHistory.settings = histories()
