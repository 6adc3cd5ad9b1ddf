"""Webhooks to be delivered: when the next try is due, and when to give up.

Decides the schedule (about 75 hours, with growing pauses) and what an answer means. Must not know HTTP or stores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

DeliveryState: TypeAlias = Literal["pending", "delivered", "given_up"]

PAUSES_S = (5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 43_200, 43_200, 43_200, 43_200)
"""Seconds before the second and each further try; together about 75 hours."""
GONE = 410
"""The receiver says that it wants nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where an account wants its events, and the secret that signs them."""

    id: str
    account: str
    url: str
    secret: str
    kinds: tuple[str, ...] = ()
    """Kinds of events; empty: all that end a job."""
    enabled: bool = True
    created_ms: int = 0

    def wants(self, kind: str) -> bool:
        return self.enabled and kind in (self.kinds or ENDINGS)


ENDINGS = ("job.succeeded", "job.failed", "job.cancelled", "job.expired")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event on its way to one endpoint. Its id stays the same over all tries: receivers tell repeats by it."""

    id: str
    endpoint: str
    account: str
    subject: str
    kind: str
    body: str
    state: DeliveryState = "pending"
    tries: int = 0
    due_ms: int
    status: int | None = None
    """HTTP status of the last answer; none where nobody answered."""
    note: str = ""


def answered(delivery: Delivery, status: int | None, at_ms: int, jitter_ms: int = 0, note: str = "") -> Delivery:
    """The delivery after one more try: done on any 2xx, given up on 410 or after the last pause, else due again."""
    tried = replace(delivery, tries=delivery.tries + 1, status=status, note=note)
    if status is not None and 200 <= status < 300:
        return replace(tried, state="delivered")
    if status == GONE or tried.tries > len(PAUSES_S):
        return replace(tried, state="given_up")
    return replace(tried, due_ms=at_ms + PAUSES_S[tried.tries - 1] * 1000 + jitter_ms)


def again(delivery: Delivery, at_ms: int) -> Delivery:
    """A replay that the account asked for: due now, with the whole schedule before it."""
    return replace(delivery, state="pending", tries=0, due_ms=at_ms)
