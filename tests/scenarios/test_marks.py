"""Every result says that it was made by AI, and `verify` reads that back."""

from __future__ import annotations

import pytest

from tests.scenarios.conftest import World


@pytest.mark.parametrize("name", ["out.png", "out.jpg", "out.webp"])
def test_a_picture_carries_its_marks(secondface: World, name: str) -> None:
    made = secondface(
        "run", "-s", secondface.person_a, "-t", secondface.person_b, "-o", name, "--json",
        SECONDFACE_CONTENT_PRODUCER="Example-Studio",
    )  # fmt: skip
    told = secondface("verify", name, "--json")
    assert told.code == 0, told.out + told.err
    assert told.object["says_ai_made"] is True
    assert told.object["label"]["content_producer"] == "Example-Studio"
    assert told.object["label"]["produce_id"] == made.object["produce_id"]


def test_an_ordinary_picture_has_none(secondface: World) -> None:
    told = secondface("verify", secondface.person_b)
    assert told.code == 1
    assert "does not say" in told.out


def test_the_visible_label_goes_only_with_a_promise_that_is_kept_in_the_log(secondface: World) -> None:
    pair = ("-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.png")
    assert secondface("run", *pair, "--label", "off").code == 3
    told = secondface("run", *pair, "--label", "off", "--acknowledge", "The player shows it.")
    assert told.code == 0, told.err
    assert "The player shows it." in (secondface.folder / "log" / "log.txt").read_text()
    assert secondface("verify", "out.png").code == 0
