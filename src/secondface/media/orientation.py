"""How stored planes are turned to stand upright: the eight orientations of display matrices and EXIF.

Decides turns and mirrors by whole quarter turns; must not know files.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

_CLOCKWISE = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}


@dataclass(frozen=True, slots=True)
class Orientation:
    """First mirrored left to right when `mirrored`, then turned clockwise by 0, 90, 180 or 270 degrees."""

    clockwise: int = 0
    mirrored: bool = False

    @property
    def is_upright(self) -> bool:
        return self.clockwise == 0 and not self.mirrored

    @property
    def swaps_sides(self) -> bool:
        return self.clockwise in (90, 270)

    def apply(self, plane: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A new, contiguous array [h,w] or [h,w,c] of `plane` turned upright."""
        if self.is_upright:
            return plane.copy()
        turned = cv2.flip(plane, 1) if self.mirrored else plane
        if self.clockwise:
            turned = cv2.rotate(turned, _CLOCKWISE[self.clockwise])
        return np.ascontiguousarray(turned)

    def shown_size(self, width: int, height: int) -> tuple[int, int]:
        """Upright width and height of a stored picture of that size."""
        return (height, width) if self.swaps_sides else (width, height)


UPRIGHT = Orientation()


def of_display_matrix(matrix: bytes) -> Orientation | None:
    """The orientation that FFmpeg's display matrix (nine 32-bit integers) asks for.

    None when it is no multiple of a quarter turn, with or without a mirror; players show these unturned.
    """
    a, b, _, c, d = struct.unpack_from("<5i", matrix)
    scale = max(abs(a), abs(b), abs(c), abs(d))
    if scale == 0:
        return None
    # x' = a x + c y, y' = b x + d y, with y down
    key = tuple(round(value / scale) for value in (a, b, c, d))
    return _MATRICES.get(key)


_MATRICES: dict[tuple[int, ...], Orientation] = {
    (1, 0, 0, 1): Orientation(0),
    (0, 1, -1, 0): Orientation(90),
    (-1, 0, 0, -1): Orientation(180),
    (0, -1, 1, 0): Orientation(270),
    (-1, 0, 0, 1): Orientation(0, mirrored=True),
    (0, -1, -1, 0): Orientation(90, mirrored=True),
    (1, 0, 0, -1): Orientation(180, mirrored=True),
    (0, 1, 1, 0): Orientation(270, mirrored=True),
}


def of_exif(value: object) -> Orientation:
    """The orientation of EXIF's number 1..8; anything else is upright."""
    return _EXIF.get(value, UPRIGHT) if isinstance(value, int) else UPRIGHT


_EXIF: dict[int, Orientation] = {
    2: Orientation(0, mirrored=True), 3: Orientation(180), 4: Orientation(180, mirrored=True),
    5: Orientation(270, mirrored=True), 6: Orientation(90), 7: Orientation(90, mirrored=True), 8: Orientation(270),
}  # fmt: skip
