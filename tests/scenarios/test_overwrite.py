"""A file of the output's name is not lost by accident."""

from __future__ import annotations

from tests.scenarios.conftest import World


def test_an_existing_file_stays_unless_y_is_passed(secondface: World) -> None:
    out = secondface.folder / "out.png"
    out.write_bytes(b"mine")
    pair = ("-s", secondface.person_a, "-t", secondface.person_b, "-o", out)
    told = secondface("run", *pair)
    assert told.code == 3
    assert "code output_occupied" in told.err
    assert out.read_bytes() == b"mine"
    assert secondface("run", *pair, "-y").code == 0
    assert out.read_bytes()[:4] == b"\x89PNG"


def test_a_failed_run_keeps_the_file_that_was_there(secondface: World) -> None:
    out = secondface.folder / "out.png"
    out.write_bytes(b"mine")
    told = secondface("run", "-s", "gone.jpg", "-t", secondface.person_b, "-o", out, "-y")
    assert told.code == 4
    assert out.read_bytes() == b"mine"
