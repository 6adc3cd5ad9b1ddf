"""Time and names as this machine gives them."""

from __future__ import annotations

import secrets
import threading
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""32 signs without i, l, o and u, in the order in which texts sort."""
_RANDOM_BITS = 80
_SIGNS = 26


class MachineClock:
    """The clocks of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def elapsed_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


class RandomIds:
    """Names of 48 bits of time and 80 random ones, rising within a process even when its clock goes back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self, prefix: str) -> str:
        number = (time.time_ns() // 1_000_000 << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        with self._lock:
            self._last = max(number, self._last + 1)
            number = self._last
        signs = (_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
        return f"{prefix}_{''.join(signs)}"

    def made_ms(self, name: str) -> int | None:
        signs = name.rpartition("_")[2]
        if len(signs) != _SIGNS or not set(signs) <= set(_ALPHABET):
            return None
        number = 0
        for sign in signs:
            number = number << 5 | _ALPHABET.index(sign)
        return number >> _RANDOM_BITS

    def secret(self) -> str:
        return secrets.token_urlsafe(32)
