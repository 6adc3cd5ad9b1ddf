"""Details of errors and notes of runs in the language of the screen."""

from __future__ import annotations

from secondface.cli.language import spoken
from secondface.language.details import said_in


def said(text: str) -> str:
    """A detail or note, translated where its sentence is known."""
    return said_in(text, spoken())
