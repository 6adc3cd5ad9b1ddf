"""Which type of picture an Accept header asks for."""

from __future__ import annotations

from typing import Final

from secondface.gateway.refusals import NotAcceptable
from secondface.spec.service import OutputFormat

PICTURES: Final[dict[str, OutputFormat]] = {
    "image/png": "png", "image/jpeg": "jpeg", "image/webp": "webp", "image/avif": "avif",
}  # fmt: skip
"""What can be made, in our order of preference."""


def picture_asked(accept: str) -> tuple[OutputFormat, str]:
    """The format and media type with the highest quality in an Accept header. Raises NotAcceptable."""
    wishes = [wish(each) for each in accept.split(",") if each.strip()] or [("*/*", 1.0)]
    best: tuple[float, int] | None = None
    chosen = ""
    for order, kind in enumerate(PICTURES):
        quality = _quality(kind, wishes)
        if quality > 0 and (best is None or (quality, -order) > best):
            best, chosen = (quality, -order), kind
    if best is None:
        raise NotAcceptable(f"Accept: {accept[:200]}")
    return PICTURES[chosen], chosen


def wish(text: str) -> tuple[str, float]:
    """One part of such a header: what is asked for, in small letters, and its quality from 0 to 1."""
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return kind, min(1.0, max(0.0, float(value)))
            except ValueError:
                return kind, 0.0
    return kind, 1.0


def _quality(kind: str, wishes: list[tuple[str, float]]) -> float:
    """The quality of the most exact wish that fits, as the standard wants it."""
    for pattern in (kind, "image/*", "*/*"):
        fitting = [quality for wished, quality in wishes if wished == pattern]
        if fitting:
            return max(fitting)
    return 0.0
