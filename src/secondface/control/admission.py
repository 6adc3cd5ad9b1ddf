"""Whether a job is accepted, at which price, and what is set aside for it.

Decides the limits of a plan, the quote, the hold, the second authorisation and the answer to a repeated request. What
the input is has been measured before (`Probed`); must not open files, and must not know HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from secondface.control.auth import Caller
from secondface.control.one_time_codes import OneTimeCodes
from secondface.control.prices import price_book
from secondface.control.settlement import Settlement
from secondface.domain import jobs
from secondface.domain.accounts import Plan
from secondface.domain.jobs import Change, Event, Fact, Job
from secondface.domain.ports import Doorbell, Ids, Transactions, UnitOfWork
from secondface.domain.pricing import Market, PriceRow, Quote, quote
from secondface.errors import CodesMissing, InvalidOption, LikenessUnconfirmed, MediaTooLarge, OutputFormatUnsupported


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What is known of the inputs before a job runs."""

    frames: int = 1
    pixels: int = 0
    faces: int = 1
    counted: bool = True
    """Whether it is known that there are no more faces: of `all` that are in a picture only its pixels can tell."""
    result: str = "png"
    """Format that the result will have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Measured speed of a pipeline on a tier, in microseconds per frame, and all that is not the run, in ms."""

    active_us: int
    wall_us: int = 0
    other_ms: int = 0
    margin_percent: int = 25
    measured: bool = True
    """Whether jobs of the kind were measured on the tier; else it is a guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One request for a job."""

    spec: str
    digest: str
    """Of the whole request: the same idempotency key with another digest is refused."""
    tier: str
    market: Market = "on_demand"
    family: str = "*"
    probed: Probed
    rate: Rate
    priority: int = 0
    deadline_ms: int | None = None
    max_cost_micros: int | None = None
    idempotency_key: str | None = None
    cache_key: str | None = None
    """Digest of inputs, plan and model versions; none: the result is not looked for."""
    uses_likeness: bool = False
    """Whether somebody's face is put onto others."""
    likeness_confirmed: bool = False
    said: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    """What the audit keeps of the request: digests of its inputs, what the caller confirmed. No content, no names."""
    one_time_code: str | None = None
    """A fresh code of the caller's key, in place of an approver."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job that was accepted now, or by the same request before."""

    job: Job
    replayed: bool = False


