"""Arithmetic of colour images in the forms that are quick.

NumPy broadcasts a mask over the three channels of each pixel, which takes ten times as long as a product of images;
OpenCV looks four channels up in a third to a seventh of the time of three.
"""

from __future__ import annotations

from typing import TypeVar, cast

import cv2
import numpy as np

from secondface.frames import RGB8, Float, Mask01

Image = TypeVar("Image", RGB8, Float)


def times(image: Float, mask: Mask01) -> Float:
    """[h,w,c] every channel of an image times a mask [h,w]; both float32."""
    return cv2.multiply(image, cv2.merge([mask] * image.shape[2]))


def total(image: Float) -> Float:
    """[c] the sum of each channel of [h,w,c], added up in double precision."""
    return np.array(cv2.sumElems(image)[: image.shape[2]])


def look_up(image: Image, place: Float, *, beyond: int = cv2.BORDER_CONSTANT) -> Image:
    """[h,w,3] of an image [H,W,3] at the places [h,w,2] (x, y, pixel centres at whole numbers), bilinear."""
    four = cv2.remap(padded(image), place, None, cv2.INTER_LINEAR, borderMode=beyond)
    return cast("Image", cv2.cvtColor(four, cv2.COLOR_RGBA2RGB))


def padded(image: Image) -> Image:
    """[h,w,4] an image [h,w,3] with a channel that nobody looks at."""
    return cast("Image", cv2.cvtColor(image, cv2.COLOR_RGB2RGBA))
