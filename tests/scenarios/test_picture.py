"""Two pictures in, one picture out."""

from __future__ import annotations

import numpy as np
from PIL import Image

from tests.scenarios.conftest import World


def test_a_picture_gets_another_face_and_nothing_else_changes_but_the_label(secondface: World) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.png", "--label", "en")
    assert told.code == 0, told.err
    before = np.asarray(Image.open(secondface.person_b).convert("RGB")).astype(int)
    after = np.asarray(Image.open(secondface.folder / "out.png").convert("RGB")).astype(int)
    changed = np.abs(after - before).max(2) > 2  # the invisible watermark moves pixels by two levels at most
    height, width = changed.shape
    assert before.shape == after.shape
    assert changed[height // 3 : height // 2, width // 3 : width * 2 // 3].mean() > 0.5
    assert not changed[: height // 10].any()
    assert not changed[: height * 3 // 4, : width // 8].any()
    assert secondface.files() == {"out.png"}


def test_what_is_told_about_it(secondface: World) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.jpg")
    for words in ("out.jpg", "Receipt", "device worked", "device s x", "¥"):
        assert words in told.out
    assert told.err == ""
