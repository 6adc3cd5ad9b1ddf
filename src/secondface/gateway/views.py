"""From what the domain holds to what the API shows."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import PurePosixPath

from secondface.control.accounts import Standing
from secondface.control.retention import result_is_deleted
from secondface.control.waiting import why_waiting
from secondface.domain.accounts import Account, Key, Plan
from secondface.domain.billing import bill
from secondface.domain.deliveries import Delivery, Endpoint
from secondface.domain.jobs import Job
from secondface.domain.ledger import Entry
from secondface.domain.ports import Recorded, UnitOfWork
from secondface.domain.pricing import PriceRow, Quote, Receipt
from secondface.domain.protected import Protected
from secondface.gateway.service import Service
from secondface.spec.service import PlanFields
from secondface.spec.trust_views import ProtectedView, ReviewView
from secondface.spec.views import (
    AccountView,
    BudgetView,
    DeliveryView,
    EventView,
    FindingView,
    JobView,
    KeyView,
    LedgerEntryView,
    PriceView,
    QuoteView,
    ReceiptLineView,
    ReceiptView,
    SpendView,
    WaitingWord,
    WebhookView,
)
from secondface.spec.work import InputFacts


def job_view(service: Service, job: Job, work: UnitOfWork | None = None) -> JobView:
    """A job, with the reason why it waits."""
    root = f"/v1/jobs/{job.id}"
    links = {"self": root, "events": f"{root}/events", "receipt": f"{root}/receipt"}
    deleted = _is_deleted(service, job, work)
    if job.result is not None and not deleted:
        links["result"] = f"{root}/result"
    return JobView(
        id=job.id, state=job.state, tier=job.tier, priority=job.priority, created_ms=job.created_ms,
        ended_ms=job.ended_ms, waiting=_waiting(service, job, work), done_frames=job.done_frames,
        total_frames=job.total_frames, attempts=len(job.attempts), cause=job.cause, error=job.error,
        findings=tuple(FindingView(**asdict(each)) for each in job.findings), reason=job.reason,
        likeness_confirmed=job.likeness_confirmed,
        currency=job.currency, price_micros=job.price.price_micros, hold_micros=job.hold_micros,
        max_cost_micros=job.max_cost_micros, cost_micros=bill(job).total_micros, deadline_ms=job.deadline_ms,
        expected_active_ms=job.expected_ms, links=links, data_deleted=deleted,
        approve_by_ms=service.waiting_room.until_ms(job) if job.state == "awaiting_approval" else None,
    )  # fmt: skip


def _is_deleted(service: Service, job: Job, work: UnitOfWork | None) -> bool:
    """Whether its result is gone, or going."""
    if job.result is None:
        return False
    if work is None:
        with service.transactions.view() as fresh:
            return _is_deleted(service, job, fresh)
    return result_is_deleted(work, job)


def _waiting(service: Service, job: Job, work: UnitOfWork | None) -> WaitingWord | None:
    if job.state not in ("queued", "awaiting_approval", "held"):
        return None
    workers = len(service.fleet.workers(job.tier)) if service.fleet is not None else 1
    decision = service.decisions().get(job.tier)
    if work is not None:
        return why_waiting(work, job, decision, workers)
    with service.transactions.view() as fresh:
        return why_waiting(fresh, job, decision, workers)


def event_view(recorded: Recorded) -> EventView:
    event = recorded.event
    return EventView(number=recorded.number, kind=event.kind, at_ms=event.at_ms, facts=dict(event.facts))


def receipt_view(job: Job, receipt: Receipt) -> ReceiptView:
    lines = tuple(
        ReceiptLineView(
            attempt=line.attempt, item=line.item, length_ms=line.length_ms, charged_ms=line.charged_ms,
            reason=line.reason,
        )
        for line in receipt.lines
    )  # fmt: skip
    return ReceiptView(
        job=job.id, final=job.ended, currency=receipt.currency, price_micros=receipt.price.price_micros, lines=lines,
        charged_ms=receipt.charged_ms, charged_s=receipt.charged_s, total_micros=receipt.total_micros,
        waived_micros=receipt.waived_micros,
    )  # fmt: skip


def quote_view(quote: Quote, facts: InputFacts, frames: int, *, measured: bool) -> QuoteView:
    return QuoteView(
        tier=quote.price.tier, market=quote.price.market, currency=quote.currency,
        price_micros=quote.price.price_micros, expected_s=quote.expected_s, expected_micros=quote.expected_micros,
        upper_s=quote.upper_s, upper_micros=quote.upper_micros, expected_wall_ms=quote.expected_wall_ms,
        frames=frames, width=facts.width, height=facts.height, measured=measured,
    )  # fmt: skip


def entry_view(entry: Entry) -> LedgerEntryView:
    postings = {each.account.partition(":")[0]: each.micros for each in entry.postings}
    return LedgerEntryView(
        number=entry.number or 0, kind=entry.kind, subject=entry.subject, at_ms=entry.at_ms, currency=entry.currency,
        postings=postings,
    )  # fmt: skip


def price_view(row: PriceRow) -> PriceView:
    return PriceView(
        tier=row.tier, market=row.market, family=row.family, price_micros=row.price_micros, minimum_s=row.minimum_s,
        step_s=row.step_s, valid_from_ms=_ms(row.valid_from), valid_until_ms=_ms(row.valid_until),
    )  # fmt: skip


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def account_view(standing: Standing) -> AccountView:
    account = standing.account
    return AccountView(
        id=account.id, name=account.name, suspended=account.suspended, created_ms=account.created_ms,
        credit_micros=account.credit_micros, currency=standing.currency, balance_micros=standing.balance_micros,
        held_micros=standing.held_micros, plan=plan_fields(account),
        spends=tuple(
            SpendView(period=each.period, reserved_micros=each.reserved_micros, spent_micros=each.spent_micros)
            for each in standing.spends
        ),
        budgets=tuple(
            BudgetView(scope=each.scope, span=each.span, limit_micros=each.limit_micros) for each in standing.budgets
        ),
    )  # fmt: skip


def plan_fields(account: Account) -> PlanFields:
    return PlanFields(**asdict(account.plan))


def plan_of(fields: PlanFields) -> Plan:
    """The other way: a plan as an operator wrote it."""
    return Plan(**fields.model_dump())


def key_view(key: Key) -> KeyView:
    return KeyView(
        id=key.id, account=key.account, name=key.name, scopes=tuple(sorted(key.scopes)), created_ms=key.created_ms,
        expires_ms=key.expires_ms, revoked_ms=key.revoked_ms, person=key.person,
    )  # fmt: skip


def review_view(service: Service, job: Job, work: UnitOfWork | None = None) -> ReviewView:
    return ReviewView(account=job.account, job=job_view(service, job, work))


def protected_view(person: Protected) -> ProtectedView:
    """An entry of the list, without its numbers: nobody needs them but workers."""
    return ProtectedView(
        id=person.id, note=person.note, faces=len(person.descriptors), created_ms=person.created_ms,
        changed_ms=person.changed_ms,
    )  # fmt: skip


def webhook_view(endpoint: Endpoint) -> WebhookView:
    return WebhookView(
        id=endpoint.id, url=endpoint.url, kinds=endpoint.kinds, enabled=endpoint.enabled,
        created_ms=endpoint.created_ms,
    )  # fmt: skip


def delivery_view(delivery: Delivery) -> DeliveryView:
    return DeliveryView(
        id=delivery.id, webhook=delivery.endpoint, job=delivery.subject, kind=delivery.kind, state=delivery.state,
        tries=delivery.tries, due_ms=delivery.due_ms, status=delivery.status, note=delivery.note,
    )  # fmt: skip


def result_name(job: Job) -> str:
    """What a browser calls the result of a job."""
    return f"{job.id}{PurePosixPath(job.result or job.pending or '').suffix}"
