"""What an account's people do with webhooks: subscribe, look at deliveries, ask for one again.

Decides what a URL may look like. Whether it leads to a private place is judged when it is called, on the address that
the name then has: a check here would be one of yesterday.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from secondface.control.auth import Caller
from secondface.control.webhooks import new_secret
from secondface.domain import deliveries
from secondface.domain.deliveries import Delivery, Endpoint
from secondface.domain.jobs import Event
from secondface.domain.ports import Ids, Transactions, UnitOfWork
from secondface.errors import InvalidOption, ObjectMissing

_LONGEST_URL = 2_000
_MOST_ENDPOINTS = 20


class Subscriptions:
    """Endpoints and deliveries of an account. All need the scope jobs:write, looking needs jobs:read."""

    def __init__(self, transactions: Transactions, ids: Ids, *, plain_http: bool = False) -> None:
        self._transactions, self._ids, self._plain_http = transactions, ids, plain_http

    def subscribe(self, caller: Caller, url: str, kinds: Sequence[str] = ()) -> Endpoint:
        """A new endpoint with its secret. Raises InvalidOption for a URL that we would not call."""
        caller.require("jobs:write")
        self._check(url)
        with self._transactions.begin() as work:
            work.accounts.lock(caller.account.id)
            if len(work.outbox.endpoints(caller.account.id)) >= _MOST_ENDPOINTS:
                raise InvalidOption(f"An account has at most {_MOST_ENDPOINTS} webhooks.")
            endpoint = Endpoint(
                id=self._ids.new("ep"), account=caller.account.id, url=url, secret=new_secret(self._ids),
                kinds=tuple(kinds), created_ms=work.now_ms(),
            )  # fmt: skip
            work.outbox.save_endpoint(endpoint)
            _tell(work, caller, endpoint, "webhook.created")
        return endpoint

    def endpoints(self, caller: Caller) -> Sequence[Endpoint]:
        caller.require("jobs:read")
        with self._transactions.view() as work:
            return work.outbox.endpoints(caller.account.id)

    def set_enabled(self, caller: Caller, endpoint_id: str, *, enabled: bool) -> Endpoint:
        """Switch an endpoint off or on again. Raises ObjectMissing."""
        caller.require("jobs:write")
        with self._transactions.begin() as work:
            known = _endpoint(work, caller.account.id, endpoint_id)
            changed = replace(known, enabled=enabled)
            work.outbox.save_endpoint(changed)
            _tell(work, caller, changed, "webhook.enabled" if enabled else "webhook.disabled")
        return changed

    def deliveries(self, caller: Caller, after: str | None = None, limit: int = 50) -> Sequence[Delivery]:
        """The account's deliveries, newest first."""
        caller.require("jobs:read")
        with self._transactions.view() as work:
            return work.outbox.page(caller.account.id, after, min(limit, 200))

    def replay(self, caller: Caller, delivery_id: str) -> Delivery:
        """Send a delivery again, under its old id. Raises ObjectMissing."""
        caller.require("jobs:write")
        with self._transactions.begin() as work:
            known = work.outbox.find(delivery_id)
            if known is None or known.account != caller.account.id:
                raise ObjectMissing("The account has no delivery of that name.", key=delivery_id)
            due = deliveries.again(known, work.now_ms())
            work.outbox.put(due)
        return due

    def answered(self, delivery: Delivery, status: int | None, *, jitter_ms: int = 0, note: str = "") -> Delivery:
        """What the sender reports of one try; a receiver that answers 410 is switched off."""
        with self._transactions.begin() as work:
            after = deliveries.answered(delivery, status, work.now_ms(), jitter_ms, note)
            work.outbox.put(after)
            if status == deliveries.GONE:
                endpoint = _endpoint(work, delivery.account, delivery.endpoint)
                work.outbox.save_endpoint(replace(endpoint, enabled=False))
        return after

    def _check(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            port_fits = parts.port is None or parts.port > 0
        except ValueError:
            raise InvalidOption("The URL of the webhook cannot be read.") from None
        schemes = ("https", "http") if self._plain_http else ("https",)
        plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= _LONGEST_URL
        if not (plain and port_fits and parts.scheme in schemes and parts.hostname):
            raise InvalidOption("A webhook is an https URL.", url=url[:_LONGEST_URL])
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise InvalidOption("The URL of a webhook carries no user, password or fragment.")


def _endpoint(work: UnitOfWork, account: str, endpoint_id: str) -> Endpoint:
    for endpoint in work.outbox.endpoints(account):
        if endpoint.id == endpoint_id:
            return endpoint
    raise ObjectMissing("The account has no webhook of that name.", key=endpoint_id)


def _tell(work: UnitOfWork, caller: Caller, endpoint: Endpoint, kind: str) -> None:
    event = Event(endpoint.id, kind, work.now_ms(), {"url": endpoint.url})
    work.journal.record(caller.account.id, caller.actor, [event])
