"""What a job is and how it may change: values, and one function per transition that returns the new value and events.

Decides which transitions are legal, who holds a job (a lease, fenced by the attempt's number) and when a job ends.
Must not know stores, clocks, money or machines: moments are arguments, in whole milliseconds of the database's clock.

    job:      awaiting_approval -> queued -> running -> succeeded | failed | cancelled | expired
              running -> held -> succeeded | failed | cancelled | expired
    attempt:  leased -> running -> succeeded | failed | lost | preempted | cancelled
    segment:  pending -> done
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from secondface.domain.findings import Finding, worst
from secondface.domain.pricing import PriceRow, Usage
from secondface.errors import InternalFault, JobSettled, LeaseLost

JobState: TypeAlias = Literal[
    "awaiting_approval", "queued", "running", "held", "succeeded", "failed", "cancelled", "expired"
]
AttemptState: TypeAlias = Literal["leased", "running", "succeeded", "failed", "lost", "preempted", "cancelled"]
StopReason: TypeAlias = Literal["cancelled", "deadline", "cost_limit"]
"""Why a running job is asked to stop; the first reason stays."""
Cause: TypeAlias = Literal[
    "done", "caller_error", "provider_error", "silent", "crashed", "preempted", "cancelled", "deadline", "cost_limit",
    "rejected", "cached", "unapproved",
]  # fmt: skip
"""Why an attempt or a job ended. `silent`: the lease ran out; `crashed`: its worker was seen to die;
`unapproved`: nobody approved it in time."""
Fact: TypeAlias = str | int | bool | None

LIVE_JOBS: frozenset[JobState] = frozenset({"awaiting_approval", "queued", "running", "held"})
LIVE_ATTEMPTS: frozenset[AttemptState] = frozenset({"leased", "running"})


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, mostly to a job (`subject` is its id); stored with the new state in one transaction."""

    subject: str
    kind: str
    at_ms: int
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to one attempt at one job. The attempt's number is the fencing token: it only rises."""

    job_id: str
    attempt: int
    worker: str
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at a job by one worker."""

    number: int
    worker: str
    state: AttemptState = "leased"
    leased_ms: int
    lease_until_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    cause: Cause | None = None
    error: str | None = None
    fault: Literal["caller", "provider"] | None = None
    usage: Usage = field(default_factory=Usage)
    """What was reported last; final once the attempt has ended."""

    @property
    def live(self) -> bool:
        return self.state in LIVE_ATTEMPTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One slice of a video. A done segment survives the attempt that made it."""

    index: int
    state: Literal["pending", "done"] = "pending"
    attempt: int | None = None
    active_ms: int = 0
    """Device-active ms that it took."""
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One accepted request, with all its attempts and segments."""

    id: str
    account: str
    key_id: str = ""
    tier: str
    priority: int = 0
    state: JobState = "queued"
    spec: str = "{}"
    """The request as JSON; this room does not read it."""
    cache_key: str | None = None
    """Under which the result is kept for equal requests; none: it is not."""
    price: PriceRow
    """Bound when the job was accepted: a later change of prices never touches it."""
    currency: str = "CNY"
    hold_micros: int = 0
    max_cost_micros: int | None = None
    expected_ms: int = 1
    """Device-active ms that the quote expects; the scheduler's measure of size."""
    turn: int = 0
    """Place in the fair order between accounts: smaller goes first."""
    created_ms: int
    queued_ms: int = 0
    not_before_ms: int = 0
    deadline_ms: int | None = None
    ended_ms: int | None = None
    stop_asked: StopReason | None = None
    cause: Cause | None = None
    error: str | None = None
    reason: str = ""
    """What a reviewer said."""
    result: str | None = None
    pending: str | None = None
    """A result that waits for a reviewer: nobody else gets it before."""
    findings: tuple[Finding, ...] = ()
    """What was found in its pictures, as the last attempt says."""
    likeness_confirmed: bool = False
    """The caller said that the sources' likenesses may be used."""
    done_frames: int = 0
    """Progress; it only rises, whatever order reports arrive in."""
    total_frames: int = 0
    attempts: tuple[Attempt, ...] = ()
    segments: tuple[Segment, ...] = ()

    @property
    def ended(self) -> bool:
        return self.state not in LIVE_JOBS

    @property
    def current(self) -> Attempt | None:
        """The attempt that runs now."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].live else None

    @property
    def suspect(self) -> bool:
        """Whether it was in a worker that crashed: it then runs alone, so that it ends nobody else's job."""
        return any(attempt.cause == "crashed" for attempt in self.attempts)


