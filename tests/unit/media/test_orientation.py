from __future__ import annotations

import struct

import numpy as np
import pytest

from secondface.media.orientation import Orientation, of_display_matrix

ONE = 1 << 16


def matrix(a: int, b: int, c: int, d: int) -> bytes:
    return struct.pack("<9i", a * ONE, b * ONE, 0, c * ONE, d * ONE, 0, 0, 0, 1 << 30)


@pytest.mark.parametrize("linear", [(1, 0, 0, 1), (0, 1, -1, 0), (-1, 0, 0, -1), (0, -1, 1, 0),
                                    (-1, 0, 0, 1), (0, -1, -1, 0), (1, 0, 0, -1), (0, 1, 1, 0)])  # fmt: skip
def test_pixels_go_where_the_matrix_sends_them(linear: tuple[int, int, int, int]) -> None:
    a, b, c, d = linear
    orientation = of_display_matrix(matrix(*linear))
    assert orientation is not None
    stored = np.arange(6, dtype=np.uint8).reshape(2, 3)
    places = {(a * x + c * y, b * x + d * y): stored[y, x] for y in range(2) for x in range(3)}
    left, top = min(x for x, _ in places), min(y for _, y in places)
    shown = orientation.apply(stored)
    for (x, y), value in places.items():
        assert shown[y - top, x - left] == value
    assert orientation.shown_size(3, 2) == shown.shape[::-1]


def test_an_odd_angle_is_not_guessed() -> None:
    assert of_display_matrix(struct.pack("<9i", 46341, 46341, 0, -46341, 46341, 0, 0, 0, 1 << 30)) is None
    assert of_display_matrix(struct.pack("<9i", *[0] * 9)) is None


def test_upright_planes_are_copied_not_shared() -> None:
    plane = np.zeros((4, 4), np.uint8)
    Orientation().apply(plane)[0, 0] = 9
    assert plane[0, 0] == 0
