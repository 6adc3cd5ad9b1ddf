"""One line of `secondface doctor --security`, and how a check is written.

A check is a function that gets the session and yields guards: what it looked at just now, and what it saw. It assumes
nothing, changes nothing, and raises what goes wrong; `security.checks()` is the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from secondface.cli.commands import Session

GuardState = Literal["on", "note", "off"]
"""`note`: nothing is wrong, but somebody should know."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What was looked at, whether it guards, what was seen, and what to do about it."""

    topic: str
    state: GuardState
    seen: str
    remedy: str = ""


Check = Callable[[Session], Iterator[Guard]]