Change: TypeAlias = tuple[Job, tuple[Event, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a job may fail without its caller's fault, and how long it waits before the next try."""

    lost: int = 10
    """Attempts that ended because a worker went silent or was preempted."""
    provider_errors: int = 3
    crashes: int = 2
    backoff_ms: int = 2_000
    backoff_most_ms: int = 60_000


# ---- before a worker has it ------------------------------------------------------------------------------------------


def submit(job: Job, *, approval: bool = False, facts: Mapping[str, Fact] | None = None) -> Change:
    """Accept a new job: into the queue, or first before an approver. `facts` are written down of the request."""
    if job.attempts or job.ended:
        raise InternalFault("only a new job can be submitted", job=job.id)
    accepted = replace(job, state="awaiting_approval" if approval else "queued", queued_ms=job.created_ms)
    said: dict[str, Fact] = {"state": accepted.state, **(facts or {})}
    if job.likeness_confirmed:
        said["likeness_confirmed"] = True
    return accepted, (_event(accepted, "job.accepted", job.created_ms, **said),)


def serve_cached(job: Job, result: str, *, facts: Mapping[str, Fact] | None = None) -> Change:
    """Accept a new job and end it at once: its result is there already. No attempt, no usage, no charge."""
    accepted, events = submit(job, facts=facts)
    ended, more = _end(accepted, "succeeded", job.created_ms, "cached", result=result)
    return ended, (*events, *more)


def approve(job: Job, by: str, at_ms: int, how: Literal["approver", "one_time_code"] = "approver") -> Change:
    """Let a job into the queue. Raises JobSettled where it awaits nobody."""
    _expect(job, "awaiting_approval")
    queued = replace(job, state="queued", queued_ms=at_ms)
    return queued, (_event(queued, "job.approved", at_ms, by=by, how=how),)


def reject(job: Job, by: str, at_ms: int, why: str | None = None) -> Change:
    """Refuse a job that awaits approval; it ends cancelled and costs nothing."""
    _expect(job, "awaiting_approval")
    return _end(job, "cancelled", at_ms, "rejected", by=by, facts={"why": why} if why else None)


def lapse(job: Job, at_ms: int, wait_ms: int) -> Change:
    """End a job for whose approval everybody had so long and nobody came."""
    if job.state != "awaiting_approval" or at_ms < job.created_ms + wait_ms:
        return job, ()
    return _end(job, "expired", at_ms, "unapproved", error="approval_expired")


def cancel(job: Job, at_ms: int, by: str = "caller") -> Change:
    """Cancel what waits at once; ask what runs to stop. A second cancel, or a late one, changes nothing."""
    if job.ended:
        return job, ()
    if job.state != "running":
        return _end(job, "cancelled", at_ms, "cancelled", by=by)
    return _ask_to_stop(job, "cancelled", at_ms, by)


def expire(job: Job, at_ms: int) -> Change:
    """End a job whose deadline has passed, or ask it to stop where it runs."""
    if job.ended or job.deadline_ms is None or at_ms < job.deadline_ms:
        return job, ()
    if job.state != "running":
        return _end(job, "expired", at_ms, "deadline", error="job_expired")
    return _ask_to_stop(job, "deadline", at_ms, "clock")


def limit_cost(job: Job, at_ms: int) -> Change:
    """Ask a running job to stop, because the next seconds would cost more than its limit."""
    return _ask_to_stop(job, "cost_limit", at_ms, "meter") if job.state == "running" else (job, ())


# ---- in the hands of a worker ----------------------------------------------------------------------------------------


def claim(job: Job, worker: str, at_ms: int, lease_ms: int) -> Change:
    """Give a queued job to a worker. The new attempt's number is the fencing token."""
    _expect(job, "queued")
    number = job.attempts[-1].number + 1 if job.attempts else 1
    attempt = Attempt(number=number, worker=worker, leased_ms=at_ms, lease_until_ms=at_ms + lease_ms)
    running = replace(job, state="running", attempts=(*job.attempts, attempt))
    return running, (_event(running, "attempt.leased", at_ms, attempt=number, worker=worker),)


def lease_of(job: Job) -> Lease:
    """The lease of the attempt that runs. Raises LeaseLost where none does."""
    attempt = job.current
    if attempt is None:
        raise LeaseLost(job=job.id)
    return Lease(job.id, attempt.number, attempt.worker, attempt.lease_until_ms)


def start(job: Job, lease: Lease, at_ms: int) -> Change:
    """The worker begins; saying so twice changes nothing. Raises LeaseLost."""
    attempt = _held(job, lease)
    if attempt.state == "running":
        return job, ()
    started = _with(job, replace(attempt, state="running", started_ms=at_ms))
    return started, (_event(started, "attempt.running", at_ms, attempt=attempt.number),)


def beat(job: Job, lease: Lease, at_ms: int, lease_ms: int, usage: Usage, *, done: int = 0, total: int = 0) -> Change:
    """Extend the lease and take a report of progress in frames; a late report takes nothing back. Raises LeaseLost."""
    attempt = _held(job, lease)
    until_ms = max(attempt.lease_until_ms, at_ms + lease_ms)
    later = _with(job, replace(attempt, lease_until_ms=until_ms, usage=_later(attempt.usage, usage)))
    moved = replace(later, done_frames=max(job.done_frames, done), total_frames=max(job.total_frames, total))
    if moved.done_frames == job.done_frames:
        return moved, ()
    return moved, (_event(moved, "job.progress", at_ms, done=moved.done_frames, total=moved.total_frames),)


def cut(job: Job, lease: Lease, count: int) -> Change:
    """Divide the job into segments; a later attempt finds those that are there. Raises LeaseLost."""
    _held(job, lease)
    if job.segments:
        return job, ()
    return replace(job, segments=tuple(Segment(index=index) for index in range(count))), ()


def finish_segment(
    job: Job, lease: Lease, at_ms: int, usage: Usage, *, index: int, active_ms: int, result: str
) -> Change:
    """Keep a finished segment; one that is done already stays as it is. Raises LeaseLost, InternalFault."""
    attempt = _held(job, lease)
    if not 0 <= index < len(job.segments):
        raise InternalFault(f"segment {index} of {len(job.segments)}", job=job.id)
    if job.segments[index].state == "done":
        return job, ()
    done = Segment(index=index, state="done", attempt=attempt.number, active_ms=active_ms, result=result)
    segments = (*job.segments[:index], done, *job.segments[index + 1 :])
    latest = _later(attempt.usage, usage)
    if latest.device_active_ms < sum(s.active_ms for s in segments if s.attempt == attempt.number):
        raise InternalFault("segments took more device time than their attempt", job=job.id)
    kept = replace(_with(job, replace(attempt, usage=latest)), segments=segments)
    return kept, (_event(kept, "segment.done", at_ms, attempt=attempt.number, index=index),)


# ---- how an attempt ends ---------------------------------------------------------------------------------------------


def succeed(
    job: Job, lease: Lease, at_ms: int, usage: Usage, result: str, *, facts: Mapping[str, Fact] | None = None
) -> Change:
    """Store the result, even of a job that was asked to stop in the meantime. Raises LeaseLost."""
    attempt = _held(job, lease)
    over = _over(job, attempt, "succeeded", at_ms, "done", usage=usage)
    over = replace(over, done_frames=max(over.done_frames, usage.frames))  # the last word of progress came before
    ended, events = _end(over, "succeeded", at_ms, "done", result=result, facts=facts)
    return ended, (_attempt_event(ended, at_ms), *events)


def fail(
    job: Job, lease: Lease, at_ms: int, usage: Usage, error: str, fault: Literal["caller", "provider"],
    *, retryable: bool = False, retries: Retries = Retries(),
) -> Change:  # fmt: skip
    """End an attempt by an error: the caller's ends the job, ours may be tried again later. Raises LeaseLost."""
    attempt = _held(job, lease)
    cause: Cause = "caller_error" if fault == "caller" else "provider_error"
    over = _over(job, attempt, "failed", at_ms, cause, usage=usage, error=error, fault=fault)
    failures = sum(each.cause == "provider_error" for each in over.attempts)
    if fault == "provider" and retryable and failures < retries.provider_errors:
        wait_ms = min(retries.backoff_ms * 2 ** (failures - 1), retries.backoff_most_ms)
        return _again(over, at_ms, wait_ms)
    ended, events = _end(over, "failed", at_ms, cause, error=error)
    return ended, (_attempt_event(ended, at_ms), *events)


def found(job: Job, findings: tuple[Finding, ...]) -> Job:
    """The job with what this attempt found in its pictures, in place of what an earlier one did."""
    return replace(job, findings=findings)


def hold(
    job: Job, lease: Lease, at_ms: int, usage: Usage, result: str, findings: tuple[Finding, ...],
    *, facts: Mapping[str, Fact] | None = None,
) -> Change:  # fmt: skip
    """Keep a finished result back for a reviewer. What was asked to stop needs none. Raises LeaseLost."""
    attempt = _held(job, lease)
    over = _over(job, attempt, "succeeded", at_ms, "done", usage=usage)
    over = replace(over, done_frames=max(over.done_frames, usage.frames), findings=findings)
    if job.stop_asked is not None:
        ended, events = _end_as_asked(over, at_ms)
        return ended, (_attempt_event(ended, at_ms), *events)
    held = replace(over, state="held", pending=result)
    return held, (_attempt_event(held, at_ms), _event(held, "job.held", at_ms, **_said(findings), **(facts or {})))


def release(job: Job, by: str, reason: str, at_ms: int) -> Change:
    """Hand out what a reviewer has looked at. Raises JobSettled where nothing waits for one."""
    _expect(job, "held")
    looked = replace(job, reason=reason, pending=None)
    ended, events = _end(looked, "succeeded", at_ms, "done", result=job.pending)
    return ended, (_event(ended, "job.reviewed", at_ms, verdict="approve", by=by, reason=reason), *events)


def refuse(job: Job, by: str, reason: str, at_ms: int) -> Change:
    """Keep a result back for good; the caller pays, as for every fault of the input. Raises JobSettled."""
    _expect(job, "held")
    looked = replace(job, reason=reason, pending=None)
    ended, events = _end(looked, "failed", at_ms, "caller_error", error="review_refused")
    return ended, (_event(ended, "job.reviewed", at_ms, verdict="refuse", by=by, reason=reason), *events)


def lose(
    job: Job, number: int, at_ms: int, cause: Literal["silent", "crashed"], retries: Retries = Retries()
) -> Change:
    """Take a job from a worker that went silent or died. Raises LeaseLost where that attempt does not run."""
    attempt = job.current
    if attempt is None or attempt.number != number:
        raise LeaseLost(job=job.id, attempt=number)
    return _lost(_over(job, attempt, "lost", at_ms, cause, fault="provider"), at_ms, cause, retries)


def crash(job: Job, lease: Lease, at_ms: int, usage: Usage, retries: Retries = Retries()) -> Change:
    """The process of an attempt died, and its worker lives to say so. Raises LeaseLost."""
    attempt = _held(job, lease)
    over = _over(job, attempt, "lost", at_ms, "crashed", usage=usage, fault="provider")
    return _lost(over, at_ms, "crashed", retries)


def _lost(over: Job, at_ms: int, cause: Literal["silent", "crashed"], retries: Retries) -> Change:
    if cause == "crashed" and sum(each.cause == "crashed" for each in over.attempts) >= retries.crashes:
        ended, events = _end(over, "failed", at_ms, "crashed", error="input_poisonous")
        return ended, (_attempt_event(ended, at_ms), *events)
    return _again_unless_spent(over, at_ms, retries)


def preempt(job: Job, lease: Lease, at_ms: int, usage: Usage, retries: Retries = Retries()) -> Change:
    """The machine is taken away and the worker says so in time: the job goes on elsewhere. Raises LeaseLost."""
    attempt = _held(job, lease)
    over = _over(job, attempt, "preempted", at_ms, "preempted", usage=usage, fault="provider")
    return _again_unless_spent(over, at_ms, retries)


def stop(job: Job, lease: Lease, at_ms: int, usage: Usage) -> Change:
    """The worker has stopped as it was asked to. Raises LeaseLost; InternalFault where nobody asked."""
    attempt = _held(job, lease)
    if job.stop_asked is None:
        raise InternalFault("a worker stopped unasked", job=job.id)
    over = _over(job, attempt, "cancelled", at_ms, job.stop_asked, usage=usage)
    ended, events = _end_as_asked(over, at_ms)
    return ended, (_attempt_event(ended, at_ms), *events)


# ---- parts of transitions --------------------------------------------------------------------------------------------


def _expect(job: Job, state: JobState) -> None:
    if job.state != state:
        raise JobSettled(f"It is {job.state}, not {state}.", job=job.id, state=job.state)


def _held(job: Job, lease: Lease) -> Attempt:
    attempt = job.current
    if attempt is None or (attempt.number, attempt.worker) != (lease.attempt, lease.worker) or job.id != lease.job_id:
        raise LeaseLost(job=lease.job_id, attempt=lease.attempt, worker=lease.worker)
    return attempt


def _with(job: Job, attempt: Attempt) -> Job:
    return replace(job, attempts=(*job.attempts[:-1], attempt))


def _later(known: Usage, reported: Usage) -> Usage:
    """Of two reports of one attempt the later one; wall time tells, because reports may arrive in any order."""
    return reported if reported.wall_ms >= known.wall_ms else known


def _over(
    job: Job, attempt: Attempt, state: AttemptState, at_ms: int, cause: Cause, *,
    usage: Usage | None = None, error: str | None = None, fault: Literal["caller", "provider"] | None = None,
) -> Job:  # fmt: skip
    final = attempt.usage if usage is None else _later(attempt.usage, usage)
    return _with(job, replace(attempt, state=state, ended_ms=at_ms, cause=cause, usage=final, error=error, fault=fault))


def _ask_to_stop(job: Job, reason: StopReason, at_ms: int, by: str) -> Change:
    if job.stop_asked is not None:
        return job, ()
    asked = replace(job, stop_asked=reason)
    return asked, (_event(asked, "job.stopping", at_ms, reason=reason, by=by),)


def _end_as_asked(job: Job, at_ms: int) -> Change:
    match job.stop_asked:
        case "deadline":
            return _end(job, "expired", at_ms, "deadline", error="job_expired")
        case "cost_limit":
            return _end(job, "failed", at_ms, "cost_limit", error="cost_limit_reached")
        case _:
            return _end(job, "cancelled", at_ms, "cancelled")


def _again_unless_spent(job: Job, at_ms: int, retries: Retries) -> Change:
    if sum(each.cause in ("silent", "preempted", "crashed") for each in job.attempts) >= retries.lost:
        ended, events = _end(job, "failed", at_ms, job.attempts[-1].cause or "silent", error="worker_lost")
        return ended, (_attempt_event(ended, at_ms), *events)
    return _again(job, at_ms, 0)


def _again(job: Job, at_ms: int, wait_ms: int) -> Change:
    """Back into the queue, or to the end that somebody asked for while the attempt was still running."""
    if job.stop_asked is not None:
        ended, events = _end_as_asked(job, at_ms)
        return ended, (_attempt_event(ended, at_ms), *events)
    queued = replace(job, state="queued", queued_ms=at_ms, not_before_ms=at_ms + wait_ms)
    cause = job.attempts[-1].cause
    return queued, (
        _attempt_event(queued, at_ms), _event(queued, "job.queued", at_ms, cause=cause, wait_ms=wait_ms),
    )  # fmt: skip


def _end(
    job: Job, state: JobState, at_ms: int, cause: Cause, *,
    error: str | None = None, result: str | None = None, by: str | None = None,
    facts: Mapping[str, Fact] | None = None,
) -> Change:  # fmt: skip
    ended = replace(job, state=state, ended_ms=at_ms, cause=cause, error=error, result=result, pending=None)
    said: dict[str, Fact] = {"cause": cause, "error": error, "by": by, **(facts or {})}
    if state == "failed":
        said |= _said(job.findings)
    return ended, (_event(ended, f"job.{state}", at_ms, **{k: v for k, v in said.items() if v is not None}),)


def _said(findings: tuple[Finding, ...]) -> dict[str, Fact]:
    """The worst of what was found, as facts of an event."""
    found = worst(findings)
    if found is None:
        return {}
    return {
        "rule": found.rule, "input": found.input, "frame": found.frame, "shown_ms": found.at_ms,
        "score_permille": found.score_permille, "findings": len(findings),
    }  # fmt: skip


def _attempt_event(job: Job, at_ms: int) -> Event:
    attempt = job.attempts[-1]
    facts: dict[str, Fact] = {"attempt": attempt.number, "worker": attempt.worker, "cause": attempt.cause}
    if attempt.error is not None:
        facts["error"] = attempt.error
    return _event(job, f"attempt.{attempt.state}", at_ms, **facts)


def _event(job: Job, kind: str, at_ms: int, /, **facts: Fact) -> Event:
    return Event(job.id, kind, at_ms, facts)
