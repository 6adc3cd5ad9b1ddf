"""Chroma samples brought to the size of luma and back, by where they lie in their cell of pixels.

Decides the two filters, which fit each other; must not know codes, colours or frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np

Place = Literal["first", "middle", "last"]
"""Along one axis: on the first pixel of the cell, between its pixels, or on the last."""


@dataclass(frozen=True, slots=True)
class ChromaSite:
    """Where a chroma sample lies in its cell of two pixels; wider cells are always taken at the middle."""

    x: Place = "middle"
    y: Place = "middle"

    def turned(self, clockwise: int, mirrored: bool) -> ChromaSite:
        """The same samples after a mirror left to right, if any, and then a turn of 0, 90, 180 or 270 degrees."""
        x, y = self.x, self.y
        if mirrored:
            x = _OTHER_END[x]
        for _ in range(clockwise // 90):
            x, y = _OTHER_END[y], x
        return ChromaSite(x, y)


CENTRE = ChromaSite()
"""JPEG, MPEG-1."""
LEFT = ChromaSite("first")
"""MPEG-2, H.264, HEVC, VP9 and AV1 unless they say otherwise."""
TOP_LEFT = ChromaSite("first", "first")
"""BT.2020 and BT.2100."""

_OTHER_END: dict[Place, Place] = {"first": "last", "middle": "middle", "last": "first"}


def enlarged(samples: Any, shift_x: int, shift_y: int, site: ChromaSite) -> Any:
    """`samples` [h,w], interpolated to [h << shift_y, w << shift_x]; the outermost ones go on beyond the edge."""
    height, width = samples.shape
    by_x, by_y = _is_on_pixel(shift_x, site.x), _is_on_pixel(shift_y, site.y)
    size = (width if by_x else width << shift_x, height if by_y else height << shift_y)
    if size != (width, height):
        samples = cv2.resize(samples, size, interpolation=cv2.INTER_LINEAR)
    if by_y:
        samples = _between_rows(samples, site.y)
    return _between_columns(samples, site.x) if by_x else samples


def reduced(values: Any, shift_x: int, shift_y: int, site: ChromaSite) -> Any:
    """`values` [h,w] of whole pixels, weighted around each chroma sample; a cell that the edge cuts is filled up."""
    # a cell at an odd right or bottom edge has fewer pixels: repeat them, so that each counts the same
    right, bottom = -values.shape[1] % (1 << shift_x), -values.shape[0] % (1 << shift_y)
    if right | bottom:
        values = cv2.copyMakeBorder(values, 0, bottom, 0, right, cv2.BORDER_REPLICATE)
    by_x, by_y = _is_on_pixel(shift_x, site.x), _is_on_pixel(shift_y, site.y)
    if by_x:
        values = cv2.filter2D(values, -1, _AROUND)[:, _first(site.x) :: 2]
    if by_y:
        values = cv2.filter2D(values, -1, _AROUND.T)[_first(site.y) :: 2]
    height, width = values.shape
    size = (width if by_x else width >> shift_x, height if by_y else height >> shift_y)
    return values if size == (width, height) else cv2.resize(values, size, interpolation=cv2.INTER_AREA)


_AROUND = np.array([[0.25, 0.5, 0.25]], np.float32)


def _is_on_pixel(shift: int, place: Place) -> bool:
    return shift == 1 and place != "middle"


def _first(place: Place) -> int:
    return 0 if place == "first" else 1


def _between_columns(samples: Any, place: Place) -> Any:
    neighbours = cv2.copyMakeBorder(samples, 0, 0, 1, 1, cv2.BORDER_REPLICATE)
    if place == "first":
        pair = [samples, _mean(samples, neighbours[:, 2:])]
    else:
        pair = [_mean(neighbours[:, :-2], samples), samples]
    height, width = samples.shape
    return cv2.merge(pair).reshape(height, width * 2)


def _between_rows(samples: Any, place: Place) -> Any:
    neighbours = cv2.copyMakeBorder(samples, 1, 1, 0, 0, cv2.BORDER_REPLICATE)
    other = neighbours[2:] if place == "first" else neighbours[:-2]
    pair = [samples, _mean(samples, other)]
    height, width = samples.shape
    return np.stack(pair if place == "first" else pair[::-1], 1).reshape(height * 2, width)


def _mean(one: Any, other: Any) -> Any:
    return cv2.addWeighted(one, 0.5, other, 0.5, 0.0)
