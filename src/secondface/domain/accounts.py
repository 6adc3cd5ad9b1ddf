"""Accounts and keys: who may do what. A key is stored as a digest only; its text is shown once.

Decides which scopes a role has and which keys still hold. Must not know hashing, stores or requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Scope: TypeAlias = Literal["jobs:write", "jobs:read", "billing:read", "approve", "review", "admin"]
Role: TypeAlias = Literal["owner", "developer", "viewer", "approver", "billing", "reviewer", "operator"]

ROLE_SCOPES: dict[Role, frozenset[Scope]] = {
    "owner": frozenset({"jobs:write", "jobs:read", "billing:read", "approve"}),
    "developer": frozenset({"jobs:write", "jobs:read"}),
    "viewer": frozenset({"jobs:read"}),
    "approver": frozenset({"jobs:read", "approve"}),
    "billing": frozenset({"billing:read"}),
    "reviewer": frozenset({"review"}),
    "operator": frozenset({"jobs:write", "jobs:read", "billing:read", "approve", "review", "admin"}),
}


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did something: a key, a worker, or a part of the service itself."""

    name: str
    """`key:…`, `worker:…`, or the part's own name."""
    address: str | None = None
    """Where the request came from; none where it came from no network."""


REGISTER = "accounts"
"""The subject under which the journal keeps which accounts there are; such entries outlive the audit's retention."""
OPERATOR = Actor("operator")
"""Whoever sits at the machine of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an account's jobs may be at most, and how many run at once."""

    max_running: int = 8
    max_pixels: int = 50_000_000
    max_frames: int = 1_000_000
    max_faces: int = 16
    formats: tuple[str, ...] = ()
    """Formats that results may have; empty: all."""
    approval_above_faces: int | None = None
    """Jobs with more faces than this need a second authorisation; none: no job does."""
    label_optional: bool = False
    """Whether the visible label may be left off with an acknowledgement; the other marks stay in any case."""
    likeness_required: bool = False
    """Whether a job with sources needs the caller's word that their likenesses may be used."""
    nsfw_hold_permille: int | None = 500
    """A frame that scores so much keeps the result back for a reviewer; none: no frame does."""
    nsfw_refuse_permille: int | None = 850
    """A frame that scores so much ends the job; none: no frame does."""
    requests_per_minute: int = 600
    max_upload_bytes: int = 20 << 30
    """Held in uploads at once, those that jobs have taken included."""
    retain_inputs_h: int | None = None
    """Hours after a job's end for which its inputs are kept; none: those of the service."""
    retain_outputs_h: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One customer: a wallet, budgets, keys and jobs of its own."""

    id: str
    name: str
    plan: Plan = field(default_factory=Plan)
    credit_micros: int = 0
    """How far the wallet may go below zero, for customers who pay afterwards."""
    suspended: bool = False
    created_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of an account, known by the digest of its text."""

    id: str
    account: str
    digest: str
    name: str = ""
    scopes: frozenset[Scope]
    created_ms: int = 0
    expires_ms: int | None = None
    revoked_ms: int | None = None
    person: str = ""
    """Who has it, in the operator's words; empty: nobody who has another one."""

    @property
    def holder(self) -> str:
        """By which two keys of one person are told from keys of two."""
        return self.person or self.id

    def holds(self, at_ms: int) -> bool:
        """Whether the key may be used at that moment."""
        return self.revoked_ms is None and (self.expires_ms is None or at_ms < self.expires_ms)
