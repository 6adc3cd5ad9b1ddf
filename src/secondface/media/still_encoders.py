"""Encoding one picture with what is to stand beside it, format by format.

Decides the libraries' parameters; must not know where the picture came from or which of its words are wanted.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image, PngImagePlugin

from secondface.frames import RGB8
from secondface.media.deep_output import Descriptions, avif_deep, png16
from secondface.media.gif_output import gif_still
from secondface.media.still_colour import srgb_profile
from secondface.media.still_frames import DeepFrame
from secondface.media.still_metadata import StillCoding, iptc_segment
from secondface.media.tiff_output import tiff

DEEP = frozenset({"PNG", "TIFF", "AVIF"})
"""Formats that hold more than eight bits."""
GRAY = frozenset({"PNG", "TIFF", "JPEG"})
"""Formats that are written gray when the picture is."""
_XMP_TAG, _IPTC_TAG, _PROFILE_TAG = 700, 33723, 34675
_BYTE, _UNDEFINED = 1, 7
_LONGEST_SEGMENT = 65_533 - 64
"""Bytes that a JPEG segment holds beside its own header."""
_COLOURED, _MOST_COLOURED = 8, 0.6
"""A picture that was gray stays gray unless so large a share of it has channels this far apart, as after tinting."""


@dataclass(frozen=True, slots=True)
class About:
    """What stands beside the pixels."""

    captured: str | None = None
    xmp: bytes | None = None
    exif: bytes | None = None
    """Without its `Exif` header."""
    iptc: bytes | None = None
    comment: bytes | None = None
    texts: Sequence[tuple[str, str]] = ()

    @property
    def whole_exif(self) -> bytes | None:
        """The EXIF to write, without header; None where there is nothing to say."""
        if self.exif or not self.captured:
            return self.exif
        exif = Image.Exif()
        exif.endian = "<"
        exif[ExifTags.Base.DateTime] = self.captured
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = self.captured
        return exif.tobytes().removeprefix(b"Exif\0\0")


@dataclass(frozen=True, slots=True)
class PlainPicture:
    """Eight bits of sRGB. A gray one is written gray; one that `was_tagged` gets sRGB's profile."""

    rgb: RGB8
    alpha: npt.NDArray[np.uint8] | None
    is_gray: bool = False
    was_tagged: bool = False


def plain_bytes(name: str, picture: PlainPicture, about: About, quality: int | None, *, lossless: bool) -> bytes:
    """The whole file of format `name`."""
    if name == "GIF":
        return gif_still(picture.rgb, picture.alpha, about.xmp, about.comment)
    if name == "TIFF":
        gray = _gray_of(name, picture)
        profile = srgb_profile() if picture.was_tagged and gray is None else None
        return tiff(picture.rgb if gray is None else gray, picture.alpha, _tiff_tags(about, profile), about.whole_exif)
    image = _image(name, picture)
    encoded = io.BytesIO()
    image.save(encoded, name, **_parameters(name, quality, lossless), **_beside(name, picture, about))
    return encoded.getvalue()


def deep_bytes(name: str, frame: DeepFrame, coding: StillCoding, about: About, quality: int) -> bytes:
    """The whole file, as deep as the picture and in its own colours; `name` is one of DEEP."""
    words: npt.NDArray[np.uint16] = frame.words
    if coding.is_gray and name != "AVIF" and _is_still_gray(words >> np.uint16(8)):
        words = np.asarray(cv2.cvtColor(words, cv2.COLOR_RGB2GRAY), np.uint16)
    profile = coding.profile or (srgb_profile() if coding.was_tagged and coding.cicp is None else None)
    if words.ndim != (2 if (profile or b"")[16:20] == b"GRAY" else words.ndim):
        profile = None
    described = Descriptions(about.whole_exif, about.xmp, profile, coding.cicp, about.texts)
    match name:
        case "PNG":
            return png16(words, frame.alpha, described)
        case "AVIF":
            return avif_deep(words, frame.alpha, described, 12 if coding.depth > 10 else 10, quality)
        case _:
            return tiff(words, frame.alpha, _tiff_tags(about, profile), about.whole_exif)


