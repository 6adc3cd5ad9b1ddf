"""Runs a picture through a function piece by piece, so that memory does not depend on the picture's size.

Decides how a picture is cut and joined; must not know what the function does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import cv2
import numpy as np

from secondface.frames import RGB8, Box

Process = Callable[[RGB8], RGB8]
Checkpoint = Callable[[], None]
"""Called between tiles; raises (`Cancelled`) to stop."""


def tile_boxes(width: int, height: int, side: int) -> Iterator[Box]:
    """Boxes of at most side x side pixels that cover the picture once, nearly equal in size."""
    xs, ys = _cuts(width, side), _cuts(height, side)
    for y0, y1 in pairwise(ys):
        for x0, x1 in pairwise(xs):
            yield Box(x0, y0, x1, y1)


def _cuts(length: int, side: int) -> list[int]:
    count = -(-length // side)
    return [round(length * k / count) for k in range(count + 1)]


def run_tiled(
    rgb: RGB8, process: Process, *, side: int, border: int, scale: int, checkpoint: Checkpoint | None = None
) -> RGB8:
    """The picture `scale` times larger, made from tiles.

    `process` gets [h+2*border, w+2*border, 3] and returns [h*scale, w*scale, 3]. With a border as wide as the
    function's reach the joints are exact, not blended.
    """
    height, width = rgb.shape[:2]
    out = np.empty((height * scale, width * scale, 3), np.uint8)
    for box in tile_boxes(width, height, side):
        if checkpoint is not None:
            checkpoint()
        done = process(read_bordered(rgb, box, border))
        out[box.y0 * scale : box.y1 * scale, box.x0 * scale : box.x1 * scale] = done
    return out


def read_bordered(rgb: RGB8, box: Box, border: int) -> RGB8:
    """The pixels in `box` and `border` pixels around it, mirrored where the picture ends."""
    height, width = rgb.shape[:2]
    wanted = box.grow(border)
    inside = wanted.clip(width, height)
    piece = rgb[inside.y0 : inside.y1, inside.x0 : inside.x1]
    return np.asarray(
        cv2.copyMakeBorder(
            piece,
            inside.y0 - wanted.y0,
            wanted.y1 - inside.y1,
            inside.x0 - wanted.x0,
            wanted.x1 - inside.x1,
            cv2.BORDER_REFLECT_101,
        ),
        np.uint8,
    )
