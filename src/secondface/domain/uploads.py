"""Shares of what an account may hold in uploads: one for each file, from before its first byte until it is gone.

Must not know stores or requests.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadShare:
    """Room that one upload takes of its account's."""

    id: str
    account: str
    key: str
    """Where the file lies, or will lie."""
    size_bytes: int = 0
    stored: bool = False
    """Whether the file is whole and under its key; else it is on its way."""
    touched_ms: int = 0
    """When its sender was last heard of."""

    def abandoned(self, at_ms: int, idle_ms: int) -> bool:
        """Whether nobody sends it any more: whoever took it in has died."""
        return not self.stored and self.touched_ms <= at_ms - idle_ms
