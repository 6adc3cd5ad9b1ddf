"""What a receiver of webhooks does with a delivery: check its signature and its time, then read it."""

from __future__ import annotations

import hmac
import time
from collections.abc import Mapping

from pydantic import ValidationError

from secondface.errors import InvalidSetting
from secondface.sdk.problems import WebhookInvalid
from secondface.spec.signing import key_of, signature
from secondface.spec.views import WebhookEvent

TOLERANCE_S = 300


def verify_webhook(
    secret: str, headers: Mapping[str, str], body: bytes | str, *, now_s: float | None = None,
    tolerance_s: int = TOLERANCE_S,
) -> WebhookEvent:  # fmt: skip
    """The event of a delivery (Standard Webhooks). `body` must be exactly what came. Raises WebhookInvalid.

    An event may come more than once: remember the header `webhook-id`.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        name, stamp, signatures = given["webhook-id"], given["webhook-timestamp"], given["webhook-signature"]
        sent_s = int(stamp)
        key = key_of(secret)
    except (KeyError, ValueError, InvalidSetting):
        raise WebhookInvalid("The headers or the secret are not whole.") from None
    content = body.encode() if isinstance(body, str) else body
    expected = signature(key, name, stamp, content).encode()
    # every one of them is compared, and each to its end: the time that it takes says nothing
    if not sum(hmac.compare_digest(each.encode(), expected) for each in signatures.split()):
        raise WebhookInvalid("The signature does not fit.")
    if abs((time.time() if now_s is None else now_s) - sent_s) > tolerance_s:
        raise WebhookInvalid("It was signed too long ago, or in the future.")
    try:
        return WebhookEvent.model_validate_json(content)
    except ValidationError:
        raise WebhookInvalid("Its body is not an event.") from None
