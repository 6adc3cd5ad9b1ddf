"""Details and notes in Chinese: recognised, filled in, and left alone where they are nobody's sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from secondface.cli.details import said
from secondface.cli.language import speak
from secondface.cli.main import main
from secondface.errors import SecondfaceError
from secondface.spec.outputs import Scale, parse_rate
from secondface.spec.schemas import RunRequest
from tools import details


@pytest.fixture(autouse=True)
def _in_chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LANGUAGE", "zh")
    yield
    speak("en")


def detail_of(cause: object) -> str:
    with pytest.raises(SecondfaceError) as raised:
        cause()  # type: ignore[operator]
    return raised.value.detail


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (lambda: parse_rate("fast"), "'fast' 不是帧率"),
        (lambda: Scale.parse("720p"), "'720p' 不是尺寸"),
        (lambda: RunRequest.of_files(["a.jpg", "b.jpg"], "t.mp4", "o.mp4", faces="largest"), "有 2 个来源，但 faces="),
        (lambda: RunRequest.of_files(["a.jpg"], "t.mp4", "o.mp4", limits={"max_faces": 0}), "应大于或等于 1"),
        (lambda: RunRequest.of_files(["a.jpg"], "t.mp4", "o.mp4", pipeline="colour:hue=1").plan(), "步骤 `colour`"),
    ],
)
def test_real_errors_are_said_in_chinese(cause: object, words: str) -> None:
    assert words in said(detail_of(cause))


def test_a_reason_inside_a_sentence_is_said_too() -> None:
    assert said("out/x.mp4: No space left on device; remove it") == "out/x.mp4：设备上没有剩余空间；请删除它"


@pytest.mark.parametrize("text", ["", "clip.mp4", "x" * 5000, "Traceback: {0} {1}", "a: b: c"])
def test_what_is_no_sentence_of_ours_stays_as_it_is(text: str) -> None:
    assert said(text) == text


def test_the_longer_sentence_wins() -> None:
    assert said("3 sources, 1 face(s) in all frames.") == "3 个来源，1 张人脸，已查看所有帧。"


def test_english_is_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGE", "en")
    assert said("2 sources, 1 face(s).") == "2 sources, 1 face(s)."


def test_blanks_are_kept_and_no_sentence_of_the_command_line_is_left_out() -> None:
    known = details.load("zh")
    for text, place in details.sentences():
        twin = known.get(text, "")
        if twin:
            assert details.placeholders(twin) == details.placeholders(text), text
        elif place.split("/")[0] in ("cli", "settings.py"):
            pytest.fail(f"{place}: {text!r} has no Chinese; run `make docs` and write it")


def test_nearly_all_that_a_run_can_say_is_translated() -> None:
    """Not all at any moment: a sentence is written where it is raised, and its translation follows."""
    assert len(details.missing("zh")) <= 0.1 * len(details.renewed("zh"))


def test_the_command_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "-s", "a.jpg", "-t", "t.mp4", "-o", "o.mp4", "--lang", "zh", "--scale", "big"]) == 3
    assert "'big' 不是尺寸" in capsys.readouterr().err
