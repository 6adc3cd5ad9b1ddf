"""The language of messages: gettext catalogs, chosen once when the command starts.

Commands are built after the choice, so help texts are plain strings. click speaks through the same catalog.
"""

from __future__ import annotations

import gettext as _gettext
import os
from collections.abc import Mapping, Sequence

from secondface.language import DOMAIN, LOCALE_FOLDER, Language

gettext = _gettext.gettext


def choose_language(wanted: str, environment: Mapping[str, str]) -> Language:
    """`wanted` where it names a language, else what LC_ALL, LC_MESSAGES, LANGUAGE or LANG say, else English."""
    if wanted in ("en", "zh"):
        return "zh" if wanted == "zh" else "en"
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "LANG"):
        value = environment.get(name, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def speak(language: Language) -> None:
    """Make `gettext` answer in that language, here and inside click."""
    _gettext.bindtextdomain(DOMAIN, str(LOCALE_FOLDER))
    _gettext.textdomain(DOMAIN)
    # gettext asks this variable first; an English catalog does not exist, so English is the text as written.
    os.environ["LANGUAGE"] = language


def spoken() -> Language:
    """The language that `speak` chose last."""
    return "zh" if os.environ.get("LANGUAGE") == "zh" else "en"


def asked_for(arguments: Sequence[str]) -> str:
    """What --lang says, read before the real parsing so that its errors speak that language too; '' without --lang."""
    for at, argument in enumerate(arguments):
        if argument == "--lang" and at + 1 < len(arguments):
            return arguments[at + 1]
        if argument.startswith("--lang="):
            return argument.removeprefix("--lang=")
    return ""