class Admission:
    """The door of the service."""

    def __init__(
        self, transactions: Transactions, settlement: Settlement, doorbell: Doorbell, ids: Ids,
        codes: OneTimeCodes | None = None,
    ) -> None:  # fmt: skip
        self._transactions, self._settlement, self._doorbell, self._ids = transactions, settlement, doorbell, ids
        self._codes = codes

    def quote(self, submission: Submission) -> Quote:
        """What the job would cost and how long it would take. Raises InvalidOption for an unknown tier."""
        with self._transactions.view() as work:
            return _offer(work, submission)

    def submit(self, caller: Caller, submission: Submission) -> Accepted:
        """Accept a job whole or not at all. Raises ScopeMissing, MediaTooLarge, InvalidOption,
        OutputFormatUnsupported, LikenessUnconfirmed, RequestChanged, BudgetExceeded, CodesMissing, CodeRefused,
        RateLimited."""
        caller.require("jobs:write")
        plan = caller.account.plan
        _within_plan(plan, submission.probed)
        if plan.likeness_required and submission.uses_likeness and not submission.likeness_confirmed:
            raise LikenessUnconfirmed
        authorised = self._authorised(caller, submission)
        job_id = self._ids.new("job")
        with self._transactions.begin() as work:
            work.accounts.lock(caller.account.id)  # admissions of one account go in turn: no wallet is spent twice
            if submission.idempotency_key is not None:
                known = work.replays.remember(
                    caller.account.id, submission.idempotency_key, submission.digest, job_id
                )  # fmt: skip
                if known is not None:
                    return Accepted(work.jobs.get(known), replayed=True)
            change = self._change(work, caller, submission, job_id, authorised)
            job = self._settlement.accept(work, change, caller.actor)
        if job.state == "queued":
            self._doorbell.ring(job.tier)  # after the commit: who hears it must find the job
        return Accepted(job)

    def refuse(self, caller: Caller, code: str, said: Mapping[str, Fact]) -> None:
        """Write down that a request with known inputs was turned away, and by which error."""
        with self._transactions.begin() as work:
            event = Event(caller.account.id, "job.refused", work.now_ms(), {**said, "error": code})
            work.journal.record(caller.account.id, caller.actor, [event])

    def _authorised(self, caller: Caller, submission: Submission) -> str | None:
        """How the second authorisation was given; None where it is to come. A code is spent only where one is wanted,
        and for this request: the same one again, whose answer was lost, need not wait for another code, and once it
        has its job, none is looked at."""
        threshold = caller.account.plan.approval_above_faces
        if threshold is None or (submission.probed.counted and submission.probed.faces <= threshold):
            return "not_needed"
        if submission.one_time_code is None:
            return None
        key = submission.idempotency_key
        if key is not None:
            with self._transactions.view() as work:
                if work.replays.known(caller.account.id, key, submission.digest) is not None:
                    return None
        if self._codes is None:
            raise CodesMissing
        self._codes.spend(caller, submission.one_time_code, f"submit {submission.digest} {key}" if key else "")
        return "one_time_code"

    def _change(
        self, work: UnitOfWork, caller: Caller, submission: Submission, job_id: str, authorised: str | None
    ) -> Change:  # fmt: skip
        offer = _offer(work, submission)
        wanted = submission.cache_key if authorised is not None else None  # nor is an earlier result handed out before
        cached = work.cache.get(wanted) if wanted is not None else None
        hold_micros = _hold(offer, submission.max_cost_micros)
        job = Job(
            id=job_id, account=caller.account.id, key_id=caller.key_id, tier=submission.tier,
            priority=submission.priority, spec=submission.spec, price=offer.price, currency=offer.currency,
            hold_micros=0 if cached else hold_micros, max_cost_micros=submission.max_cost_micros,
            expected_ms=max(1, offer.expected_active_ms), created_ms=work.now_ms(),
            deadline_ms=submission.deadline_ms, total_frames=submission.probed.frames,
            cache_key=submission.cache_key, likeness_confirmed=submission.likeness_confirmed,
        )  # fmt: skip
        facts: dict[str, Fact] = {**submission.said, "faces": submission.probed.faces}
        if authorised == "one_time_code":
            facts["authorised"] = authorised
        if cached is not None:
            return jobs.serve_cached(job, cached, facts=facts)
        return jobs.submit(job, approval=authorised is None, facts=facts)


def _within_plan(plan: Plan, probed: Probed) -> None:
    if probed.pixels > plan.max_pixels:
        raise MediaTooLarge(f"The plan allows {plan.max_pixels} pixels a picture.", pixels=probed.pixels)
    if probed.frames > plan.max_frames:
        raise MediaTooLarge(f"The plan allows {plan.max_frames} frames a video.", frames=probed.frames)
    if probed.faces > plan.max_faces:
        raise InvalidOption(f"The plan allows {plan.max_faces} faces.", faces=probed.faces)
    if plan.formats and probed.result not in plan.formats:
        raise OutputFormatUnsupported(f"The plan allows {', '.join(plan.formats)}.", output=probed.result)


def _offer(work: UnitOfWork, submission: Submission) -> Quote:
    book = price_book(work)
    at = datetime.fromtimestamp(work.now_ms() / 1000, UTC)
    price: PriceRow = book.price(submission.tier, submission.market, at, submission.family)
    rate = submission.rate
    return quote(
        submission.probed.frames, rate.active_us, price, book.currency, rate.margin_percent,
        wall_us_per_frame=rate.wall_us, other_ms=rate.other_ms,
    )  # fmt: skip


def _hold(offer: Quote, max_cost_micros: int | None) -> int:
    """What is set aside: the quote's upper bound, or the caller's own limit where that is lower."""
    if max_cost_micros is None:
        return offer.upper_micros
    least_micros = offer.price.charge_micros(1)
    if max_cost_micros < least_micros:
        raise InvalidOption(
            f"max_cost_micros is below the price of the shortest job, {least_micros} micros.", least_micros=least_micros
        )
    return min(offer.upper_micros, max_cost_micros)
