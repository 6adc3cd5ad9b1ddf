"""One-time codes of a key: how often one may be wrong, and that none counts twice.

Decides what becomes of a code once it is known which step of time it belongs to. Must not know how codes are computed
(RFC 6238), secrets or stores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

STEP_S = 30
SKEW_STEPS = 1
"""A clock may be so many steps early or late."""
FREE_FAILURES = 5
_BLOCK_MS = 300_000
_BLOCK_MOST_MS = 86_400_000
Verdict: TypeAlias = Literal["good", "wrong", "used", "blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBook:
    """What is kept for the codes of one key."""

    key_id: str
    account: str
    sealed: str
    """The secret, encrypted."""
    made_ms: int
    used_step: int = -1
    """The last step whose code counted: no earlier one ever counts again."""
    used_for: str = ""
    """What it was given for, so that the same request may come again with it; empty: nothing may."""
    failures: int = 0
    """Wrong codes in a row."""
    blocked_until_ms: int = 0


def judge(book: CodeBook, step: int | None, at_ms: int, purpose: str = "") -> tuple[CodeBook, Verdict]:
    """What a code does. `step` is the one that it belongs to, none for a wrong code.

    After five wrong ones each further one blocks the codes, five minutes at first, twice as long each time.
    """
    if at_ms < book.blocked_until_ms:
        return book, "blocked"
    if step is not None and step > book.used_step:
        return replace(book, used_step=step, used_for=purpose, failures=0, blocked_until_ms=0), "good"
    if step is not None and step == book.used_step and purpose and purpose == book.used_for:
        return book, "good"
    failures = book.failures + 1
    over = failures - FREE_FAILURES
    wait_ms = min(_BLOCK_MS << min(over, 20), _BLOCK_MOST_MS) if over >= 0 else 0
    failed = replace(book, failures=failures, blocked_until_ms=at_ms + wait_ms if wait_ms else book.blocked_until_ms)
    return failed, "wrong" if step is None else "used"
