"""Signed links: a URL that lets its holder do one thing to one file for a short time.

Decides what a signature covers and when it holds. Must not know what is stored, or who serves it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from urllib.parse import quote, urlencode

from secondface.domain.ports import Clock, Method
from secondface.errors import LinkInvalid

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._=+-]{0,199}")
_LONGEST_KEY = 512


def checked_key(key: str) -> str:
    """The key, if it is a relative path of plain names. Raises LinkInvalid for `..`, hidden names, NUL and the like."""
    segments = key.split("/")
    if len(key) > _LONGEST_KEY or not all(_SEGMENT.fullmatch(segment) for segment in segments):
        raise LinkInvalid("The name of a stored file is made of letters, digits and . _ = + - between slashes.")
    if any(segment.endswith(".part") for segment in segments):
        raise LinkInvalid("A name that ends in .part is one of a file that is not whole.")
    return key


class Links:
    """Makes and checks links. The first secret signs; older ones still open what they signed."""

    def __init__(self, base_url: str, secrets: tuple[bytes, ...], clock: Clock) -> None:
        if not secrets or min(len(secret) for secret in secrets) < 32:
            raise ValueError("links need a secret of at least 32 bytes")
        self._base_url, self._secrets, self._clock = base_url.rstrip("/"), secrets, clock

    def sign(self, key: str, method: Method, seconds: int) -> str:
        """The URL for one method and key, for that many seconds. Raises LinkInvalid for a bad key."""
        expires_s = self._clock.now_ms() // 1000 + seconds
        signature = _signature(self._secrets[0], checked_key(key), method, expires_s)
        query = urlencode({"method": method, "expires": expires_s, "signature": signature})
        return f"{self._base_url}/{quote(key)}?{query}"

    def check(self, key: str, method: str, expires: str, signature: str) -> None:
        """Let a request pass. Raises LinkInvalid, in one way for every reason but the time."""
        if not re.fullmatch(r"[0-9]{1,12}", expires):
            raise LinkInvalid
        made = [_signature(secret, checked_key(key), method, int(expires)) for secret in self._secrets]
        # Every secret is compared, and each in constant time, so that the time taken says nothing.
        fits = [hmac.compare_digest(each.encode(), signature.encode()) for each in made]
        if not any(fits):
            raise LinkInvalid
        if int(expires) * 1000 <= self._clock.now_ms():
            raise LinkInvalid("It has expired.")


def _signature(secret: bytes, key: str, method: str, expires_s: int) -> str:
    text = f"secondface-link-1\n{method}\n{expires_s}\n{key}"
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
