"""Details of errors and notes of runs in a language.

The rooms below speak English and know no language: they fill in sentences, and what they hand up is a text. Their
sentences stand in locale/LANGUAGE/details.json, which `make docs` keeps complete; here a text is recognised as one of
them and its translation is filled in with the same words. A text that is none of them is shown as it is.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from secondface.language import LOCALE_FOLDER, Language

_BLANK = re.compile(r"\{(\d+)\}")
_LONGEST = 4000
"""Characters; a longer text is some library's, and not worth the search."""
_DEEPEST = 3
"""A blank may hold a sentence of its own, such as a system's reason."""


def said_in(text: str, language: Language) -> str:
    """A detail or note, translated where its sentence is known."""
    return _said(text, language, _DEEPEST)


def _said(text: str, language: Language, deeper: int) -> str:
    if language == "en" or not deeper or len(text) > _LONGEST:
        return text
    for pattern, translation in _sentences(language):
        if found := pattern.fullmatch(text):
            words = {blank[1:]: _said(word, language, deeper - 1) for blank, word in found.groupdict().items()}
            parts = _BLANK.split(translation)
            return "".join(words[part] if place % 2 else part for place, part in enumerate(parts))
    return text


@lru_cache(maxsize=2)
def _sentences(language: Language) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Patterns with their translations, those with most words of their own first."""
    path = LOCALE_FOLDER / language / "details.json"
    listed: dict[str, str] = json.loads(path.read_text("utf-8"))
    known = sorted(((text, twin) for text, twin in listed.items() if twin), key=lambda pair: -_letters(pair[0]))
    return tuple((_pattern(text), twin) for text, twin in known)


def _pattern(sentence: str) -> re.Pattern[str]:
    parts = _BLANK.split(sentence)
    words = [re.escape(part) if place % 2 == 0 else f"(?P<b{part}>.*?)" for place, part in enumerate(parts)]
    return re.compile("".join(words), re.DOTALL)


def _letters(sentence: str) -> int:
    return len(_BLANK.sub("", sentence))
