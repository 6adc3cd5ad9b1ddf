"""Which calls are sent again, how often, and after how long."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from secondface.errors import SecondfaceError
from secondface.sdk.calls import Answer, Call, Flow, Open, Pause, Unreachable, ask
from secondface.sdk.problems import ServiceUnreachable, error_of

_ASK_AGAIN = frozenset({429, 503})
"""Refused before anything was done."""
_PROXY_FAULTS = frozenset({502, 504})
"""Something may have been done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How patient a client is."""

    most_tries: int = 5
    first_s: float = 0.25
    most_s: float = 20.0
    most_retry_after_s: float = 60.0
    """A service that wants a longer pause gets none: the error goes to the caller."""
    chance: Callable[[], float] = random.random

    def pause_s(self, tries: int) -> float:
        """Seconds after so many tries: twice as long each time, and by chance, so that clients do not come together."""
        most = min(self.most_s, self.first_s * 2 ** (tries - 1))
        return most * (0.5 + 0.5 * self.chance())

    def wished_s(self, answer: Answer) -> float | None:
        """What Retry-After asks for; None where it says nothing that can be read."""
        value = answer.headers.get("retry-after", "").strip()
        if value.isdecimal():
            return float(value)
        try:
            return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
        except (ValueError, TypeError):
            return None


def call(wanted: Call, retries: Retries) -> Flow[Answer]:
    """A good answer. Raises the service's errors and ServiceUnreachable, after as many tries as make sense."""
    return (yield from _tried(wanted, wanted, retries))


def opened(wanted: Call, retries: Retries) -> Flow[Answer]:
    """The head of a good answer whose body stays open. Raises like `call`."""
    return (yield from _tried(Open(wanted), wanted, retries))


def _tried(effect: Call | Open, wanted: Call, retries: Retries) -> Flow[Answer]:
    tries = 0
    while True:
        got = yield from ask(effect)
        tries += 1
        if isinstance(got, Answer) and got.is_good:
            return got
        error = ServiceUnreachable(got.reason) if isinstance(got, Unreachable) else error_of(got)
        pause = _pause(got, error, wanted, retries, tries)
        if pause is None:
            raise error
        yield Pause(pause)


def _pause(
    got: Answer | Unreachable, error: SecondfaceError, wanted: Call, retries: Retries, tries: int
) -> float | None:
    """Seconds until the next try; None where there is none."""
    if tries >= retries.most_tries:
        return None
    if isinstance(got, Unreachable):
        return retries.pause_s(tries) if wanted.repeatable or not got.sent else None
    if error.facts.get("retryable") is False:
        return None
    if got.status in _ASK_AGAIN:
        wished = retries.wished_s(got)
        if wished is not None and wished > retries.most_retry_after_s:
            return None
        return max(wished or 0.0, retries.pause_s(tries))
    return retries.pause_s(tries) if got.status in _PROXY_FAULTS and wanted.repeatable else None
