"""Output that goes somewhere else than to a terminal."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.scenarios.conftest import World


def test_a_reader_that_stops_reading_gets_no_complaint(secondface: World) -> None:
    command = " ".join(secondface.command("models", "list", "--json"))
    told = subprocess.run(
        ["bash", "-c", f"for _ in 1 2 3 4; do {command}; echo $? >&2; done | head -c 1"], env=secondface.environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout == "{"
    assert told.stderr.splitlines()[-1] == "141"
    assert "Traceback" not in told.stderr
    assert "internal_fault" not in told.stderr


@pytest.mark.parametrize(
    ("redirection", "words", "code"),
    [
        ("| true", "run -s a.jpg -t gone.jpg -o o.png --json", 141),
        ("| true", "run --help", 141),
        ("2>&1 >&- | true", "run -s a.jpg -t gone.jpg -o o.png", 4),
        ("2>/dev/full", "run -s a.jpg -t gone.jpg -o o.png", 4),
        ("2>&-", "run -s a.jpg -t gone.jpg -o o.png", 4),
        ("<&- >&- 2>&-", "run -s a.jpg -t gone.jpg -o o.png", 4),
        (">/dev/full", "models list", 6),
        (">/dev/full", "models list --json", 6),
        ("<&-", "run -s a.jpg -t a.jpg -o there.png", 3),
        ("2>&-", "run --nonsense", 2),
    ],
)
def test_streams_that_cannot_be_used(secondface: World, redirection: str, words: str, code: int) -> None:
    (secondface.folder / "there.png").touch()
    command = " ".join(secondface.command(*words.split()))
    redirected, pipe, reader = redirection.partition("|")
    # The reader is gone before the first word is written.
    script = f"{{ sleep 0.2; {command} {redirected}; echo $? >code; }} {pipe} {reader}"
    told = subprocess.run(
        ["bash", "-c", script], env=secondface.environment, cwd=secondface.folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (secondface.folder / "code").read_text().strip() == str(code), told.stderr
    assert "Traceback" not in told.stderr
    assert "internal_fault" not in told.stderr


def test_a_terminal_without_the_characters_still_gets_an_answer(secondface: World) -> None:
    told = secondface("doctor", PYTHONIOENCODING="ascii")
    assert told.code == 0, told.err
    assert "models" in told.out


def test_json_is_not_wrapped_or_coloured(secondface: World) -> None:
    told = secondface("config", "show", "--json", FORCE_COLOR="1", COLUMNS="20")
    assert json.loads(told.out)["settings"]
