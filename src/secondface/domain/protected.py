"""People whose faces must not be given to others, known by numbers of their faces and a note; no picture is kept.

Must not know models: how such numbers are made and compared is decided where pixels are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Descriptor: TypeAlias = tuple[float, ...]
"""128 numbers of a face, of the identity model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """One person of the list, by one or several pictures that were looked at and not kept."""

    id: str
    note: str = ""
    """The operator's own words: who asked for it, and when."""
    descriptors: tuple[Descriptor, ...]
    created_ms: int = 0
    changed_ms: int = 0


@dataclass(frozen=True, slots=True)
class ProtectedPeople:
    """The list as it was at one moment; another list has another version."""

    version: str = ""
    people: tuple[Protected, ...] = ()
