"""Output that goes somewhere else than to a terminal."""

from __future__ import annotations

import json
import subprocess

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


def test_a_terminal_without_the_characters_still_gets_an_answer(secondface: World) -> None:
    told = secondface("doctor", PYTHONIOENCODING="ascii")
    assert told.code == 0, told.err
    assert "models" in told.out


def test_json_is_not_wrapped_or_coloured(secondface: World) -> None:
    told = secondface("config", "show", "--json", FORCE_COLOR="1", COLUMNS="20")
    assert json.loads(told.out)["settings"]
