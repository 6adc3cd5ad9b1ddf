"""Opening picture files: by the one reader that their signature names, within limits, failures as ours.

Decides which library opens what; must not decode.
"""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pillow_heif
from PIL import Image, UnidentifiedImageError

from secondface.errors import FileUnreadable, MediaCorrupt, MediaTooLarge, MediaUnsupported, SecondfaceError
from secondface.media.handed import open_bytes, shown
from secondface.media.limits import Limits
from secondface.media.png_chunks import chunks
from secondface.media.signatures import sniff
from secondface.media.still_depth import TiffFacts, tiff_facts


@dataclass(frozen=True, slots=True)
class OpenedStill:
    """A picture file whose header was read. `picture` is None for a TIFF of floats for which Pillow has no mode."""

    path: Path
    format_name: str
    picture: Image.Image | None
    heif: pillow_heif.HeifFile | None = None
    tiff: TiffFacts | None = None


@contextmanager
def opened(path: Path, limits: Limits, *, header_only: bool = False) -> Generator[OpenedStill, None, None]:
    """Open the picture `path`; with `header_only` its pixels may not be asked for, and none is decoded.

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty.
    """
    signature = sniff(path)
    if signature.kind != "still":
        raise MediaUnsupported(f"{path.name}: a video ({signature.format_name}), not a picture")
    name = signature.format_name
    with decoding_failures(path), open_bytes(path) as file:
        heif: pillow_heif.HeifFile | None = None
        tiff: TiffFacts | None = None
        picture: Image.Image | None = None
        if name == "HEIF":
            heif = pillow_heif.open_heif(file, convert_hdr_to_8bit=False)  # pyright: ignore[reportUnknownMemberType]
            limits.check_size(path.name, *heif.size, video=False)
            picture = _described(heif, "L") if header_only else _as_picture(heif)
        else:
            if name == "TIFF":
                tiff = tiff_facts(path, file)
                limits.check_size(path.name, tiff.width, tiff.height, video=False)
                limits.check_memory(path.name, tiff.width, tiff.height, -(-tiff.bits // 8) * max(3, tiff.samples))
                file.seek(0)
            try:
                picture = Image.open(file, formats=[name])
            except UnidentifiedImageError:
                if tiff is None:
                    raise
                if not tiff.is_deep:
                    raise MediaUnsupported(f"{path.name}: {tiff.words}") from None
        if picture is None:
            yield OpenedStill(path, name, None, tiff=tiff)
            return
        with picture:
            limits.check_size(path.name, *picture.size, video=False)
            limits.check_memory(path.name, *picture.size, _pixel_bytes(picture, heif))
            if header_only and name == "PNG":
                _find_exif(picture, file)
            yield OpenedStill(path, name, picture, heif, tiff)


def _pixel_bytes(picture: Image.Image, heif: pillow_heif.HeifFile | None) -> int:
    """Bytes of one pixel once it is RGB, as deep as the file has it."""
    is_deep = heif.mode.endswith(";16") if heif is not None else ";16" in str(getattr(picture, "tile", ""))
    return max(3, len(picture.getbands())) * (2 if is_deep else 1)


def _as_picture(heif: pillow_heif.HeifFile) -> Image.Image:
    """The opened file for Pillow; of a deep one the description alone, for Pillow has no place for its pixels."""
    if heif.mode.endswith(";16"):
        return _described(heif, "RGB")
    picture = heif.to_pillow()
    picture.format = "HEIF"
    return picture


def _described(heif: pillow_heif.HeifFile, mode: str) -> Image.Image:
    picture = Image.new(mode, heif.size)
    picture.info.update(heif.info)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    picture.format = "HEIF"
    return picture


def exif_of(picture: Image.Image) -> Image.Exif:
    """Its EXIF. A text of a PNG may be called `xmp`; Pillow looks there for a packet of bytes, and fails on letters."""
    if isinstance(picture.info.get("xmp"), str):
        del picture.info["xmp"]
    return picture.getexif()


def _find_exif(picture: Image.Image, file: BinaryIO) -> None:
    """EXIF of a PNG may lie behind its pixels, all of which Pillow would decode on the way there."""
    if not picture.info.keys() & {"exif", "Raw profile type exif"}:
        at = file.tell()
        picture.info["exif"] = next((each.body for each in chunks(file) if each.kind == b"eXIf"), b"")
        file.seek(at)


@contextmanager
def decoding_failures(path: Path) -> Generator[None, None, None]:
    """Turn what Pillow and libheif raise into our errors."""
    # what Pillow remarks on damaged EXIF is no error, and the terminal is no place for it
    warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
    try:
        yield
    except SecondfaceError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as cause:
        raise MediaTooLarge(f"{path.name}: {cause}") from cause
    except (FileNotFoundError, PermissionError, IsADirectoryError) as cause:
        raise FileUnreadable(f"{shown(path)}: {cause.strerror}") from cause
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
