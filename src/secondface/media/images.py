"""Stills in and out: one picture, upright, in sRGB.

Decides how a picture file becomes a frame; writing is in still_output. Must not know faces or video.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pillow_heif
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from secondface.errors import FileUnreadable, MediaCorrupt, MediaTooLarge, MediaUnsupported, SecondfaceError
from secondface.frames import ArrayFrame
from secondface.media.handed import open_bytes
from secondface.media.info import MediaInfo
from secondface.media.limits import Limits
from secondface.media.signatures import sniff
from secondface.media.still_colour import to_srgb
from secondface.media.still_output import StillOptions, write_still

__all__ = ["Still", "StillOptions", "read_still", "still_info", "write_still"]

_SIDEWAYS = (5, 6, 7, 8)
CAPTURED = "captured"
"""Key of the time of capture in Still.metadata, as EXIF writes it: YYYY:MM:DD HH:MM:SS."""


@dataclass(frozen=True, slots=True)
class Still:
    """One picture: its pixels upright in sRGB, alpha [h,w] or None, and what is known of the file."""

    frame: ArrayFrame
    alpha: npt.NDArray[np.uint8] | None
    info: MediaInfo
    metadata: Mapping[str, str]


def read_still(path: str | os.PathLike[str], limits: Limits | None = None) -> Still:
    """Decode the picture `path` (of an animation, its first frame).

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty.
    """
    path = Path(path)
    with _opened(path, limits or Limits()) as picture:
        picture.load()
        info, captured = _info(picture), _captured(picture)
        upright = picture if _ignores_exif(picture) else ImageOps.exif_transpose(picture)
        colour = to_srgb(upright, picture.info.get("icc_profile"))
    notes = info.notes + colour.notes
    height, width = colour.rgb.shape[:2]
    info = MediaInfo("still", info.format_name, width, height, 1, notes=notes)
    return Still(ArrayFrame(colour.rgb), colour.alpha, info, {CAPTURED: captured} if captured else {})


def still_info(path: str | os.PathLike[str], limits: Limits | None = None) -> MediaInfo:
    """What the header of the picture `path` says; the same errors as read_still()."""
    with _opened(Path(path), limits or Limits()) as picture:
        return _info(picture)


@contextmanager
def _opened(path: Path, limits: Limits) -> Generator[Image.Image, None, None]:
    signature = sniff(path)
    if signature.kind != "still":
        raise MediaUnsupported(f"{path.name}: a video ({signature.format_name}), not a picture")
    with _decoding_failures(path), open_bytes(path) as file:
        if signature.format_name == "HEIF":
            heif = pillow_heif.open_heif(file, convert_hdr_to_8bit=True)  # pyright: ignore[reportUnknownMemberType]
            limits.check_size(path.name, *heif.size, video=False)
            picture = heif.to_pillow()
            picture.format = "HEIF"
        else:
            picture = Image.open(file, formats=[signature.format_name])
        with picture:
            limits.check_size(path.name, *picture.size, video=False)
            yield picture


@contextmanager
def _decoding_failures(path: Path) -> Generator[None, None, None]:
    """Turn what Pillow and libheif raise into our errors."""
    try:
        yield
    except SecondfaceError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as cause:
        raise MediaTooLarge(f"{path.name}: {cause}") from cause
    except (FileNotFoundError, PermissionError, IsADirectoryError) as cause:
        raise FileUnreadable(f"{path}: {cause.strerror}") from cause
    except ValueError as cause:
        if "too large" in str(cause).lower():
            # Pillow stops unpacking a text chunk or a profile at 1 MB (64 MB in all)
            raise MediaTooLarge(f"{path.name}: {cause}") from cause
        raise MediaCorrupt(f"{path.name}: {cause}") from cause
    except UnidentifiedImageError as cause:
        raise MediaCorrupt(f"{path.name}: its header is damaged") from cause
    except (
        OSError, EOFError, SyntaxError, RuntimeError, TypeError, LookupError, OverflowError, MemoryError,
        ZeroDivisionError, struct.error, zlib.error,
    ) as cause:  # fmt: skip
        # Pillow's plug-ins raise all of these on damaged files
        raise MediaCorrupt(f"{path.name}: {cause or type(cause).__name__}") from cause


def _ignores_exif(picture: Image.Image) -> bool:
    # HEIF says how it is turned in its own boxes, which libheif has obeyed; players ignore EXIF there
    return picture.format == "HEIF"


def _info(picture: Image.Image) -> MediaInfo:
    width, height = picture.size
    if not _ignores_exif(picture) and picture.getexif().get(ExifTags.Base.Orientation) in _SIDEWAYS:
        width, height = height, width
    frames = int(getattr(picture, "n_frames", 1))
    notes = (f"only the first of {frames} frames is used",) if frames > 1 else ()
    return MediaInfo("still", picture.format or "", width, height, 1, notes=notes)


def _captured(picture: Image.Image) -> str | None:
    exif = picture.getexif()
    stamp = exif.get_ifd(ExifTags.IFD.Exif).get(ExifTags.Base.DateTimeOriginal) or exif.get(ExifTags.Base.DateTime)
    text = str(stamp or "").strip("\x00 ")
    # the field is copied into outputs: nothing but a time gets through
    return text if len(text) == 19 and text.translate(_DIGITS_GONE) == ":: ::" else None


_DIGITS_GONE = str.maketrans("", "", "0123456789")
