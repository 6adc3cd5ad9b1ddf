"""In which language an answer speaks: what the Accept-Language header asks for, else English."""

from __future__ import annotations

from typing import Final

from fastapi import Request

from secondface.gateway.acceptance import wish
from secondface.language import Language

_TAGS: Final[dict[str, Language]] = {"en": "en", "zh": "zh", "*": "en"}


def language_asked(request: Request) -> Language:
    """The language with the highest quality of those that are spoken here; among equals the first."""
    best: tuple[float, Language] = (0.0, "en")
    for text in request.headers.get("accept-language", "").split(","):
        tag, quality = wish(text)
        language = _TAGS.get(tag.partition("-")[0])  # zh-CN, zh-Hans and zh-TW are all better served by zh
        if language is not None and quality > best[0]:
            best = (quality, language)
    return best[1]


def spoken_in(language: Language) -> dict[str, str]:
    """The headers of an answer in that language."""
    return {"Content-Language": language, "Vary": "Accept-Language"}
