"""Keeps the catalogs of the command line complete: every message in the code, the errors, the settings and click.

python -m tools.translations            # add new messages to the .po files, compile them to .mo
python -m tools.translations --check    # say what is missing, change nothing
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from secondface.language import LOCALE_FOLDER
from secondface.settings import Settings
from tools.write_error_docs import error_classes

CLI = Path(__file__).parent.parent / "src" / "secondface" / "cli"
LANGUAGES = ("zh",)
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""In the header of each catalog: a date of today would make every build differ."""
DOMAIN = "secondface"
FROM_CLICK: tuple[str | tuple[str, str], ...] = (
    "Usage:",
    "Options",
    "Commands",
    "Show this message and exit.",
    "required",
    "default: {default}",
    "Missing command.",
    "Missing option",
    "Missing argument",
    "Missing {param_type}",
    "No such option {name!r}.",
    "No such command {name!r}.",
    "Option {name!r} does not take a value.",
    "Invalid value: {message}",
    "Invalid value for {param_hint}: {message}",
    "{value!r} is not a valid {number_type}.",
    "{value} is not in the range {range}.",
    ("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)"),
    ("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments."),
    ("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})"),
    ("{value!r} is not {choice}.", "{value!r} is not one of {choices}."),
)
"""What our users can meet of click's own words; click asks the same catalog."""


def messages() -> Iterator[tuple[str | tuple[str, str], str]]:
    """Every message with the place where it is written."""
    for name, _line, message, _comments, _context in extract_from_dir(CLI, keywords={"_": None}):
        for text in [message] if isinstance(message, str) else message:
            yield text, f"cli/{name}"
    for error in error_classes():
        yield error.title(), "errors.py"
        yield error.advice("command"), "errors.py"
        yield error.advice("api"), "errors.py"
    for field in Settings.model_fields.values():
        yield field.description or "", "settings.py"
    for text in FROM_CLICK:
        yield text, "click"


def po_file(language: str) -> Path:
    return LOCALE_FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def load(language: str) -> Catalog:
    path = po_file(language)
    if not path.exists():
        return Catalog(locale=language, domain=DOMAIN)
    return read_po(io.BytesIO(path.read_bytes()), locale=language, domain=DOMAIN)


def renewed(language: str) -> Catalog:
    """The stored catalog with exactly the messages of the code; kept translations stay, new ones are empty."""
    stored = load(language)
    fresh = Catalog(
        locale=language, domain=DOMAIN, project="secondface", header_comment="# secondface in Chinese.", fuzzy=False,
        last_translator="secondface", language_team="secondface", msgid_bugs_address="secondface",
        creation_date=FIRST_DAY, revision_date=FIRST_DAY,
    )  # fmt: skip
    for text, place in messages():
        if text:
            known = stored.get(text)
            fresh.add(text, known.string if known else None, locations=[(place, 0)])
    return fresh


def missing(language: str) -> list[str]:
    """Messages without a translation, or whose placeholders differ from the original's."""
    found: list[str] = []
    for message in renewed(language):
        # Chinese has one form for all numbers: that of the plural.
        original = message.id if isinstance(message.id, str) else message.id[-1]
        translations = [message.string] if isinstance(message.string, str) else message.string or [""]
        if original and not all(text and placeholders(text) == placeholders(original) for text in translations):
            found.append(original)
    return found


def placeholders(text: str) -> set[str]:
    return {part.split("}")[0].split("!")[0] for part in text.split("{")[1:]}


def compiled(language: str) -> bytes:
    out = io.BytesIO()
    write_mo(out, load(language))
    return out.getvalue()


def update() -> None:
    for language in LANGUAGES:
        path, catalog = po_file(language), renewed(language)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_po(file, catalog, sort_output=False, include_lineno=False, width=120, omit_header=False)
        path.with_suffix(".mo").write_bytes(compiled(language))


if __name__ == "__main__":
    if "--check" not in sys.argv:
        update()
    lacking = [(language, text) for language in LANGUAGES for text in missing(language)]
    for language, text in lacking:
        print(f"{language}: {text}")
    sys.exit(1 if lacking else 0)
