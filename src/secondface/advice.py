"""What the docstring of an error class says to people: its message, and what to do, in the words of each door.

The first line is the message, the rest the remedy; from a line on that begins with `API:` it is the remedy for those
who came over HTTP.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Literal

Surface = Literal["command", "api"]
API_MARK = "API: "


@dataclass(frozen=True, slots=True)
class Advice:
    """The parts of one docstring."""

    title: str
    command: str
    api: str
    """Empty where the command line's words serve over HTTP too."""


def advice_in(cls: type) -> Advice:
    """The advice that a class's docstring holds."""
    title, _, rest = inspect.cleandoc(cls.__doc__ or cls.__name__).partition("\n")
    command, _, api = f"\n{rest}".partition(f"\n{API_MARK}")
    return Advice(title.strip(), " ".join(command.split()), " ".join(api.split()))
