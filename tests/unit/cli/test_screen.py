"""What goes to stdout and what to stderr, and how an error looks to programs and in logs."""

from __future__ import annotations

import json

import pytest

from secondface.cli.screen import Screen
from secondface.errors import NoFaceInTarget


def test_a_problem_in_a_log_is_lines_with_code_remedy_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().problem(NoFaceInTarget("clip.mp4"), hint="Look closer.")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines()[0] == f"error: {NoFaceInTarget.title()}"
    for part in ("clip.mp4", "--allow-no-face", "Look closer.", "code no_face_in_target, exit 5", "docs/errors/"):
        assert part in told.err


def test_a_problem_for_programs_is_one_object_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    Screen("json").problem(NoFaceInTarget("clip.mp4"))
    told = capsys.readouterr()
    assert told.err == ""
    assert json.loads(told.out)["error"] == {
        "code": "no_face_in_target",
        "title": NoFaceInTarget.title(),
        "detail": "clip.mp4",
        "remedy": NoFaceInTarget().remedy,
        "hint": "",
        "fault": "caller",
        "retryable": False,
        "exit_code": 5,
    }


@pytest.mark.parametrize("mode", ["quiet", "json"])
def test_words_for_people_are_for_people_only(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(mode)  # type: ignore[arg-type]
    screen.line("a")
    screen.heading("b")
    screen.rows([("c", "d")])
    screen.note("e")
    assert capsys.readouterr() == ("", "")


def test_names_with_brackets_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.line("[red]clip[/red].mp4")
    screen.rows([("[bold]x", "y")])
    assert "[red]clip[/red].mp4" in (out := capsys.readouterr().out)
    assert "[bold]x" in out


def test_what_is_piped_is_neither_wrapped_nor_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in (("COLUMNS", "40"), ("FORCE_COLOR", "")):
        monkeypatch.setenv(variable, value)
    address = "https://example.org/" + "a" * 300
    screen = Screen()
    screen.rows([("source", address, "a remark of several words " * 9), ("x", "y", "z")], whole=[0])
    screen.line(f"{address} says so")
    screen.heading(address)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert [address in line for line in lines] == [True, False, True, True]


def test_what_a_service_advises_is_said_in_the_words_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    for told in (NoFaceInTarget.advice("api"), NoFaceInTarget.advice("command")):
        Screen().problem(NoFaceInTarget("clip.mp4", remedy=told))
        assert NoFaceInTarget.advice("command") in capsys.readouterr().err
    Screen().problem(NoFaceInTarget("clip.mp4", remedy="Ask Ann."))
    assert "Ask Ann." in capsys.readouterr().err