def _is_still_gray(rgb: npt.NDArray[Any]) -> bool:
    sample: npt.NDArray[np.int32] = rgb[::5, ::5].astype(np.int32)
    coloured = np.count_nonzero(sample.max(axis=2) - sample.min(axis=2) > _COLOURED)
    return coloured < _MOST_COLOURED * sample.shape[0] * sample.shape[1]


def _gray_of(name: str, picture: PlainPicture) -> npt.NDArray[np.uint8] | None:
    """The picture as gray [h,w], where it is and the format holds it."""
    if not picture.is_gray or name not in GRAY or not _is_still_gray(picture.rgb):
        return None
    return np.asarray(cv2.cvtColor(picture.rgb, cv2.COLOR_RGB2GRAY), np.uint8)


def _image(name: str, picture: PlainPicture) -> Image.Image:
    gray = _gray_of(name, picture)
    if picture.alpha is None:
        return Image.fromarray(picture.rgb if gray is None else gray)
    if gray is not None:
        return Image.merge("LA", (Image.fromarray(gray), Image.fromarray(picture.alpha)))
    return Image.fromarray(np.dstack([picture.rgb, picture.alpha]))


def _parameters(name: str, quality: int | None, lossless: bool) -> dict[str, Any]:
    match name:
        case "JPEG":
            # without `optimize`: Pillow guesses how much room that takes, and fails on a picture of much grain
            return {"quality": quality, "subsampling": "4:4:4"}
        case "WEBP":
            return {"quality": quality, "method": 4, "lossless": lossless, "exact": True}
        case "AVIF":
            return {"quality": quality, "subsampling": "4:4:4", "speed": 7}
        case _:
            return {"compress_level": 4}


def _beside(name: str, picture: PlainPicture, about: About) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    # sRGB's profile is one of colour; gray is sRGB's gray without it
    if picture.was_tagged and not (picture.is_gray and name in GRAY):
        chosen["icc_profile"] = srgb_profile()
    if (exif := about.whole_exif) is not None:
        chosen["exif"] = b"Exif\0\0" + exif
    match name:
        case "PNG":
            text = PngImagePlugin.PngInfo()
            if about.xmp:
                text.add_itxt("XML:com.adobe.xmp", about.xmp.decode("utf-8"))
            for key, value in about.texts:
                text.add_itxt(key, value)
            if about.comment:
                text.add_itxt("Comment", about.comment.decode("utf-8", "replace"))
            chosen["pnginfo"] = text
        case "JPEG":
            chosen |= {"xmp": about.xmp or b"", "comment": about.comment or b""}
            if about.iptc:
                chosen["extra"] = iptc_segment(about.iptc)
        case _:
            chosen["xmp"] = about.xmp or b""
    return chosen


def _tiff_tags(about: About, profile: bytes | None) -> dict[int, tuple[int, bytes]]:
    tags = ((_XMP_TAG, _BYTE, about.xmp), (_IPTC_TAG, _UNDEFINED, about.iptc), (_PROFILE_TAG, _UNDEFINED, profile))
    return {number: (kind, content) for number, kind, content in tags if content}


def without_too_long(about: About) -> tuple[About, tuple[str, ...]]:
    """`about` without what a segment of JPEG cannot hold; our own XMP always fits."""
    sizes = {"EXIF": about.exif, "IPTC": about.iptc, "comment": about.comment}
    fits = {
        name: content if content is None or len(content) <= _LONGEST_SEGMENT else None
        for name, content in sizes.items()
    }
    lost = [f"its {name} is too long for a JPEG: not kept" for name in sizes if sizes[name] and not fits[name]]
    kept = About(about.captured, about.xmp, fits["EXIF"], fits["IPTC"], fits["comment"], about.texts)
    return kept, tuple(lost)


def xmp_fits(packet: bytes | None) -> bool:
    """Whether a JPEG holds the packet in one segment."""
    return packet is None or len(packet) <= _LONGEST_SEGMENT
