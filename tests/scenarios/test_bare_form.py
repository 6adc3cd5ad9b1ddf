"""The container's form: options alone, without the word `run`."""

from __future__ import annotations

from tests.scenarios.conftest import World


def test_source_target_output(secondface: World) -> None:
    told = secondface("--source", secondface.person_a, "--target", secondface.person_b, "--output", "out.webp")
    assert told.code == 0, told.err
    assert secondface.files() == {"out.webp"}
