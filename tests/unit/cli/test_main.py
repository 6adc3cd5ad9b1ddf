"""Every way in which a call can end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from secondface import __version__, observe
from secondface.cli import main as door
from secondface.cli.main import main


@pytest.fixture(autouse=True)
def _plain_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("SECONDFACE_LANG", "en")
    monkeypatch.setenv("LANGUAGE", "en")
    monkeypatch.setenv("SECONDFACE_LOG_FILE", str(tmp_path / "log" / "faults.log"))
    monkeypatch.chdir(tmp_path)
    yield
    # --debug lets every later test speak.
    observe.configure()


def fault_in_steps(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(**_options: object) -> None:
        raise error

    group = click.Group("secondface", commands=[click.Command("boom", callback=fail)])
    monkeypatch.setattr(door, "build", lambda: group)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"secondface {__version__}\n"


@pytest.mark.parametrize(
    "command",
    [["run"], ["quote"], ["demo"], ["steps"], ["models", "list"], ["doctor"], ["config", "show"], ["verify"], []],
)
def test_every_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    assert "Usage: secondface" in capsys.readouterr().out


def test_no_arguments_print_the_help_and_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "secondface demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], "No such command 'nope'"),
        (["run", "-s", "a"], "Missing option '-t'"),
        (["--source"], "requires an argument"),
        (["run", "--colour"], "No such option '--colour'"),
        (["run", "-t", "a", "-o", "b", "--quiet", "--json"], "exclude each other"),
        (["run", "-t", "a", "-o", "b", "--shape", "3"], "not in the range"),
    ],
)
def test_usage_errors_end_with_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert words in told.out + told.err


def test_a_usage_error_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


def test_a_broken_configuration_is_said_but_help_still_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SECONDFACE_THREADS", "many")
    assert main(["steps"]) == 3
    assert "SECONDFACE_THREADS" in capsys.readouterr().err
    assert main(["--help"]) == 0


def test_an_unexpected_fault_is_ours_and_leaves_its_details_in_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fault_in_steps(monkeypatch, ZeroDivisionError("a wheel came off"))
    assert main(["boom"]) == 6
    told = capsys.readouterr().err
    assert "internal_fault" in told
    assert "Traceback" not in told
    log = tmp_path / "log" / "faults.log"
    assert str(log) in told
    assert "a wheel came off" in log.read_text()


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(**_options: object) -> None:
        raise ZeroDivisionError

    flag = click.Option(["--debug"], is_flag=True)
    monkeypatch.setattr(
        door, "build", lambda: click.Group("x", commands=[click.Command("boom", callback=fail, params=[flag])])
    )
    assert main(["boom", "--debug"]) == 6
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_outside_a_run_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault_in_steps(monkeypatch, KeyboardInterrupt())
    assert main(["boom"]) == 130
    assert "cancelled" in capsys.readouterr().err


def test_an_existing_output_is_not_overwritten_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out.png").write_bytes(b"mine")
    assert main(["run", "-s", "a.jpg", "-t", "b.jpg", "-o", "out.png"]) == 3
    assert "output_occupied" in capsys.readouterr().err
    assert (tmp_path / "out.png").read_bytes() == b"mine"


def test_steps_for_programs_name_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["steps", "--json"]) == 0
    names = [step["name"] for step in json.loads(capsys.readouterr().out)["steps"]]
    assert {"denoise", "face_restore", "face_swap", "colour", "upscale", "label"} == set(names)


def test_models_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list", "--json"]) == 0
    assert all(model["state"] == "ready" for model in json.loads(capsys.readouterr().out)["models"])


def test_config_show_says_where_a_value_comes_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SECONDFACE_TIER", "t4")
    monkeypatch.setenv("SECONDFACE_TEIR", "t4")
    assert main(["config", "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"name": "tier", "value": "t4", "source": "SECONDFACE_TIER"}.items() <= next(
        row for row in shown["settings"] if row["name"] == "tier"
    ).items()
    assert shown["unknown_variables"] == ["SECONDFACE_TEIR"]


def test_doctor_ends_well_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {"cpu", "models", "label fonts", "encoder h264"} <= {finding["topic"] for finding in findings}
