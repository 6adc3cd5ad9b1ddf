"""Tiling covers each pixel once, joins exactly, and stops between tiles when asked."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.errors import Cancelled
from secondface.frames import RGB8, Box
from secondface.vision.tiles import read_bordered, run_tiled, tile_boxes


@given(st.integers(1, 300), st.integers(1, 300), st.integers(8, 128))
def test_tiles_cover_each_pixel_once_and_are_nearly_equal(width: int, height: int, side: int) -> None:
    seen = np.zeros((height, width), np.uint8)
    boxes = list(tile_boxes(width, height, side))
    for box in boxes:
        seen[box.y0 : box.y1, box.x0 : box.x1] += 1
    assert (seen == 1).all()
    assert max(box.width for box in boxes) <= side
    assert max(box.width for box in boxes) - min(box.width for box in boxes) <= 1


def noise(width: int, height: int) -> RGB8:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("size", [(1, 1), (3, 90), (64, 64), (101, 67)])
def test_a_filter_no_wider_than_the_border_leaves_no_joint(size: tuple[int, int]) -> None:
    rgb = noise(*size)

    def blur(tile: RGB8) -> RGB8:
        smooth = cv2.blur(tile, (7, 7))[3:-3, 3:-3]
        return np.asarray(smooth, np.uint8).repeat(2, 0).repeat(2, 1)

    tiled = run_tiled(rgb, blur, side=20, border=3, scale=2)
    assert np.array_equal(tiled, run_tiled(rgb, blur, side=1000, border=3, scale=2))


def test_the_border_is_the_neighbour_inside_and_mirrored_outside() -> None:
    rgb = noise(10, 8)
    piece = read_bordered(rgb, Box(0, 4, 5, 8), 2)
    assert piece.shape == (8, 9, 3)
    assert np.array_equal(piece[:6, 2:], rgb[2:8, :7])
    assert np.array_equal(piece[6], piece[4])
    assert np.array_equal(piece[:, 0], piece[:, 4])


def test_the_checkpoint_can_stop_the_work_between_tiles() -> None:
    calls: list[int] = []

    def checkpoint() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        run_tiled(noise(100, 10), lambda tile: tile, side=10, border=0, scale=1, checkpoint=checkpoint)
    assert len(calls) == 3
