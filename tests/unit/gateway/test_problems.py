"""Problem documents speak the language of the request, and of its fields, never of a command line."""

from __future__ import annotations

import json
import re

import pytest
from fastapi import Request

from secondface.errors import InvalidOption, NoFaceInTarget, SecondfaceError, TooManySources
from secondface.gateway.problems import STATUS, answer, in_fields, problem_of

_COMMANDS = re.compile(r"`?secondface [a-z]|(?<![\w-])--[a-z]|(?<![\w-])-[a-z]\b|SECONDFACE_")


def asked(header: str | None) -> Request:
    headers = [] if header is None else [(b"accept-language", header.encode())]
    return Request({"type": "http", "headers": headers})


@pytest.mark.parametrize("kind", STATUS, ids=lambda kind: kind.code)
def test_no_advice_over_http_is_for_a_command_line(kind: type[SecondfaceError]) -> None:
    problem = problem_of(kind(), "req_1")
    assert not _COMMANDS.search(problem.remedy), problem.remedy
    assert len(problem.remedy) > 12


@pytest.mark.parametrize("kind", STATUS, ids=lambda kind: kind.code)
def test_each_error_is_explained_in_chinese_under_the_same_code(kind: type[SecondfaceError]) -> None:
    english, chinese = problem_of(kind(), "req_1"), problem_of(kind(), "req_1", "zh")
    assert chinese.code == english.code
    for text in (chinese.title, chinese.remedy):
        assert re.search("[\u4e00-\u9fff]", text), text
        assert not re.search(r"[A-Z]?[a-z]+ (is|the|of|to|a) ", text), text


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "en"), ("", "en"), ("zh", "zh"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("zh-Hant-TW", "zh"),
        ("ZH-cn", "zh"),
        ("en;q=0.4, zh;q=0.5", "zh"), ("en, zh", "en"), ("fr, zh;q=0.1", "zh"), ("fr", "en"), ("*", "en"),
        ("zh;q=0", "en"), ("zh;q=0, *", "en"), ("zh;q=what", "en"), (";;,,=", "en"),
    ],
)  # fmt: skip
def test_an_answer_speaks_the_language_that_was_asked_for(header: str | None, language: str) -> None:
    reply = answer(asked(header), NoFaceInTarget("target: there is nobody"))
    assert reply.headers["content-language"] == language
    assert "Accept-Language" in reply.headers["vary"]
    body = json.loads(bytes(reply.body))
    assert body["code"] == "no_face_in_target"
    assert (body["title"] == NoFaceInTarget.title()) == (language == "en")


def test_details_are_said_in_the_language_too() -> None:
    detail = problem_of(InvalidOption("faces=like needs a reference picture."), "req_1", "zh").detail
    assert detail == "faces=like 需要参考图片。"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_details_name_fields_and_not_options(language: str) -> None:
    for detail in ("No --map entry uses x.png.", "2 sources, but --faces largest chooses 1."):
        said = problem_of(TooManySources(detail), "req_1", language).detail  # type: ignore[arg-type]
        assert not _COMMANDS.search(said), said
    assert in_fields("a--map b---faces x-s.png --mapping") == "a--map b---faces x-s.png --mapping"
