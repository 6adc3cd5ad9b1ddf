"""From any picture mode that Pillow or libheif gives to sRGB and alpha, eight bits each, not turned.

Decides how profiles, palettes, CMYK, gray and deeper samples become RGB; must not know files.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageCms

from secondface.frames import RGB8
from secondface.media.tone import DisplayMap

_DEEP_GRAY = ("I;16", "I;16L", "I;16B", "I;16N", "I", "F")
_PROFILE_TOLERANCE = 2
"""A profile that moves no colour by more than this is sRGB under another name; converting would only add rounding."""
_STRIP_PIXELS = 1 << 20


@dataclass(frozen=True, slots=True)
class ColourResult:
    """rgb [h,w,3], alpha [h,w] or None where the picture is opaque, and what had to be guessed."""

    rgb: RGB8
    alpha: npt.NDArray[np.uint8] | None
    is_gray: bool = False
    notes: tuple[str, ...] = ()


def to_srgb(picture: Image.Image, profile: bytes | None, look: DisplayMap | None = None) -> ColourResult:
    """`picture` in sRGB. `profile` is its ICC profile, if it has one; `look` explains its colours if nothing else."""
    is_gray = picture.mode in (*_DEEP_GRAY, "L", "LA", "La", "1")
    if picture.mode in _DEEP_GRAY:
        picture = _eight_bit_gray(picture)
    if picture.mode in ("P", "PA", "1", "RGBX", "YCbCr", "HSV"):
        transparent = picture.mode == "PA" or "transparency" in picture.info
        picture = picture.convert("RGBA" if transparent else "L" if picture.mode == "1" else "RGB")
    elif picture.mode in ("RGBa", "La") or ("transparency" in picture.info and picture.mode in ("L", "RGB")):
        picture = picture.convert("RGBA")
    alpha: npt.NDArray[np.uint8] | None = None
    if picture.mode in ("RGBA", "LA"):
        alpha = np.array(picture.getchannel("A"), np.uint8)
        picture = picture.convert("RGB" if picture.mode == "RGBA" else "L")
    notes: tuple[str, ...] = ()
    if profile and picture.mode in ("RGB", "L", "CMYK", "LAB"):
        picture, notes = _through_profile(picture, profile)
        look = None
    if picture.mode != "RGB":
        picture = picture.convert("RGB")
    return ColourResult(_pixels(picture, look), alpha, is_gray, notes)


@lru_cache(maxsize=1)
def srgb_profile() -> bytes:
    """The ICC profile of sRGB, the same bytes each time."""
    profile: Any = ImageCms.createProfile("sRGB")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    content = bytearray(ImageCms.ImageCmsProfile(profile).tobytes())
    content[24:36] = bytes((7, 208, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0))  # the time of making: 2000-01-01
    return bytes(content)


def _pixels(picture: Image.Image, look: DisplayMap | None) -> RGB8:
    """The pixels of an RGB picture; in strips, for Pillow copies what it hands over several times."""
    width, height = picture.size
    out = np.empty((height, width, 3), np.uint8)
    rows = max(1, _STRIP_PIXELS // width)
    for top in range(0, height, rows):
        bottom = min(height, top + rows)
        strip = np.asarray(picture.crop((0, top, width, bottom)), np.uint8)
        out[top:bottom] = strip if look is None else look.shown(strip.astype(np.uint16) * np.uint16(257))
    return out


def _eight_bit_gray(picture: Image.Image) -> Image.Image:
    values = np.array(picture)
    if picture.mode == "F":
        top = 1.0 if values.max(initial=0) <= 1.0 else 255.0
        return Image.fromarray(np.round(np.clip(np.nan_to_num(values) / top, 0, 1) * 255).astype(np.uint8))
    return Image.fromarray(((np.clip(values.astype(np.int64), 0, 65535) + 128) // 257).astype(np.uint8))


def _through_profile(picture: Image.Image, profile: bytes) -> tuple[Image.Image, tuple[str, ...]]:
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        target = ImageCms.ImageCmsProfile(io.BytesIO(srgb_profile()))
        transform = ImageCms.buildTransform(
            source, target, picture.mode, "RGB",
            ImageCms.Intent.RELATIVE_COLORIMETRIC, ImageCms.Flags.BLACKPOINTCOMPENSATION,
        )  # fmt: skip
        if picture.mode == "RGB":
            if not _is_nearly_identity(transform):
                # in place: a second copy of a large picture is what memory is short of
                ImageCms.applyTransform(picture, transform, inPlace=True)
            return picture, ()
        return ImageCms.applyTransform(picture, transform) or picture, ()
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        # what a viewer does with a profile that does not fit the picture
        return picture, ("the colour profile is damaged or does not fit the picture: taken as sRGB",)


def _is_nearly_identity(transform: ImageCms.ImageCmsTransform) -> bool:
    steps = np.linspace(0, 255, 17).round().astype(np.uint8)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(1, -1, 3)
    moved = ImageCms.applyTransform(Image.fromarray(grid), transform)
    return moved is not None and int(np.abs(np.array(moved, np.int16) - grid).max()) <= _PROFILE_TOLERANCE
