"""The control plane under any order of calls: one end, one charge at most, and a ledger that sums to zero."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from secondface.control.admission import Probed
from secondface.control.reviews import Reviews
from secondface.control.settlement import Settlement
from secondface.domain.accounts import Account, Plan
from secondface.domain.billing import bill
from secondface.domain.budgets import Budget, period_of
from secondface.domain.findings import Finding
from secondface.domain.jobs import Job, Lease
from secondface.domain.ports import Offer
from secondface.domain.pricing import Usage
from secondface.errors import BudgetExceeded, LeaseLost
from tests.property.histories import histories
from tests.unit.control.service import FUNDS, Service

PICK = st.sampled_from([-1, -1, -2, 0, 1, 2])
MS = st.integers(0, 12_000)
MONTH_MICROS = 400_000
FOUND = (Finding(rule="nsfw", verdict="hold", input="target"),)


class ServiceHistory(RuleBasedStateMachine):
    """Two accounts, three workers, every lease that was ever given."""

    @initialize()
    def open(self) -> None:
        self.service = Service()
        for name in ("a", "b"):
            self.service.set_account(Account(id=name, name=name, plan=Plan(max_running=2, approval_above_faces=4)))
        self.callers = {name: self.service.caller(name, "owner") for name in ("a", "b")}
        self.reviews = Reviews(self.service.transactions, Settlement(self.service.ids))
        self.reviewer = self.service.caller("b", "reviewer")
        self.approvers = {name: self.service.caller(name, "approver") for name in ("a", "b")}
        with self.service.transactions.begin() as work:
            work.ledger.set_budget(Budget("account:b", "month", MONTH_MICROS))
        self.leases: list[Lease] = []
        self.ids: list[str] = []
        self.by_key: dict[tuple[str, int, int], str] = {}

    def jobs(self) -> list[Job]:
        with self.service.transactions.view() as work:
            return list(work.jobs.page(None, limit=10_000))

    @rule(ms=st.integers(1, 9_000))
    def time_passes(self, ms: int) -> None:
        self.service.clock.at_ms += ms

    @rule(
        account=st.sampled_from("ab"), frames=st.sampled_from([1, 20, 100, 200]), faces=st.integers(1, 6),
        key=st.integers(0, 3),
        limit=st.none() | st.integers(3_000, 60_000), deadline=st.none() | st.integers(1, 60_000), cached=st.booleans(),
    )  # fmt: skip
    def submit(
        self, account: str, frames: int, faces: int, key: int, limit: int | None, deadline: int | None, cached: bool
    ) -> None:
        try:
            accepted = self.service.submit(
                self.callers[account],
                probed=Probed(frames=frames, faces=faces), max_cost_micros=limit, digest=f"{frames}",
                deadline_ms=None if deadline is None else self.service.clock.at_ms + deadline,
                idempotency_key=f"{key}-{frames}", cache_key=f"c{frames % 3}" if cached else None,
            )  # fmt: skip
        except BudgetExceeded:
            return
        assert accepted.replayed == (accepted.job.id in self.ids)
        assert self.by_key.setdefault((account, key, frames), accepted.job.id) == accepted.job.id
        if not accepted.replayed:
            self.ids.append(accepted.job.id)

    @rule(worker=st.sampled_from(["w1", "w2", "w3"]), alone=st.booleans())
    def claim(self, worker: str, alone: bool) -> None:
        grant = self.service.desk.claim(Offer(worker=worker, tiers=("a10g",), alone=alone))
        if grant is not None:
            assert alone or not grant.alone
            assert all((each.job_id, each.attempt) != (grant.lease.job_id, grant.lease.attempt) for each in self.leases)
            self.leases.append(grant.lease)

    def usage(self, lease: Lease, more_ms: int) -> Usage:
        current = self.service.job(lease.job_id).current
        known = current.usage if current else Usage()
        return replace(known, run_ms=known.run_ms + more_ms + 7, device_active_ms=known.device_active_ms + more_ms)

    def by_worker(self, pick: int, ms: int, how: str) -> None:
        lease = self.leases[pick % len(self.leases)]
        job, usage, desk = self.service.job(lease.job_id), self.usage(lease, ms), self.service.desk
        holds = job.current is not None and job.current.number == lease.attempt
        if how == "stop" and holds and not job.stop_asked:
            return
        try:
            match how:
                case "beat":
                    orders = desk.beat(lease, usage, ms % 100, 100)
                    assert orders.until_ms > self.service.clock.at_ms
                case "segment":
                    desk.cut(lease, 3)
                    desk.finish_segment(lease, usage, index=ms % 3, active_ms=ms, result=f"s{ms % 3}")
                case "succeed":
                    desk.succeed(lease, usage, f"out/{lease.job_id}/{lease.attempt}")
                case "held":
                    desk.succeed(lease, usage, f"out/{lease.job_id}/{lease.attempt}", FOUND)
                case "caller":
                    desk.fail(lease, usage, error="no_face_in_source", fault="caller", retryable=False)
                case "provider":
                    desk.fail(lease, usage, error="model_failed", fault="provider", retryable=ms % 2 == 0)
                case "preempt":
                    desk.preempt(lease, usage)
                case _:
                    desk.stop(lease, usage)
        except LeaseLost:
            assert not holds
            assert self.service.job(lease.job_id) == job, "a zombie changed something"
        else:
            assert holds, "a zombie was listened to"

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, ms=MS)
    def beat(self, pick: int, ms: int) -> None:
        self.by_worker(pick, ms, "beat")

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, ms=MS)
    def finish_segment(self, pick: int, ms: int) -> None:
        self.by_worker(pick, ms, "segment")

    @precondition(lambda self: self.leases)
    @rule(pick=PICK, ms=MS, how=st.sampled_from(["succeed", "held", "caller", "provider", "preempt", "stop"]))
    def end(self, pick: int, ms: int, how: str) -> None:
        self.by_worker(pick, ms, how)

    @rule()
    def sweep(self) -> None:
        self.service.desk.sweep()
        with self.service.transactions.view() as work:
            assert not work.jobs.overdue(99)

    @rule(worker=st.sampled_from(["w1", "w2", "w3"]))
    def crash(self, worker: str) -> None:
        self.service.desk.worker_crashed(worker)
        assert not any(job.current and job.current.worker == worker for job in self.jobs())

    @precondition(lambda self: self.ids)
    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        job = self.service.job(self.ids[pick % len(self.ids)])
        self.service.requests.cancel(self.callers[job.account], job.id)

    @rule(yes=st.booleans())
    def judge(self, yes: bool) -> None:
        for job in self.jobs():
            if job.state == "awaiting_approval":
                requests, approver = self.service.requests, self.approvers[job.account]
                (requests.approve if yes else requests.reject)(approver, job.id)

    @rule(yes=st.booleans())
    def review(self, yes: bool) -> None:
        for job in self.reviews.page(self.reviewer):
            (self.reviews.approve if yes else self.reviews.refuse)(self.reviewer, job.id, "looked at")

    # ---- what holds after every step --------------------------------------------------------------------------------

    @invariant()
    def every_accepted_job_is_there_once(self) -> None:
        assert sorted(job.id for job in self.jobs()) == sorted(self.ids)

    @invariant()
    def the_ledger_sums_to_zero(self) -> None:
        with self.service.transactions.view() as work:
            assert work.ledger.imbalance() == 0

    @invariant()
    def receipts_equal_the_ledger_to_the_micro(self) -> None:
        for account in "ab":
            mine = [job for job in self.jobs() if job.account == account]
            charged = sum(bill(job).total_micros for job in mine if job.ended)
            held = sum(job.hold_micros for job in mine if not job.ended)
            assert self.service.balance(f"revenue:{account}") == charged
            assert self.service.balance(f"held:{account}") == held
            assert self.service.balance(f"wallet:{account}") == FUNDS - charged - held
            month = period_of("month", self.service.clock.at_ms)
            assert self.service.spent(f"account:{account}", month) == (held, charged)
            assert self.service.spent(f"key:{self.callers[account].key_id}", month) == (held, charged)

    @invariant()
    def no_budget_is_passed(self) -> None:
        reserved, spent = self.service.spent("account:b", period_of("month", self.service.clock.at_ms))
        assert reserved + spent <= MONTH_MICROS

    @invariant()
    def a_job_is_charged_once_at_most(self) -> None:
        with self.service.transactions.view() as work:
            for job in self.jobs():
                kinds = [entry.kind for entry in work.ledger.entries(job.id)]
                assert len(kinds) == len(set(kinds))
                assert ("capture" in kinds or "release" in kinds) == (job.ended and job.hold_micros > 0)

    @invariant()
    def nobody_runs_more_than_the_plan_allows(self) -> None:
        running = [job.account for job in self.jobs() if job.state == "running"]
        assert max(running.count("a"), running.count("b")) <= 2

    @invariant()
    def the_end_is_told_once(self) -> None:
        for job in self.jobs():
            ends = [kind for kind in self.service.kinds(job.id) if kind in _ENDS]
            assert ends == ([f"job.{job.state}"] if job.ended else [])


_ENDS = {"job.succeeded", "job.failed", "job.cancelled", "job.expired"}

TestServiceHistory = ServiceHistory.TestCase
TestServiceHistory.settings = histories()
