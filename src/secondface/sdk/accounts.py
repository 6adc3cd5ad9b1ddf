"""Flows of money and access: prices, usage, the account, its ledger, keys, webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote as quoted

from secondface.sdk.answers import read_as
from secondface.sdk.calls import Call, Flow
from secondface.sdk.inputs import checked, said
from secondface.sdk.retries import Retries, call
from secondface.spec.service import EventKind, KeyRequest, RoleName, WebhookRequest
from secondface.spec.views import (
    KeyPage,
    KeyView,
    LedgerPage,
    NewKeyView,
    NewWebhookView,
    OwnAccountView,
    PricesView,
    UsageView,
)


def prices(retries: Retries) -> Flow[PricesView]:
    return read_as(PricesView, (yield from call(Call(method="GET", path="/v1/prices"), retries)))


def usage(from_ms: int | None, until_ms: int | None, retries: Retries) -> Flow[UsageView]:
    places = (("from_ms", from_ms), ("until_ms", until_ms))
    query = tuple((name, str(value)) for name, value in places if value is not None)
    return read_as(UsageView, (yield from call(Call(method="GET", path="/v1/usage", query=query), retries)))


def account(retries: Retries) -> Flow[OwnAccountView]:
    return read_as(OwnAccountView, (yield from call(Call(method="GET", path="/v1/account"), retries)))


def ledger(before: int | None, limit: int, retries: Retries) -> Flow[LedgerPage]:
    query = (("limit", str(limit)), *((("before", str(before)),) if before is not None else ()))
    return read_as(LedgerPage, (yield from call(Call(method="GET", path="/v1/ledger", query=query), retries)))


def keys(account_id: str | None, retries: Retries) -> Flow[KeyPage]:
    place = yield from keys_of(account_id, retries)
    return read_as(KeyPage, (yield from call(Call(method="GET", path=place), retries)))


def create_key(
    role: RoleName, name: str | None, expires_s: int | None, account_id: str | None, person: str | None,
    retries: Retries,
) -> Flow[NewKeyView]:  # fmt: skip
    words = said(checked(KeyRequest, {"role": role, "name": name, "expires_s": expires_s, "person": person}))
    place = yield from keys_of(account_id, retries)
    # A key that nobody has seen is no harm, but it is litter: this is not sent twice.
    wanted = Call(method="POST", path=place, words=words, repeatable=False)
    return read_as(NewKeyView, (yield from call(wanted, retries)))


def revoke_key(key_id: str, account_id: str | None, retries: Retries) -> Flow[KeyView]:
    place = yield from keys_of(account_id, retries)
    wanted = Call(method="DELETE", path=f"{place}/{quoted(key_id, safe='')}")
    return read_as(KeyView, (yield from call(wanted, retries)))


def create_webhook(url: str, kinds: Sequence[EventKind], retries: Retries) -> Flow[NewWebhookView]:
    words = said(checked(WebhookRequest, {"url": url, "kinds": tuple(kinds)}))
    wanted = Call(method="POST", path="/v1/webhooks", words=words, repeatable=False)
    return read_as(NewWebhookView, (yield from call(wanted, retries)))


def keys_of(account_id: str | None, retries: Retries) -> Flow[str]:
    """Where the keys of an account are; without one, those of the caller's own."""
    name = account_id or (yield from account(retries)).id
    return f"/v1/admin/accounts/{quoted(name, safe='')}/keys"
