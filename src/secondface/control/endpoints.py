"""Where an account wants its events sent, and what became of them. Sending is the gateway's, signing is `webhooks`'."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from secondface.control import webhooks
from secondface.control.auth import Caller
from secondface.domain.deliveries import GONE, PAUSES_S, Delivery, Endpoint, again, answered
from secondface.domain.jobs import Event
from secondface.domain.ports import Ids, Transactions, UnitOfWork
from secondface.errors import EndpointMissing

_LEASE_MS = 60_000
_JITTER_PERCENT = 20


class Endpoints:
    """Webhooks of accounts. Raises ScopeMissing, EndpointMissing."""

    def __init__(self, transactions: Transactions, ids: Ids) -> None:
        self._transactions, self._ids = transactions, ids

    def add(self, caller: Caller, url: str, kinds: tuple[str, ...]) -> Endpoint:
        """A new endpoint with a secret of its own; the caller has checked that the address may be reached."""
        caller.require("jobs:write")
        with self._transactions.begin() as work:
            endpoint = Endpoint(
                id=self._ids.new("hook"), account=caller.account.id, url=url, kinds=kinds,
                secret=webhooks.new_secret(self._ids), created_ms=work.now_ms(),
            )  # fmt: skip
            _save(work, endpoint, "webhook.added", f"key:{caller.key_id}")
        return endpoint

    def page(self, caller: Caller) -> Sequence[Endpoint]:
        caller.require("jobs:read")
        with self._transactions.view() as work:
            return work.outbox.endpoints(caller.account.id)

    def disable(self, caller: Caller, endpoint_id: str) -> Endpoint:
        """Send nothing more there; deliveries that are on their way are given up at their next turn."""
        caller.require("jobs:write")
        with self._transactions.begin() as work:
            endpoint = _found(work, caller.account.id, endpoint_id)
            if endpoint.enabled:
                endpoint = replace(endpoint, enabled=False)
                _save(work, endpoint, "webhook.disabled", f"key:{caller.key_id}")
        return endpoint

    def deliveries(self, caller: Caller, after: str | None = None, limit: int = 50) -> Sequence[Delivery]:
        """The account's deliveries, newest first."""
        caller.require("jobs:read")
        with self._transactions.view() as work:
            return work.outbox.page(caller.account.id, after, min(limit, 200))

    def replay(self, caller: Caller, delivery_id: str) -> Delivery:
        """Send one again, now, under its old id."""
        caller.require("jobs:write")
        with self._transactions.begin() as work:
            delivery = work.outbox.find(delivery_id)
            if delivery is None or delivery.account != caller.account.id:
                raise EndpointMissing("There is no such delivery.", delivery=delivery_id)
            fresh = again(delivery, work.now_ms())
            work.outbox.put(fresh)
        return fresh

    # ---- for the sender ----------------------------------------------------------------------------------------------

    def take(self, limit: int) -> Sequence[tuple[Delivery, Endpoint]]:
        """Deliveries to send now; those whose endpoint is disabled or gone are given up here."""
        due: list[tuple[Delivery, Endpoint]] = []
        with self._transactions.begin() as work:
            for delivery in work.outbox.due(limit, _LEASE_MS):
                endpoint = _find(work, delivery.account, delivery.endpoint)
                if endpoint is not None and endpoint.enabled:
                    due.append((delivery, endpoint))
                else:
                    work.outbox.put(replace(delivery, state="given_up", note="The endpoint is disabled."))
        return due

    def note(self, delivery: Delivery, status: int | None, note: str = "") -> Delivery:
        """Write down what a try brought; an endpoint that answers 410 gets nothing more."""
        pause_ms = PAUSES_S[min(delivery.tries, len(PAUSES_S) - 1)] * 1000
        jitter_ms = random.randrange(pause_ms * _JITTER_PERCENT // 100 + 1)  # noqa: S311 - it spreads load, no secret
        with self._transactions.begin() as work:
            after = answered(delivery, status, work.now_ms(), jitter_ms, note)
            work.outbox.put(after)
            endpoint = _find(work, delivery.account, delivery.endpoint)
            if status == GONE and endpoint is not None and endpoint.enabled:
                _save(work, replace(endpoint, enabled=False), "webhook.gone", "sender")
        return after


def _find(work: UnitOfWork, account: str, endpoint_id: str) -> Endpoint | None:
    return next((each for each in work.outbox.endpoints(account) if each.id == endpoint_id), None)


def _found(work: UnitOfWork, account: str, endpoint_id: str) -> Endpoint:
    endpoint = _find(work, account, endpoint_id)
    if endpoint is None:
        raise EndpointMissing(endpoint=endpoint_id)
    return endpoint


def _save(work: UnitOfWork, endpoint: Endpoint, kind: str, actor: str) -> None:
    work.outbox.save_endpoint(endpoint)
    event = Event(endpoint.id, kind, work.now_ms(), {"url": endpoint.url})
    work.journal.record(endpoint.account, actor, [event])
