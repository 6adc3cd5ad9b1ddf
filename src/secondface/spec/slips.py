"""What somebody most likely meant who wrote a name that there is not."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_NAMED = 30


def slip_detail(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the one that it resembles, or all that there are."""
    names = list(known)
    begins = [each for each in names if each.startswith(f"{name}_")]  # a name without its unit: max_cost
    if close := (begins or get_close_matches(name, names, 1)):
        return f"write {close[0]}."
    return f"there is {', '.join(names[:_MOST_NAMED])}."
