"""Details of errors and notes of runs in the language of the screen.

The rooms below speak English and know no language: they fill in sentences, and what they hand up is a text. The
sentences are listed in details.json, which `make docs` writes from the code; here a text is recognised as one of them,
and its Chinese twin is filled in with the same words. A text that is none of them is shown as it is.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib.resources import files

from secondface.cli.language import gettext as _

FILE = "details.json"
_BLANK = re.compile(r"\{(\d+)\}")


def said(text: str) -> str:
    """A detail or note, translated where its sentence is known."""
    for sentence, pattern in _sentences():
        if (found := pattern.fullmatch(text)) is None:
            continue
        translated = _(sentence)
        if translated == sentence:
            return text
        # A blank may hold a sentence of its own, such as the reason of an operating system.
        return _BLANK.sub(lambda blank: _(found.group(f"b{blank[1]}")), translated)
    return text


@lru_cache(maxsize=1)
def _sentences() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Sentences with blanks {0}, {1}, …, those with most words first, and the pattern of each."""
    listed: list[str] = json.loads((files("secondface.cli") / FILE).read_text("utf-8"))
    return tuple((sentence, _pattern(sentence)) for sentence in sorted(listed, key=_fixed_letters, reverse=True))


def _pattern(sentence: str) -> re.Pattern[str]:
    parts = _BLANK.split(sentence)
    words = [re.escape(part) if k % 2 == 0 else f"(?P<b{part}>.*?)" for k, part in enumerate(parts)]
    return re.compile("".join(words), re.DOTALL)


def _fixed_letters(sentence: str) -> int:
    return len(_BLANK.sub("", sentence))
