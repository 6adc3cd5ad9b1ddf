"""Every error can be told apart, explained, carried to another process, and looked up."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from secondface import errors
from secondface.errors import SecondfaceError
from secondface.gateway import refusals
from tools.write_error_docs import error_classes, pages

CLASSES = error_classes()


def test_codes_are_unique_and_stable_in_form() -> None:
    codes = [error.code for error in CLASSES]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", code) for code in codes)


def test_each_class_has_its_own_code() -> None:
    assert [error.__name__ for error in CLASSES if "code" not in vars(error)] == []


def test_the_tree_in_the_docstring_is_complete() -> None:
    drawn = set(re.findall(r"[A-Z][A-Za-z]+", f"{errors.__doc__} {refusals.__doc__}"))
    assert {error.__name__ for error in CLASSES} <= drawn


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.code)
def test_says_what_happened_and_what_to_do(error: type[SecondfaceError]) -> None:
    assert error.title().endswith(".")
    assert len(error().remedy) > 20


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.code)
def test_survives_pickling(error: type[SecondfaceError]) -> None:
    raised = error("clip.mp4", stream=1)
    carried = pickle.loads(pickle.dumps(raised))
    assert type(carried) is error
    assert (carried.detail, carried.facts, str(carried)) == ("clip.mp4", {"stream": 1}, str(raised))


def test_pages_are_current(root: Path) -> None:
    folder = root / "docs" / "errors"
    written = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")}
    assert written == pages(), "run `make docs`"
