"""What was found in the pictures of a job that may not pass without a word: by which rule, where, and what follows.

Decides nothing; must not know pixels, models or people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["hold", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found."""

    rule: str
    """Which rule: `nsfw`, `protected`, or a word of an external service."""
    verdict: Verdict
    input: str
    """Which file: `target`, or `source 0` for the first source picture."""
    frame: int = 0
    """Counted from 0; of a picture 0."""
    at_ms: int | None = None
    """When that frame is shown; none in a picture."""
    score_permille: int | None = None
    """How sure the rule is, where it says so."""


def worst(findings: tuple[Finding, ...]) -> Finding | None:
    """The one to name: a refusal before a doubt, then the surest."""
    return max(findings, key=lambda each: (each.verdict == "refuse", each.score_permille or 0), default=None)
