"""How arguments are read before click sees them."""

from __future__ import annotations

import pytest

from secondface.cli.commands import name_run, repeat_options


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("-s a.jpg -t b.mp4", "-s a.jpg -t b.mp4"),
        ("-s a.jpg b.jpg -t c.mp4", "-s a.jpg -s b.jpg -t c.mp4"),
        ("--source a.jpg b.jpg c.jpg -t d", "--source a.jpg --source b.jpg --source c.jpg -t d"),
        ("-t d -s a b", "-t d -s a -s b"),
        ("-s a --same-person -s b c -o d", "-s a --same-person -s b -s c -o d"),
        ("-t c.mp4 d.mp4 -o e", "-t c.mp4 -t d.mp4 -o e"),
        ("-s a -t -odd.mp4 --weird.jpg -o e", "-s a -t -odd.mp4 --weird.jpg -o e"),
        ("-o e stray", "-o e stray"),
    ],
)
def test_a_shell_pattern_gives_several_sources_or_targets(given: str, read: str) -> None:
    assert repeat_options(given.split()) == read.split()


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("--source a --target b --output c", "run --source a --target b --output c"),
        ("-s a -t b -o c", "run -s a -t b -o c"),
        ("--lang zh --source a", "--lang zh run --source a"),
        ("--lang=zh --debug -s a", "--lang=zh --debug run -s a"),
        ("run -s a", "run -s a"),
        ("steps", "steps"),
        ("--help", "--help"),
        ("--version", "--version"),
        ("-h", "-h"),
        ("", ""),
    ],
)
def test_options_without_a_command_are_those_of_run(given: str, read: str) -> None:
    assert name_run(given.split()) == read.split()
