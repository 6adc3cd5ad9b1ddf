"""A target or a source without a face."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.scenarios.conftest import World


@pytest.fixture
def wall(tmp_path: Path) -> Path:
    """A picture of nobody."""
    path = tmp_path.parent / f"{tmp_path.name}-wall.png"
    y, x = np.mgrid[0:360, 0:480]
    Image.fromarray(np.stack([x // 2, y // 2, (x + y) // 4], axis=2).astype(np.uint8)).save(path)
    return path


def test_no_face_in_the_target_is_an_error_and_leaves_no_file(secondface: World, wall: Path) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", wall, "-o", "out.png")
    assert told.code == 5
    assert "code no_face_in_target" in told.err
    assert "--allow-no-face" in told.err
    assert secondface.files() == set()


def test_it_can_be_allowed(secondface: World, wall: Path) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", wall, "-o", "out.png", "--allow-no-face", "--json")
    assert told.code == 0, told.err
    assert told.object["swapped_frames"] == 0
    assert secondface("verify", "out.png").code == 0


def test_no_face_in_the_source_names_the_picture(secondface: World, wall: Path) -> None:
    told = secondface("run", "-s", wall, "-t", secondface.person_b, "-o", "out.png")
    assert told.code == 5
    assert "code no_face_in_source" in told.err
    assert wall.name in told.err
    assert secondface.files() == set()
