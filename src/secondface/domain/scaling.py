"""How many workers a tier should have: a snapshot and a policy in, a decision with its reason out.

The live autoscaler and the planner both call `decide`. Must not know clouds, stores or clocks: the moment is in the
snapshot. Times are whole milliseconds, money whole micro-units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from secondface.domain.pricing import Market

WorkerState: TypeAlias = Literal["starting", "idle", "busy", "draining"]
Why: TypeAlias = Literal[
    "steady", "predicted_wait", "no_worker", "floor", "idle_timeout", "above_cap", "workers_crashing", "no_budget",
    "waiting_is_faster", "spot_refused",
]  # fmt: skip
_DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The fewest workers between two minutes of the day; it may pass midnight."""

    from_minute: int
    until_minute: int
    workers: int

    def holds(self, minute: int) -> bool:
        if self.from_minute <= self.until_minute:
            return self.from_minute <= minute < self.until_minute
        return minute >= self.from_minute or minute < self.until_minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How one tier is scaled. The defaults go to zero and start again for a single job."""

    tier: str
    max_workers: int = 20
    floors: tuple[Floor, ...] = ()
    utc_offset_minutes: int = 0
    target_wait_ms: int = 30_000
    buffer_workers: int = 0
    """Kept above what the work needs, while there is work."""
    idle_ms: int = 60_000
    cold_start_ms: int = 20_000
    markets: tuple[Market, ...] = ("spot", "on_demand")
    """In order of preference."""
    crash_step_ms: int = 30_000
    crash_most_ms: int = 600_000
    worker_micros_per_hour: int = 0
    budget_micros_per_hour: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One worker as the scaler sees it. A worker that has not registered yet is `starting`, and counts."""

    id: str
    state: WorkerState
    since_ms: int
    """When it came into this state."""
    served: int = 0
    """Jobs that it has ended."""
    market: Market = "on_demand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A tier at one moment. Work is expected device milliseconds from measured runs."""

    at_ms: int
    queued_jobs: int = 0
    queued_ms: int = 0
    running_jobs: int = 0
    running_ms: int = 0
    workers: tuple[Worker, ...] = ()
    recent_crashes: int = 0
    """Workers that ended by themselves, one after another, since one last served a job."""
    last_crash_ms: int | None = None
    spot_refused_until_ms: int = 0
    tightest_slack_ms: int | None = None
    """Time left until the first deadline of the queue, its expected work subtracted."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to change, and why. `target` counts the workers that are to be there afterwards."""

    target: int
    start: tuple[tuple[Market, int], ...]
    stop: tuple[str, ...]
    why: Why


def decide(now: Snapshot, policy: Policy) -> Decision:
    """The next step of one tier. Workers that are starting count, so calling it twice starts nobody twice."""
    alive = [worker for worker in now.workers if worker.state != "draining"]
    floor, cap = _floor(now, policy), _cap(policy)
    needed = max(floor, _needed(now, policy))
    wanted = min(needed, cap)
    if needed and not cap and not alive:
        return Decision(0, (), (), "no_budget")
    if wanted > len(alive):
        return _grow(now, policy, len(alive), wanted, from_floor=len(alive) < floor)
    if len(alive) > cap:
        stop = _stoppable(now, policy, alive, len(alive) - cap, at_once=True)
        return Decision(len(alive) - len(stop), (), stop, "above_cap")
    stop = _stoppable(now, policy, alive, len(alive) - wanted, at_once=False)
    return Decision(len(alive) - len(stop), (), stop, "idle_timeout" if stop else "steady")


def crash_wait_ms(crashes: int, policy: Policy) -> int:
    """How long to wait after that many crashes in a row before another worker is started: not at all after one."""
    return min(max(0, crashes - 1) * policy.crash_step_ms, policy.crash_most_ms)


def _floor(now: Snapshot, policy: Policy) -> int:
    minute = (now.at_ms // 60_000 + policy.utc_offset_minutes) % _DAY_MINUTES
    return max((floor.workers for floor in policy.floors if floor.holds(minute)), default=0)


def _cap(policy: Policy) -> int:
    if policy.budget_micros_per_hour is None or not policy.worker_micros_per_hour:
        return policy.max_workers
    return min(policy.max_workers, policy.budget_micros_per_hour // policy.worker_micros_per_hour)


def _needed(now: Snapshot, policy: Policy) -> int:
    """Workers that end all known work within the target wait; never more than there are jobs to give them."""
    jobs = now.queued_jobs + now.running_jobs
    if not jobs:
        return 0
    by_work = -(-(now.queued_ms + now.running_ms) // policy.target_wait_ms)
    return min(max(by_work, 1), jobs) + policy.buffer_workers


def _grow(now: Snapshot, policy: Policy, have: int, wanted: int, *, from_floor: bool) -> Decision:
    crashed_ms = now.last_crash_ms
    if crashed_ms is not None and now.at_ms < crashed_ms + crash_wait_ms(now.recent_crashes, policy):
        return Decision(have, (), (), "workers_crashing")
    if not from_floor and have and (now.queued_ms + now.running_ms) // have <= policy.cold_start_ms:
        return Decision(have, (), (), "waiting_is_faster")
    market = _market(now, policy)
    if market is None:
        return Decision(have, (), (), "spot_refused")
    why: Why = "floor" if from_floor else "predicted_wait" if have else "no_worker"
    return Decision(wanted, ((market, wanted - have),), (), why)


def _market(now: Snapshot, policy: Policy) -> Market | None:
    """The first market that is open; a deadline that a preempted start would miss prefers one that is not spot."""
    refused = now.at_ms < now.spot_refused_until_ms
    tight = now.tightest_slack_ms is not None and now.tightest_slack_ms < 2 * policy.cold_start_ms
    open_now: list[Market] = [market for market in policy.markets if market != "spot" or not refused]
    steady: list[Market] = [market for market in open_now if market != "spot" or not tight]
    return next(iter(steady or open_now), None)


def _stoppable(now: Snapshot, policy: Policy, alive: list[Worker], most: int, *, at_once: bool) -> tuple[str, ...]:
    """Idle workers to stop, the longest idle first; one that has never served gets the time of its start on top."""

    def due(worker: Worker) -> bool:
        patience_ms = policy.idle_ms if worker.served else max(policy.idle_ms, policy.cold_start_ms)
        return worker.state == "idle" and (at_once or now.at_ms - worker.since_ms >= patience_ms)

    longest_idle = sorted((worker for worker in alive if due(worker)), key=lambda worker: (worker.since_ms, worker.id))
    return tuple(worker.id for worker in longest_idle[: max(0, most)])
