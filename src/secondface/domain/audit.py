"""What is signed of the audit's chain, and what a check of it finds.

A chain alone shows changes to who kept its last digest; who may write the database could chain anew. So the service
signs how far the chain has come with a key that no database holds. Must not know keys, stores or files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

FIRST = "0" * 64
"""What stands before the first row."""
HeadKind: TypeAlias = Literal["head", "checkpoint", "export"]
"""`head`: the chain reached this row; `checkpoint`: all up to this row was pruned; `export`: these rows were handed
out."""
Flaw: TypeAlias = Literal["entry", "rewritten", "truncated", "signature", "start", "after_end", "unknown_key"]
"""`entry`: a row is not what was sealed, or it is missing, doubled or in another's place; `rewritten`: rows fit each
other, but not what was signed; `truncated`: rows at the end are missing; `signature`: a signed word of ours was
changed; `start`: what comes before the first row is not known; `after_end`: something follows the end;
`unknown_key`: it is whole, but signed by somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedHead:
    """A signed word of how far the chain has come."""

    kind: HeadKind = "head"
    position: int
    digest: str
    at_ms: int
    from_position: int = 0
    """Of an export: the row before its first one."""
    from_digest: str = FIRST
    public_key: str = ""
    signature: str = ""

    def words(self) -> bytes:
        """What is signed."""
        said = ["secondface-audit-1", self.kind, self.position, self.digest, self.at_ms, self.from_position,
                self.from_digest]  # fmt: skip
        return json.dumps(said, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check of the audit found."""

    entries: int
    """Rows that were looked at."""
    last: int
    """Position of the last of them."""
    first_bad: int | None = None
    """The first row that cannot be trusted; none: all can."""
    flaw: Flaw | None = None
    signed_to: int = 0
    """Up to which row a signature of ours vouches."""
    anchored: bool = False
    """Whether a signed word from outside of the database was compared: without one, a cut end goes unseen."""
    public_key: str = ""
    """Who signed."""

    @property
    def whole(self) -> bool:
        return self.flaw is None
