"""What the SDK wants of the network and the clock, as values: flows yield them, a client carries them out.

A flow is an ordinary generator that decides everything: what is asked, when it is asked again, what an answer means.
It never touches a socket, so that the blocking client and the asynchronous one run the very same flows.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from secondface.errors import InternalFault

_T = TypeVar("_T")
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a form: what it is called there, and its bytes."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. At most one of `words`, `file` and `form` is its body."""

    method: Method
    path: str
    """A path of the service, or a whole address: then the address holds its own right, and no key is sent."""
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    words: Mapping[str, Any] | None = None
    """A JSON body."""
    file: Path | bytes | None = None
    """A body that is sent as it is read, never whole in memory."""
    form: tuple[FilePart, ...] = ()
    repeatable: bool = True
    """Whether a second one changes nothing, so that it may be sent again when nobody knows what became of the first."""

    @property
    def is_signed(self) -> bool:
        """Whether the address holds its own right."""
        return "://" in self.path


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; names of headers are in small letters."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No answer, or one that broke off."""

    reason: str
    sent: bool = True
    """False where the request surely never arrived."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Open:
    """Send a call and keep its body for `Take`; the outcome is its head, with a body only where it is a refusal."""

    call: Call


@dataclass(frozen=True, slots=True)
class Take:
    """The next bytes of what is open: the outcome is bytes, None at its end, or Unreachable."""


@dataclass(frozen=True, slots=True)
class Close:
    """Close what is open."""


@dataclass(frozen=True, slots=True)
class Give:
    """Hand a value to whoever walks through the flow."""

    value: object


Effect: TypeAlias = Call | Pause | Open | Take | Close | Give
Outcome: TypeAlias = Answer | Unreachable | bytes | None
Flow: TypeAlias = Generator[Effect, Outcome, _T]


def ask(call: Call | Open) -> Flow[Answer | Unreachable]:
    """Carry out a call once."""
    outcome = yield call
    if isinstance(outcome, Answer | Unreachable):
        return outcome
    raise InternalFault("a client answered a call with something else")


def take() -> Flow[bytes | Unreachable | None]:
    """The next bytes of what is open."""
    outcome = yield Take()
    if isinstance(outcome, Answer):
        raise InternalFault("a client answered a piece of a body with something else")
    return outcome
