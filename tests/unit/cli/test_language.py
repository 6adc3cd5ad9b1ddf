"""Which language is spoken, and that the Chinese catalog lacks nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from secondface.cli.language import asked_for, choose_language
from tools import translations


@pytest.mark.parametrize(
    ("wanted", "environment", "language"),
    [
        ("auto", {}, "en"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("auto", {"LANG": "zh_CN.UTF-8", "LC_ALL": "en_GB.UTF-8"}, "en"),
        ("auto", {"LANG": "C", "LC_MESSAGES": "zh_TW"}, "zh"),
        ("auto", {"LANG": "de_DE.UTF-8"}, "en"),
        ("zh", {"LANG": "en_US.UTF-8"}, "zh"),
        ("en", {"LC_ALL": "zh_CN.UTF-8"}, "en"),
        ("xx", {"LC_ALL": "zh_CN.UTF-8"}, "zh"),
    ],
)
def test_the_language_follows_the_wish_then_the_system(wanted: str, environment: dict[str, str], language: str) -> None:
    assert choose_language(wanted, environment) == language


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [(["run", "--lang", "zh"], "zh"), (["--lang=en", "steps"], "en"), (["steps"], ""), (["--lang"], "")],
)
def test_lang_is_found_anywhere(arguments: list[str], asked: str) -> None:
    assert asked_for(arguments) == asked


@pytest.mark.parametrize("language", translations.LANGUAGES)
def test_every_message_is_translated(language: str) -> None:
    assert translations.missing(language) == []


@pytest.mark.parametrize("language", translations.LANGUAGES)
def test_the_catalog_holds_no_message_that_is_gone(language: str) -> None:
    stored = sorted(str(message.id) for message in translations.load(language))
    assert stored == sorted(str(message.id) for message in translations.renewed(language))


@pytest.mark.parametrize("language", translations.LANGUAGES)
def test_the_compiled_catalog_is_current(language: str) -> None:
    assert translations.po_file(language).with_suffix(".mo").read_bytes() == translations.compiled(language)


def test_help_speaks_chinese() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "secondface", "--lang", "zh", "run", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "用法" in told.stdout
    assert "人脸" in told.stdout
    assert "通用" in told.stdout
