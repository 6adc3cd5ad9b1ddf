"""Values of the domain as rows, and back. Nothing is decided here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, Protocol

from secondface.domain.accounts import Account, Actor, Key, Plan
from secondface.domain.deliveries import Delivery, Endpoint
from secondface.domain.findings import Finding
from secondface.domain.jobs import Attempt, Event, Job, Segment
from secondface.domain.ports import Recorded
from secondface.domain.pricing import PriceBook, PriceRow, Usage
from secondface.domain.protected import Protected
from secondface.spec.marks import watermark_text_of_job


class Row(Protocol):
    """A row that was read, by the names of its columns."""

    def __getitem__(self, name: str, /) -> Any: ...


_USAGE = tuple(field.name for field in fields(Usage))
_PARTS = ("price", "attempts", "segments", "findings")
_JOB_PLAIN = tuple(field.name for field in fields(Job) if field.name not in _PARTS)


def job_row(job: Job) -> dict[str, Any]:
    """All columns of a job's own row."""
    current = job.current
    return {name: getattr(job, name) for name in _JOB_PLAIN} | {
        "price": json.dumps(price_row(job.price)),
        "findings": json.dumps([asdict(each) for each in job.findings], ensure_ascii=False) if job.findings else "[]",
        "watermark": watermark_text_of_job(job.id),
        "suspect": job.suspect,
        "last_attempt": job.attempts[-1].number if job.attempts else 0,
        "lease_until_ms": current.lease_until_ms if current else None,
    }


def job_of(row: Row, attempts: Iterable[Row], segments: Iterable[Row]) -> Job:
    return Job(
        **{name: row[name] for name in _JOB_PLAIN},
        price=price_of(json.loads(row["price"])),
        findings=tuple(Finding(**each) for each in json.loads(row["findings"])),
        attempts=tuple(attempt_of(attempt) for attempt in attempts),
        segments=tuple(segment_of(segment) for segment in segments),
    )


def attempt_row(job_id: str, attempt: Attempt) -> dict[str, Any]:
    plain = {field.name: getattr(attempt, field.name) for field in fields(attempt) if field.name != "usage"}
    return {"job_id": job_id, **plain, **{name: getattr(attempt.usage, name) for name in _USAGE}}


def attempt_of(row: Row) -> Attempt:
    plain = {field.name: row[field.name] for field in fields(Attempt) if field.name != "usage"}
    return Attempt(**plain, usage=Usage(**{name: row[name] for name in _USAGE}))


def segment_row(job_id: str, segment: Segment) -> dict[str, Any]:
    return {"job_id": job_id, **asdict(segment)}


def segment_of(row: Row) -> Segment:
    return Segment(**{field.name: row[field.name] for field in fields(Segment)})


def price_row(price: PriceRow) -> dict[str, Any]:
    """A price with its moments as ISO 8601 text."""
    return asdict(price) | {
        "valid_from": price.valid_from.isoformat() if price.valid_from else None,
        "valid_until": price.valid_until.isoformat() if price.valid_until else None,
    }


def price_of(row: Row) -> PriceRow:
    plain = {field.name: row[field.name] for field in fields(PriceRow) if not field.name.startswith("valid_")}
    return PriceRow(**plain, valid_from=_moment(row["valid_from"]), valid_until=_moment(row["valid_until"]))


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def book_of(rows: Iterable[Row]) -> PriceBook | None:
    found = list(rows)
    return PriceBook(found[0]["currency"], tuple(price_of(row) for row in found)) if found else None


def account_row(account: Account) -> dict[str, Any]:
    return asdict(account) | {"plan": json.dumps(asdict(account.plan))}


def account_of(row: Row) -> Account:
    plain = {field.name: row[field.name] for field in fields(Account) if field.name != "plan"}
    plan = json.loads(row["plan"])
    return Account(**plain, plan=Plan(**plan | {"formats": tuple(plan.get("formats", ()))}))


def key_row(key: Key) -> dict[str, Any]:
    return asdict(key) | {"scopes": " ".join(sorted(key.scopes))}


def key_of(row: Row) -> Key:
    plain = {field.name: row[field.name] for field in fields(Key) if field.name != "scopes"}
    return Key(**plain, scopes=frozenset(row["scopes"].split()))


def endpoint_row(endpoint: Endpoint) -> dict[str, Any]:
    return asdict(endpoint) | {"kinds": " ".join(endpoint.kinds)}


def endpoint_of(row: Row) -> Endpoint:
    plain = {field.name: row[field.name] for field in fields(Endpoint) if field.name != "kinds"}
    return Endpoint(**plain, kinds=tuple(row["kinds"].split()))


def delivery_of(row: Row) -> Delivery:
    return Delivery(**{field.name: row[field.name] for field in fields(Delivery)})


def protected_row(person: Protected) -> dict[str, Any]:
    return asdict(person) | {"descriptors": json.dumps(person.descriptors)}


def protected_of(row: Row) -> Protected:
    plain = {field.name: row[field.name] for field in fields(Protected) if field.name != "descriptors"}
    return Protected(**plain, descriptors=tuple(tuple(each) for each in json.loads(row["descriptors"])))


def event_row(account: str, actor: Actor, event: Event) -> dict[str, Any]:
    return {
        "account": account, "actor": actor.name, "address": actor.address,
        "subject": event.subject, "kind": event.kind, "at_ms": event.at_ms,
        "facts": json.dumps(dict(event.facts), sort_keys=True, ensure_ascii=False),
    }  # fmt: skip


def recorded_of(row: Row) -> Recorded:
    event = Event(row["subject"], row["kind"], row["at_ms"], json.loads(row["facts"]))
    return Recorded(
        number=row["number"], account=row["account"], actor=Actor(row["actor"], row["address"]), event=event,
        position=row["position"], digest=row["digest"],
    )  # fmt: skip
