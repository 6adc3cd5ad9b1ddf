"""Events for receivers: which deliveries an event makes, and how one is signed (Standard Webhooks).

Must not know HTTP clients: the sender takes deliveries from the outbox and asks here for the headers.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable

from secondface.domain.deliveries import Delivery
from secondface.domain.jobs import Event, Job
from secondface.domain.ports import Ids, UnitOfWork
from secondface.spec.signing import MARK, key_of, signed_headers


def enqueue(work: UnitOfWork, ids: Ids, job: Job, events: Iterable[Event]) -> None:
    """Put what happened into the outbox, for each endpoint that wants it, in the transaction in which it happened."""
    endpoints = work.outbox.endpoints(job.account)
    for event in events:
        for endpoint in endpoints:
            if endpoint.wants(event.kind):
                work.outbox.put(
                    Delivery(
                        id=ids.new("msg"), endpoint=endpoint.id, account=job.account, subject=job.id,
                        kind=event.kind, body=_body(job, event), due_ms=event.at_ms,
                    )
                )  # fmt: skip


def new_secret(ids: Ids) -> str:
    """A secret as receivers write it down: `whsec_` and base64."""
    return MARK + base64.b64encode(hashlib.sha256(ids.secret().encode()).digest()).decode()


def headers(delivery: Delivery, secret: str, now_s: int) -> dict[str, str]:
    """The three headers of a delivery at a moment. Its id stays the same over all tries."""
    return dict(signed_headers(key_of(secret), delivery.id, now_s, delivery.body.encode()))


def _body(job: Job, event: Event) -> str:
    data = {
        "id": job.id, "state": job.state, "cause": job.cause, "error": job.error,
        "done_frames": job.done_frames, "total_frames": job.total_frames,
    }  # fmt: skip
    said = {"type": event.kind, "timestamp_ms": event.at_ms, "data": data | {"facts": dict(event.facts)}}
    return json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
