"""Stills in: one picture, upright, in sRGB or in its own deep codes.

Decides how a picture file becomes a frame; opening is in still_files, writing in still_output. Must not know faces.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image

from secondface.errors import MediaUnsupported
from secondface.media.info import MediaInfo
from secondface.media.limits import Limits
from secondface.media.orientation import UPRIGHT, Orientation, of_exif
from secondface.media.rgb_space import space_of_icc
from secondface.media.still_colour import to_srgb
from secondface.media.still_depth import DeepSamples, deep_avif, deep_heif, deep_png, deep_tiff
from secondface.media.still_files import OpenedStill, exif_of, opened
from secondface.media.still_frames import DeepFrame, StillFrame
from secondface.media.still_metadata import StillCoding, collect
from secondface.media.still_output import StillOptions, write_still
from secondface.media.still_tags import ColourTags, colour_tags, jpeg_quality
from secondface.media.tone import DisplayMap

__all__ = ["Still", "StillOptions", "read_still", "still_info", "write_still"]

CAPTURED = "captured"
"""Key of the time of capture in Still.metadata, as EXIF writes it: YYYY:MM:DD HH:MM:SS."""


@dataclass(frozen=True, slots=True)
class Still:
    """One upright picture, what is known of the file, and how it was stored."""

    frame: StillFrame | DeepFrame
    info: MediaInfo
    metadata: Mapping[str, str]
    coding: StillCoding = field(default_factory=StillCoding)

    @property
    def alpha(self) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | None:
        """[h,w], as deep as the frame; None where the picture is opaque."""
        return self.frame.alpha


def read_still(path: str | os.PathLike[str], limits: Limits | None = None) -> Still:
    """Decode the picture `path` (of an animation or a file of several pictures, the first one).

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty.
    """
    path = Path(path)
    with opened(path, limits or Limits()) as source:
        picture = source.picture
        if picture is not None:
            picture.load()
        info, captured = _info(source), _captured(picture)
        left_out = _left_out(source)
        tags = colour_tags(source)
        found = _deep_frame(source, tags) or _plain_frame(source, tags)
        kept = StillCoding().kept if picture is None else collect(picture)
    coding = replace(found.coding, kept=kept, quality=jpeg_quality(picture))
    notes = left_out + found.notes
    info = MediaInfo("still", info.format_name, found.frame.width, found.frame.height, 1, notes=notes)
    return Still(found.frame, info, {CAPTURED: captured} if captured else {}, coding)


def still_info(path: str | os.PathLike[str], limits: Limits | None = None) -> MediaInfo:
    """What the header of the picture `path` says; the same errors as read_still()."""
    with opened(Path(path), limits or Limits(), header_only=True) as source:
        return _info(source)


@dataclass(frozen=True, slots=True)
class _Found:
    frame: StillFrame | DeepFrame
    coding: StillCoding
    notes: tuple[str, ...] = ()


def _deep_frame(source: OpenedStill, tags: ColourTags) -> _Found | None:
    """The frame of a picture of more than eight bits; None for others, and where only tables explain its colours."""
    if tags.profile is not None and tags.cicp is None and space_of_icc(tags.profile) is None:
        return None
    deep = _samples(source)
    if deep is None:
        return None
    words, look = deep.words, tags.look
    if tags.space is not None:
        # nothing but PNG can say this of an output; sRGB all can
        words, look = tags.space.shown_deep(words), None
    coding = StillCoding(
        deep.depth, deep.is_gray, None if tags.cicp else tags.profile, tags.cicp, was_tagged=tags.is_any
    )  # fmt: skip
    return _Found(DeepFrame(words, look, deep.alpha), coding, deep.notes)


def _samples(source: OpenedStill) -> DeepSamples | None:
    match source.format_name:
        case "PNG":
            return deep_png(source.path, _orientation(source))
        case "TIFF" if source.tiff is not None and source.tiff.is_deep:
            return deep_tiff(source.path, source.tiff)
        case "AVIF":
            return deep_avif(source.path, _orientation(source))
        case "HEIF" if source.heif is not None and source.heif.mode.endswith(";16"):
            return deep_heif(source.heif)
        case _:
            return None


def _plain_frame(source: OpenedStill, tags: ColourTags) -> _Found:
    picture = source.picture
    if picture is None:
        raise MediaUnsupported(f"{source.path.name}: its kind of samples cannot be read")
    look: DisplayMap | None = tags.look or tags.space
    profile = None if tags.cicp else tags.profile
    colour = to_srgb(picture, profile, look)
    rgb, alpha, turn = colour.rgb, colour.alpha, _orientation(source)
    if not turn.is_upright:
        rgb = turn.apply(rgb)
        alpha = None if alpha is None else turn.apply(alpha)
    coding = StillCoding(is_gray=colour.is_gray, was_tagged=tags.is_any)
    notes = colour.notes
    if picture.mode == "CMYK":
        notes = (*notes, "CMYK becomes sRGB")
    elif profile is not None and not colour.notes and (space := space_of_icc(profile)) and not space.is_srgb:
        notes = (*notes, "its colours are converted to sRGB")
    return _Found(StillFrame(rgb, alpha), coding, notes)


def _orientation(source: OpenedStill) -> Orientation:
    # HEIF says how it is turned in its own boxes, which libheif has obeyed; players ignore EXIF there.
    # TIFF is turned by Pillow itself.
    if source.picture is None or source.format_name in ("HEIF", "TIFF"):
        return UPRIGHT
    return of_exif(exif_of(source.picture).get(ExifTags.Base.Orientation))


def _info(source: OpenedStill) -> MediaInfo:
    name, picture = source.format_name, source.picture
    if picture is None:
        assert source.tiff is not None
        width, height = source.tiff.orientation.shown_size(source.tiff.width, source.tiff.height)
        return MediaInfo("still", name, width, height, 1)
    width, height = _orientation(source).shown_size(*picture.size)
    return MediaInfo("still", name, width, height, 1)


def _left_out(source: OpenedStill) -> tuple[str, ...]:
    """What of the file is not used when its first picture is."""
    picture = source.picture
    frames = len(source.heif) if source.heif is not None else int(getattr(picture, "n_frames", 1))
    if picture is not None and picture.format == "MPO":
        return (f"only the first of {frames} pictures is used; a gain map or a second view is left out",)
    if frames > 1:
        return (f"only the first of {frames} {'pages' if source.format_name == 'TIFF' else 'frames'} is used",)
    if picture is not None and source.format_name == "JPEG" and b"hdr-gain-map" in (picture.info.get("xmp") or b""):
        return ("its HDR gain map is left out",)
    return ()


def _captured(picture: Image.Image | None) -> str | None:
    if picture is None:
        return None
    exif = exif_of(picture)
    stamp = exif.get_ifd(ExifTags.IFD.Exif).get(ExifTags.Base.DateTimeOriginal) or exif.get(ExifTags.Base.DateTime)
    text = str(stamp or "").strip("\x00 ")
    # the field is copied into outputs: nothing but a time gets through
    return text if len(text) == 19 and text.translate(_DIGITS_GONE) == ":: ::" else None


_DIGITS_GONE = str.maketrans("", "", "0123456789")
