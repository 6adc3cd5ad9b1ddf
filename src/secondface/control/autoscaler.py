"""The live end of `domain.scaling`: takes the snapshot of a tier, lets the rule decide, and carries it out.

Every change is an event with its reason. Must not know what a worker is made of.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from secondface.domain.accounts import Actor
from secondface.domain.jobs import Event
from secondface.domain.ports import Fleet, QueueView, Transactions
from secondface.domain.scaling import Decision, Policy, Snapshot, decide


@dataclass(slots=True)
class _Crashes:
    """Crashes of one tier in a row, since one of its workers last served a job."""

    count: int = 0
    last_ms: int | None = None
    served: set[str] = field(default_factory=set[str])


class Autoscaler:
    """Scales the tiers that it has policies for; one instance at a time does so."""

    def __init__(self, transactions: Transactions, fleet: Fleet, policies: tuple[Policy, ...]) -> None:
        self._transactions, self._fleet = transactions, fleet
        self._policies = {policy.tier: policy for policy in policies}
        self._crashes = {tier: _Crashes() for tier in self._policies}
        self.decisions: dict[str, Decision] = {}
        """The last decision of each tier, for the reasons that queued jobs give."""

    def step(self) -> None:
        """Look at every tier once and change what is to be changed."""
        with self._transactions.sole("scale") as mine:
            if not mine:
                return
            with self._transactions.view() as work:
                views, now_ms = {view.tier: view for view in work.jobs.queues()}, work.now_ms()
            for tier, policy in self._policies.items():
                self._scale(policy, views.get(tier, QueueView(tier=tier)), now_ms)

    def note_crash(self, tier: str, at_ms: int) -> None:
        """Count a worker that ended by itself."""
        crashes = self._crashes[tier]
        crashes.count, crashes.last_ms = crashes.count + 1, at_ms

    def _scale(self, policy: Policy, view: QueueView, now_ms: int) -> None:
        workers, crashes = tuple(self._fleet.workers(policy.tier)), self._crashes[policy.tier]
        served = {worker.id for worker in workers if worker.served}
        if served - crashes.served:
            crashes.count, crashes.last_ms = 0, None
        crashes.served = served
        decision = decide(
            Snapshot(
                at_ms=now_ms, queued_jobs=view.queued_jobs, queued_ms=view.queued_ms, running_jobs=view.running_jobs,
                running_ms=view.running_ms, workers=workers, recent_crashes=crashes.count,
                last_crash_ms=crashes.last_ms,
            ),
            policy,
        )  # fmt: skip
        for market, count in decision.start:
            self._fleet.start(policy.tier, market, count)
        if decision.stop:
            self._fleet.stop(decision.stop)
        if decision.start or decision.stop or decision.why != self._last_why(policy.tier):
            self._tell(policy.tier, decision, now_ms)
        self.decisions[policy.tier] = decision

    def _last_why(self, tier: str) -> str:
        return self.decisions[tier].why if tier in self.decisions else "steady"

    def _tell(self, tier: str, decision: Decision, now_ms: int) -> None:
        facts = {
            "why": decision.why, "target": decision.target,
            "start": sum(count for _, count in decision.start), "stop": len(decision.stop),
        }  # fmt: skip
        with self._transactions.begin() as work:
            work.journal.record("operator", Actor("autoscaler"), [Event(f"tier:{tier}", "tier.scaled", now_ms, facts)])
