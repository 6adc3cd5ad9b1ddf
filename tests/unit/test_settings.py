"""Where settings come from, and what is said when one is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondface.errors import InvalidSetting
from secondface.settings import Settings, load_settings, setting_rows, unknown_variables


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"SECONDFACE_{name.upper()}", raising=False)
    monkeypatch.delenv("SECONDFACE_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def write_config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "secondface" / "config.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def rows() -> dict[str, tuple[str, str]]:
    return {row.name: (row.value, row.source) for row in setting_rows(load_settings())}


def test_environment_wins_over_file_and_file_over_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_config(tmp_path, 'threads = 3\ntier = "t4"\n')
    monkeypatch.setenv("SECONDFACE_THREADS", "2")
    found = rows()
    assert found["threads"] == ("2", "SECONDFACE_THREADS")
    assert found["tier"] == ("t4", str(path))
    assert found["market"] == ("on_demand", "default")


def test_the_file_can_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "mine.toml"
    other.write_text('device = "cpu"\n', encoding="utf-8")
    monkeypatch.setenv("SECONDFACE_CONFIG", str(other))
    assert rows()["device"] == ("cpu", str(other))


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("THREADS", "-1"),
        ("DEVICE", "abacus"),
        ("RESTORE", "1.5"),
        ("RESTORE", "much"),
        ("CONTENT_PRODUCER", "two words"),
        ("LABEL", "off"),
    ],
)
def test_a_wrong_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(f"SECONDFACE_{variable}", value)
    with pytest.raises(InvalidSetting, match=f"SECONDFACE_{variable}"):
        load_settings()


@pytest.mark.parametrize("restore", ["auto", "off", "0", "0.35", "1", "1.0"])
def test_strengths_that_are_right(monkeypatch: pytest.MonkeyPatch, restore: str) -> None:
    monkeypatch.setenv("SECONDFACE_RESTORE", restore)
    assert load_settings().restore == restore


@pytest.mark.parametrize("text", ["colour = 1\n", "threads = 'many'\n", "threads = \n", "threads = -4\n"])
def test_a_wrong_file_names_itself(tmp_path: Path, text: str) -> None:
    path = write_config(tmp_path, text)
    with pytest.raises(InvalidSetting) as caught:
        load_settings()
    assert str(path) in str(caught.value)


def test_a_named_file_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECONDFACE_CONFIG", str(tmp_path / "gone.toml"))
    with pytest.raises(InvalidSetting, match="does not exist"):
        load_settings()


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().threads = 5  # type: ignore[misc]


def test_every_setting_says_what_it_means() -> None:
    assert all(row.description.endswith(".") for row in setting_rows(load_settings()))


def test_a_slip_of_the_pen_is_found() -> None:
    assert unknown_variables({"SECONDFACE_DEVISE": "cpu", "SECONDFACE_DEVICE": "cpu", "PATH": ""}) == [
        "SECONDFACE_DEVISE"
    ]
