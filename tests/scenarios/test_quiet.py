"""For scripts: silence unless something is wrong."""

from __future__ import annotations

from tests.scenarios.conftest import World


def test_quiet_prints_nothing(secondface: World) -> None:
    told = secondface("run", "-q", "-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.png")
    assert (told.code, told.out, told.err) == (0, "", "")


def test_quiet_still_tells_problems(secondface: World) -> None:
    told = secondface("run", "-q", "-s", "gone.jpg", "-t", secondface.person_b, "-o", "out.png")
    assert told.code == 4
    assert "file_unreadable" in told.err
