"""Write docs/errors/ from the error classes: one page per code, and a table of all.

Usage: python -m tools.write_error_docs
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from secondface import errors
from secondface.advice import API_MARK
from secondface.errors import SecondfaceError
from secondface.gateway import refusals
from secondface.sdk import problems

_PARTS = ("tree", "requests", "files", "faces", "access", "jobs", "moderation", "provider", "signing")
_PLACES = (*(f"{errors.__name__}.{part}" for part in _PARTS), refusals.__name__, problems.__name__)
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "errors"
_PAYS = {
    "caller": "The caller's input or wish",
    "provider": "secondface or its machine; such an attempt is not charged",
}


def error_classes() -> list[type[SecondfaceError]]:
    """Every error class, parents before children, each once."""
    return list(dict.fromkeys(_descend(SecondfaceError)))


def _descend(root: type[SecondfaceError]) -> Iterator[type[SecondfaceError]]:
    yield root
    # subclasses come in the order of their modules' import, which is another one in each process
    for child in sorted(root.__subclasses__(), key=_place):
        if child.__module__ in _PLACES:
            yield from _descend(child)


def _place(error: type[SecondfaceError]) -> int:
    return _PLACES.index(error.__module__) if error.__module__ in _PLACES else len(_PLACES)


def _published(error: type[SecondfaceError]) -> str:
    """The name by which others import it: the parts of the tree are one module to them."""
    place = errors.__name__ if hasattr(errors, error.__name__) else error.__module__
    return f"{place}.{error.__name__}"


def _remedy(error: type[SecondfaceError]) -> str:
    """The paragraphs as they are written, the API's with a head."""
    text = inspect.cleandoc(error.__doc__ or "").partition("\n")[2].strip()
    return text.replace(f"\n{API_MARK}", "\n\nOver HTTP: ")


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def page(error: type[SecondfaceError]) -> str:
    """The page of one code."""
    kind = error.__mro__[1]
    parent = f"[`{kind.code}`]({kind.code}.md)" if issubclass(kind, SecondfaceError) else "none"
    return "\n".join(
        [
            f"# `{error.code}`",
            "",
            error.title(),
            "",
            "| | |",
            "|---|---|",
            f"| class | `{_published(error)}` |",
            f"| fault | `{error.fault}`: {_PAYS[error.fault]} |",
            f"| retried by itself | {_yes(error.retryable)} |",
            f"| a kind of | {parent} |",
            "",
            "## What to do",
            "",
            _remedy(error),
            "",
        ]
    )


def index() -> str:
    """The table of all codes."""
    rows = [
        f"| [`{error.code}`]({error.code}.md) | {error.title()} | `{error.fault}` | {_yes(error.retryable)} |"
        for error in error_classes()
    ]
    head = [
        "# Errors",
        "",
        "Every error has a stable code. `fault` says who pays for the attempt, `retried` whether the scheduler tries",
        "again by itself. These pages are written by `make docs` from the classes in `secondface.errors`.",
        "",
        "| code | message | fault | retried |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def pages() -> dict[str, str]:
    """File name to text, for the whole folder."""
    return {"README.md": index()} | {f"{error.code}.md": page(error) for error in error_classes()}


def main() -> None:
    """Write all pages, and remove those of codes that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for stale in set(FOLDER.glob("*.md")) - {FOLDER / name for name in wanted}:
        stale.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
