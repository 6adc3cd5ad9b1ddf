"""The chain of digests over the journal: whoever changes, removes or inserts a sealed row breaks it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from secondface.domain.ports import Recorded

FIRST = "0" * 64
"""What stands before the first row."""


def link(before: str, position: int, recorded: Recorded) -> str:
    """The digest of a row at a position, over all that it says and the digest before it."""
    event, actor = recorded.event, recorded.actor
    said = [
        before, position, recorded.number, recorded.account, actor.name, event.subject, event.kind, event.at_ms,
        dict(event.facts),
    ]  # fmt: skip
    if actor.address is not None:  # rows that were sealed before there were addresses keep their digests
        said.append(actor.address)
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def first_broken(rows: Iterable[Recorded]) -> int | None:
    """The first position at which the chain does not hold; rows come in the order of their positions."""
    before = FIRST
    for expected, recorded in enumerate(rows, 1):
        digest = link(before, expected, recorded)
        if (recorded.position, recorded.digest) != (expected, digest):
            return expected
        before = digest
    return None


def version_of(changes: Iterable[tuple[str, int]]) -> str:
    """One word for a list whose entries have names and moments of their last change; empty for an empty list."""
    said = [f"{name} {at_ms}" for name, at_ms in changes]
    return hashlib.sha256("\n".join(said).encode()).hexdigest() if said else ""
