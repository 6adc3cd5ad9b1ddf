"""Problem documents speak the language of the request, and of its fields, never of a command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from fastapi import Request

from secondface.errors import InvalidOption, NoFaceInTarget, SecondfaceError
from secondface.gateway.problems import STATUS, answer, problem_of
from secondface.gateway.refusals import BodyInvalid
from secondface.language import Language
from secondface.spec.faces import FaceRule, parse_mapping
from secondface.spec.outputs import VideoOutput
from secondface.spec.schemas import RunRequest

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


_PEOPLE = ["a.jpg", "b.jpg"]
_WRONG: tuple[Callable[[], object], ...] = (
    lambda: FaceRule.parse("biggest"),
    lambda: FaceRule(kind="like"),
    lambda: parse_mapping("nobody.jpg=0", [[Path("a.jpg")]]),
    lambda: RunRequest.of_files(_PEOPLE, "t.mp4", "o.mp4", faces="largest"),
    lambda: RunRequest.of_files(_PEOPLE, "t.mp4", "o.mp4", mapping=["a.jpg=0"]),
    lambda: RunRequest.of_files(_PEOPLE, "t.mp4", "o.mp4", mapping=["a.jpg=0", "b.jpg=0"]),
    lambda: RunRequest.of_files([], "t.mp4", "o.mp4", pipeline="denoise", restore=0.5),
    lambda: RunRequest.of_files([], "t.mp4", "o.mp4", restore="off").plan(),
    lambda: VideoOutput.model_validate({"begin": "2", "end": "1"}),
    lambda: VideoOutput.model_validate({"audio": False, "volume": "50%"}),
)


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("wrong", _WRONG)
def test_what_a_request_says_is_not_told_in_options_of_a_command_line(
    wrong: Callable[[], object], language: Language
) -> None:
    with pytest.raises(SecondfaceError) as raised:
        wrong()
    said = problem_of(raised.value, "req_1", language).detail
    assert not _COMMANDS.search(said), said
    assert bool(re.search("[\u4e00-\u9fff]", said)) == (language == "zh"), said


@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("words", ["--map", "-s", "--faces largest", "a --to b.png"])
def test_a_callers_own_words_are_told_as_they_were_written(words: str, language: Language) -> None:
    own = BodyInvalid(f"A form has no part {words!r}; write target.")
    assert repr(words) in problem_of(own, "req_1", language).detail
