"""Keeps the Chinese of details complete: the sentences that errors and notes of runs fill in.

python -m tools.details            # add new sentences to details.json, drop those that are gone
python -m tools.details --check    # say what has no translation, change nothing

The rooms below the two doors write f-strings; a blank of such a sentence is {0}, {1}, … here. A text is recognised by
secondface.language.details as a filled-in sentence, and its translation is filled in.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from secondface.language import LOCALE_FOLDER
from tools.translations import CLI, LANGUAGES, placeholders
from tools.write_error_docs import error_classes

PACKAGE = CLI.parent
ROOMS = (
    "cli", "media", "models", "pipeline", "provenance", "spec", "vision", "compose", "settings", "gateway", "control",
    "domain", "storage", "sdk", "scanning", "confidential",
)  # fmt: skip
"""Whose sentences a run of the command line, or an answer of the service, can show."""
_SPOKEN = ("note", "reason", "where", "detail")
"""A text that is kept under a name with such a word in it is said to people."""
FROM_OTHERS = (
    "No such file or directory",
    "Permission denied",
    "Is a directory",
    "Not a directory",
    "File name too long",
    "No space left on device",
    "Read-only file system",
    "Input/output error",
    "Operation not permitted",
    "Invalid data found when processing input",
    "{0}: Input should be greater than or equal to {1}.",
    "{0}: Input should be less than or equal to {1}.",
    "{0}: Input should be greater than {1}.",
    "{0}: Input should be a valid integer, unable to parse string as an integer.",
    "{0}: Input should be a valid integer.",
    "{0}: Input should be a valid string.",
    "{0}: Input should be {1}.",
    "{0}: Input should be {1} or {2}.",
    "{0}: Input should be a valid number, unable to parse string as a number.",
    "{0}: Input should be a valid number.",
    "{0}: Input should be a valid boolean, unable to interpret input.",
    "{0}: Input should be a valid boolean.",
    "{0}: Input should be a valid list.",
    "{0}: Input should be a valid tuple.",
    "{0}: Input should be a valid dictionary or instance of {1}.",
    "{0}: Input should be a valid dictionary.",
    "{0}: String should have at least {1} characters.",
    "{0}: String should have at least {1} character.",
    "{0}: String should have at most {1} characters.",
    "{0}: String should match pattern {1}.",
    "{0}: Extra inputs are not permitted.",
    "{0}: Field required.",
)
"""What the system and the libraries say inside our sentences."""


def sentences() -> Iterator[tuple[str, str]]:
    """Each sentence with the file that holds it."""
    # An internal fault is read by those who repair it.
    errors = {error.__name__ for error in error_classes()} - {"InternalFault"}
    for room in ROOMS:
        path = PACKAGE / room
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                for text in _texts(node, errors):
                    if _has_words(text):
                        yield text, str(file.relative_to(PACKAGE))
    for text in FROM_OTHERS:
        yield text, "others"


def _texts(node: ast.AST, errors: set[str]) -> Iterator[str]:
    match node:
        case ast.Call(func=function, args=[first, *_]) if _is_told(function, errors):
            yield from _sentences_in(first)
        case ast.keyword(arg=str() as name, value=value) if _names_words(name):
            yield from _sentences_in(value)
        case ast.Assign(targets=[target], value=value) if any(_speaks(each) for each in _parts(target)):
            yield from _sentences_in(value)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            if _speaks(target):
                yield from _sentences_in(value)
        case ast.FunctionDef(name=name, body=body) if _names_words(name):
            for inner in (each for statement in body for each in ast.walk(statement)):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    yield from _sentences_in(inner.value)
        case ast.arguments(args=names, defaults=values):
            for name, value in zip(names[len(names) - len(values) :], values, strict=True):
                if _names_words(name.arg):
                    yield from _sentences_in(value)
        case _:
            pass


def _is_told(function: ast.expr, errors: set[str]) -> bool:
    """Whether what is called is an error of ours, a list of notes, or a function for notes."""
    match function:
        case ast.Name(id=name):
            return name in errors or _names_words(name)
        case ast.Attribute(value=holder, attr="append" | "add"):
            return _speaks(holder)
        case _:
            return _speaks(function)


def _parts(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple) else [target]


def _speaks(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return _names_words(name)


def _names_words(name: str) -> bool:
    return any(word in name.lower() for word in _SPOKEN)


def _sentences_in(value: ast.expr) -> Iterator[str]:
    """The texts that an expression can become; inside an f-string only the whole counts."""
    match value:
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=parts):
            blanks = iter(range(len(parts)))
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{next(blanks)}}}" for part in parts
            )
            for part in parts:
                # A blank that is itself one of two phrases.
                if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.IfExp):
                    yield from _sentences_in(part.value)
        case ast.IfExp(body=body, orelse=other):
            yield from _sentences_in(body)
            yield from _sentences_in(other)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.BoolOp(values=parts):
            for part in parts:
                yield from _sentences_in(part)
        case ast.Starred(value=inner):
            yield from _sentences_in(inner)
        case _:
            pass


def _has_words(text: str) -> bool:
    """Whether people would read it: two words at least."""
    plain = text
    for blank in placeholders(text):
        plain = plain.replace(f"{{{blank}}}", " ")
    return len([word for word in plain.split() if any(sign.isalpha() for sign in word)]) >= 2 or (
        bool(plain.split()) and "{" in text and any(sign.isalpha() for sign in plain)
    )


def details_file(language: str) -> Path:
    return LOCALE_FOLDER / language / "details.json"


def load(language: str) -> dict[str, str]:
    path = details_file(language)
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def renewed(language: str) -> dict[str, str]:
    """The stored translations of exactly the sentences of the code; new ones are empty."""
    stored = load(language)
    return {text: stored.get(text, "") for text, _place in sorted(set(sentences()), key=lambda each: each[::-1])}


def missing(language: str) -> list[str]:
    """Sentences without a translation, or whose blanks differ."""
    return [text for text, said in renewed(language).items() if not said or placeholders(said) != placeholders(text)]


if __name__ == "__main__":
    for each in LANGUAGES:
        if "--check" not in sys.argv:
            details_file(each).write_text(json.dumps(renewed(each), ensure_ascii=False, indent=1) + "\n", "utf-8")
        for lacking in missing(each):
            print(f"{each}: {lacking}")
