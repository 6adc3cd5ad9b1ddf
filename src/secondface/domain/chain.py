"""The chain of digests over the journal: whoever changes, removes or inserts a sealed row breaks it.

A row's canonical form is a JSON array without spaces, its keys sorted: the digest before it, its position, its number,
account, actor, subject, kind, moment and facts, and the address where there is one. Its digest is SHA-256 of that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from secondface.domain.audit import FIRST
from secondface.domain.ports import Recorded


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
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def first_broken(rows: Iterable[Recorded], after: int = 0, before: str = FIRST) -> int | None:
    """The first position at which the chain does not hold; rows come in the order of their positions.

    `after` is the position before the first row, `before` the digest there: those of a checkpoint where rows were
    pruned.
    """
    for expected, recorded in enumerate(rows, after + 1):
        digest = link(before, expected, recorded)
        if (recorded.position, recorded.digest) != (expected, digest):
            return expected
        before = digest
    return None


def version_of(changes: Iterable[tuple[str, int]]) -> str:
    """One word for a list whose entries have names and moments of their last change; empty for an empty list."""
    said = [f"{name} {at_ms}" for name, at_ms in changes]
    return hashlib.sha256("\n".join(said).encode()).hexdigest() if said else ""
