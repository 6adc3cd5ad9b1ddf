"""Two people in the target, two sources, one pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.scenarios.conftest import World


@pytest.fixture
def pair(shared: Callable[[str], Path], secondface: World) -> Path:
    """A small copy of a picture with two people side by side."""
    small = secondface.folder / "pair.png"
    with Image.open(shared("groups/synth_two_people.jpg")) as picture:
        picture.convert("RGB").resize((848, 632)).save(small)
    return small


def halves(path: Path) -> tuple[np.ndarray, np.ndarray]:
    pixels = np.asarray(Image.open(path).convert("RGB")).astype(float)
    middle = pixels.shape[1] // 2
    return pixels[60:400, :middle], pixels[60:400, middle:]


def test_sources_go_from_left_to_right(secondface: World, pair: Path) -> None:
    both = ("-s", secondface.person_a, secondface.person_b)
    told = secondface("run", *both, "-t", pair, "-o", "out.png", "--json")
    assert told.code == 0, told.err
    assert told.object["faces_swapped"] == 2


def test_a_map_turns_them_round(secondface: World, pair: Path) -> None:
    both = ("-s", secondface.person_a, secondface.person_b, "-t", pair)
    assert secondface("run", *both, "-o", "plain.png").code == 0
    turned = ("--map", "person_a.jpg=1", "--map", "person_b.jpg=0")
    assert secondface("run", *both, "-o", "turned.png", *turned).code == 0
    for plain, turned_half in zip(
        halves(secondface.folder / "plain.png"), halves(secondface.folder / "turned.png"), strict=True
    ):
        assert np.abs(plain - turned_half).max() > 40


def test_the_other_face_stays_as_it_is(secondface: World, pair: Path) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", pair, "-o", "out.png", "--faces", "0", "--json")
    assert told.code == 0, told.err
    (left, right), (new_left, new_right) = halves(pair), halves(secondface.folder / "out.png")
    assert np.abs(left - new_left).max() > 40
    assert np.abs(right - new_right).max() <= 2  # what the invisible watermark may take


def test_more_sources_than_people_are_refused(secondface: World, pair: Path) -> None:
    three = ("-s", secondface.person_a, secondface.person_b, pair)
    told = secondface("run", *three, "-t", pair, "-o", "out.png", "--json")
    assert told.code == 3
    assert secondface.files() == {"pair.png"}
