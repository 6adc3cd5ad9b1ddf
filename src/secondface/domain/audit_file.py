"""An exported audit: JSON lines, one for each row between a head line and a signed end, and how such a file is checked.

Each line is canonical (keys sorted, no spaces), so that any change of its bytes is one. Must not know where lines come
from or whose keys are trusted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from typing import cast

from secondface.domain.accounts import Actor
from secondface.domain.audit import Finding, Flaw, SignedHead
from secondface.domain.chain import link
from secondface.domain.jobs import Event, Fact
from secondface.domain.ports import Recorded

_FORMAT = "secondface-audit-1"
Holds = Callable[[str, bytes, str], bool]
"""Whether a signature is one of a public key over some bytes."""


def start_line(after: int, digest: str) -> str:
    """The first line: what it is, and what its first row is chained to."""
    return _line({"format": _FORMAT, "from_position": after, "from_digest": digest})


def row_line(recorded: Recorded) -> str:
    """One sealed row."""
    event, actor = recorded.event, recorded.actor
    return _line({
        "position": recorded.position, "digest": recorded.digest, "number": recorded.number,
        "account": recorded.account, "actor": actor.name, "address": actor.address, "subject": event.subject,
        "kind": event.kind, "at_ms": event.at_ms, "facts": dict(event.facts),
    })  # fmt: skip


def end_line(head: SignedHead) -> str:
    """The last line: a signed word of kind `export`."""
    return _line({"end": asdict(head)})


def check(lines: Iterable[str], holds: Holds, trusted: str | None) -> Finding:
    """Look at every line of an export. `trusted` is the public key that is known here; none: nobody is trusted."""
    return _Reader(holds, trusted).read(iter(lines))


class _Reader:
    """One pass over one file."""

    def __init__(self, holds: Holds, trusted: str | None) -> None:
        self._holds, self._trusted = holds, trusted
        self._from = self._digest = ""
        self._at = self._first = 0

    def read(self, lines: Iterator[str]) -> Finding:
        start = _parsed(next(lines, ""))
        if start is None or not self._begins(start):
            return Finding(entries=0, last=0, first_bad=0, flaw="start")
        for line in lines:
            said = _parsed(line)
            if said is not None and set(said) == {"end"}:
                return self._end(said["end"], lines)
            if said is None or not self._takes(said):
                return self._found("entry")
        return self._found("truncated")

    def _begins(self, said: dict[str, object]) -> bool:
        match said:
            case {"format": str(name), "from_position": int(after), "from_digest": str(digest)} if (
                name == _FORMAT and type(after) is int and len(said) == 3
            ):
                self._at = self._first = after
                self._from = self._digest = digest
                return True
            case _:
                return False

    def _takes(self, said: dict[str, object]) -> bool:
        recorded = _row(said)
        if recorded is None:
            return False
        digest = link(self._digest, self._at + 1, recorded)
        if (recorded.position, recorded.digest) != (self._at + 1, digest):
            return False
        self._at, self._digest = self._at + 1, digest
        return True

    def _end(self, said: object, lines: Iterator[str]) -> Finding:
        head = _head(said)
        if head is None or head.kind != "export" or not self._holds(head.public_key, head.words(), head.signature):
            return self._found("signature")
        if flaw := self._against(head, lines):
            return self._found(flaw)
        if head.public_key != self._trusted:
            return Finding(
                entries=self._entries, last=self._at, first_bad=self._first + 1, flaw="unknown_key",
                public_key=head.public_key,
            )  # fmt: skip
        return Finding(
            entries=self._entries, last=self._at, signed_to=self._at, anchored=True, public_key=head.public_key
        )

    def _against(self, head: SignedHead, lines: Iterator[str]) -> Flaw | None:
        """What differs between the rows that were read and the signed word of them."""
        if (head.from_position, head.from_digest) != (self._first, self._from):
            return "start"
        if head.position > self._at:
            return "truncated"
        if (head.position, head.digest) != (self._at, self._digest):
            return "rewritten"
        return "after_end" if next(lines, None) is not None else None

    @property
    def _entries(self) -> int:
        return self._at - self._first

    def _found(self, flaw: Flaw) -> Finding:
        return Finding(entries=self._entries, last=self._at, first_bad=self._at + 1, flaw=flaw)


def _line(said: dict[str, object]) -> str:
    return json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"


def _parsed(line: str) -> dict[str, object] | None:
    """The object of a line; none where it is not the one way to write it."""
    try:
        said = json.loads(line)
        return said if isinstance(said, dict) and _line(said) == line else None  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    except (ValueError, RecursionError):
        return None


def _row(said: dict[str, object]) -> Recorded | None:
    match said:
        case {
            "position": int(position), "digest": str(digest), "number": int(number), "account": str(account),
            "actor": str(actor), "address": None | str() as address, "subject": str(subject), "kind": str(kind),
            "at_ms": int(at_ms), "facts": dict(),
        } if len(said) == 10 and type(position) is int:  # fmt: skip
            event = Event(subject, kind, at_ms, cast("dict[str, Fact]", said["facts"]))
            return Recorded(
                number=number, account=account, actor=Actor(actor, address), event=event, position=position,
                digest=digest,
            )  # fmt: skip
        case _:
            return None


def head_of(text: str) -> SignedHead | None:
    """A signed word as `head_text` wrote it; none where it is not one."""
    try:
        return _head(json.loads(text))
    except (ValueError, RecursionError):
        return None


def head_text(head: SignedHead) -> str:
    """A signed word as text, to be kept outside of the database."""
    return _line(asdict(head))


def _head(said: object) -> SignedHead | None:
    names = {field.name: int if field.name in ("position", "at_ms", "from_position") else str
             for field in fields(SignedHead)}  # fmt: skip
    if not isinstance(said, dict) or set(said) != set(names):  # pyright: ignore[reportUnknownArgumentType]
        return None
    if any(type(said[name]) is not kind for name, kind in names.items()):  # pyright: ignore[reportUnknownArgumentType]
        return None
    return SignedHead(**said)  # pyright: ignore[reportUnknownArgumentType]
