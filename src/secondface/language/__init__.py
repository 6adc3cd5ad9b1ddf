"""What is said to people in their language: catalogs of messages, and sentences that are filled in.

Two doors speak: the command line, in one language for a whole run, and the service, in that of each request. Must not
know either. English is the text as it is written in the code.
"""

from __future__ import annotations

import gettext
from functools import lru_cache
from pathlib import Path
from typing import Literal

Language = Literal["en", "zh"]
DOMAIN = "secondface"
LOCALE_FOLDER = Path(__file__).parent / "locale"


def translated(text: str, language: Language) -> str:
    """A message of the catalogs in that language; one that is not in them stays as it is."""
    return text if language == "en" or not text else _catalog(language).gettext(text)


@lru_cache(maxsize=4)
def _catalog(language: Language) -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, LOCALE_FOLDER, [language])
