"""How a request that the service makes is signed (Standard Webhooks): over its id, its moment and its body.

Must not know what is sent or to whom.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

from secondface.errors import InvalidSetting

MARK = "whsec_"
"""How a secret begins; base64 follows."""


def key_of(secret: str) -> bytes:
    """The key in a secret. Raises InvalidSetting for a text that is none."""
    try:
        key = base64.b64decode(secret.strip().removeprefix(MARK), validate=True)
    except (ValueError, binascii.Error):
        raise InvalidSetting(f"A secret is {MARK} and base64.") from None
    if not key:
        raise InvalidSetting(f"A secret is {MARK} and base64.")
    return key


def signature(key: bytes, name: str, stamp: int | str, body: bytes) -> str:
    """The signature as its header says it."""
    digest = hmac.new(key, f"{name}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def signed_headers(key: bytes, name: str, stamp: int, body: bytes) -> Mapping[str, str]:
    """The three headers of a request, with an id that stays the same over all tries."""
    return {
        "webhook-id": name, "webhook-timestamp": str(stamp), "webhook-signature": signature(key, name, stamp, body),
    }  # fmt: skip
