"""What a picture file says of its colours and its coding: profiles, codes, gamma, quantisation tables.

Decides which of several descriptions counts (cICP, then ICC, then sRGB, then gAMA and cHRM); must not convert.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from PIL import ExifTags, Image

from secondface.media.handed import open_bytes
from secondface.media.png_chunks import chunks
from secondface.media.rgb_space import RgbSpace, space_of_chromaticities, space_of_icc
from secondface.media.still_files import OpenedStill, exif_of
from secondface.media.tone import DisplayMap, display_map
from secondface.media.ycbcr import RGB_MATRIX, ColourSpace

_SRGB_GAMMA = 0.45455
_ADOBE_RGB = (0.64, 0.33, 0.21, 0.71, 0.15, 0.06)
_ADOBE_GAMMA = 563 / 256
_LUMA_TABLE_SUM = 3688
"""Of the standard's table for brightness (ITU-T T.81, table K.1), which libraries scale by quality."""
_HEADER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ColourTags:
    """How the colours of a picture are described; nothing at all means sRGB."""

    profile: bytes | None = None
    cicp: tuple[int, int] | None = None
    """H.273 primaries and transfer, where these say something else than sRGB."""
    space: RgbSpace | None = None
    """What gAMA and cHRM say, or the camera's option of Adobe RGB; None where that is sRGB."""

    @property
    def look(self) -> DisplayMap | None:
        """How the codes are shown, by cicp or profile; None where they are sRGB."""
        if self.cicp is not None:
            return display_map(ColourSpace(RGB_MATRIX, True, *self.cicp))
        found = space_of_icc(self.profile) if self.profile else None
        return None if found is None or found.is_srgb else found

    @property
    def is_any(self) -> bool:
        return bool(self.profile or self.cicp or self.space)


def colour_tags(source: OpenedStill) -> ColourTags:
    """What counts of the descriptions in an opened picture."""
    if source.picture is None:
        return ColourTags(source.tiff.profile if source.tiff is not None else None)
    info = cast("dict[str, Any]", source.picture.info)
    profile = info.get("icc_profile") or None
    match source.format_name:
        case "PNG":
            cicp = _meaningful(_png_cicp(source))
            if cicp is not None or profile or "srgb" in info:
                return ColourTags(profile, cicp)
            return ColourTags(space=_png_space(info))
        case "HEIF":
            found: dict[str, int] = info.get("nclx_profile") or {}
            codes = (found.get("color_primaries", 2), found.get("transfer_characteristics", 2))
            return ColourTags(profile, None if profile else _meaningful(codes))
        case "AVIF":
            return ColourTags(profile, None if profile else _meaningful(_nclx(source)))
        case _:
            return ColourTags(profile, space=None if profile else _camera_space(source.picture))


def jpeg_quality(picture: Image.Image | None) -> int | None:
    """The quality 1..100 that gave a JPEG its tables, as the usual encoders count it; None for other pictures."""
    tables: dict[int, list[int]] | None = getattr(picture, "quantization", None)
    if not tables or 0 not in tables:
        return None
    scale = 100 * sum(tables[0]) / _LUMA_TABLE_SUM
    quality = (200 - scale) / 2 if scale <= 100 else 5000 / scale
    return max(1, min(100, round(quality)))


def _png_cicp(source: OpenedStill) -> tuple[int, int] | None:
    with open_bytes(source.path) as file:
        for found in chunks(file):
            if found.kind == b"cICP" and len(found.body) == 4:
                return found.body[0], found.body[1]
            if found.kind == b"IDAT":
                break
    return None


def _png_space(info: dict[str, Any]) -> RgbSpace | None:
    gamma, points = info.get("gamma"), info.get("chromaticity")
    if not gamma and not points:
        return None
    power = None if not gamma or abs(gamma - _SRGB_GAMMA) < 0.01 else 1 / gamma
    white, xy = (points[:2], points[2:]) if points else (None, None)
    space = space_of_chromaticities(power, xy, white)
    return None if space is None or space.is_srgb else space


def _nclx(source: OpenedStill) -> tuple[int, int] | None:
    with open_bytes(source.path) as file:
        head = file.read(_HEADER_BYTES)
    at = head.find(b"colrnclx")
    if at < 0 or len(head) < at + 12:
        return None
    return int.from_bytes(head[at + 8 : at + 10], "big"), int.from_bytes(head[at + 10 : at + 12], "big")


def _meaningful(codes: tuple[int, int] | None) -> tuple[int, int] | None:
    """`codes` where they make a difference."""
    if codes is None or display_map(ColourSpace(RGB_MATRIX, True, *codes)) is None:
        return None
    return codes


def _camera_space(picture: Image.Image) -> RgbSpace | None:
    """Adobe RGB where a camera says so in the way of its own standard (DCF), without a profile."""
    if picture.mode != "RGB":
        return None
    interoperability = exif_of(picture).get_ifd(ExifTags.IFD.Interop).get(1)
    if interoperability not in ("R03", b"R03", b"R03\0"):
        return None
    return space_of_chromaticities(_ADOBE_GAMMA, _ADOBE_RGB, None)
