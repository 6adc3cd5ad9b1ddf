"""Writing one picture: format by the output's name, nothing of the input's metadata but the time of capture.

Decides what each format can hold, and which of its inputs' words go in; must not know where the pixels came from.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from secondface.errors import InvalidOption, OutputFormatUnsupported
from secondface.frames import RGB8, Frame
from secondface.media.containers import writing_failures
from secondface.media.part_file import PartFile
from secondface.media.still_encoders import (
    DEEP,
    About,
    PlainPicture,
    deep_bytes,
    plain_bytes,
    without_too_long,
    xmp_fits,
)
from secondface.media.still_frames import DeepFrame, StillFrame, fitted
from secondface.media.still_metadata import KeptMetadata, StillCoding, merged_xmp

if TYPE_CHECKING:
    from secondface.media.images import Still

FORMATS = {
    ".png": "PNG", ".apng": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".jpe": "JPEG", ".webp": "WEBP",
    ".avif": "AVIF", ".tif": "TIFF", ".tiff": "TIFF", ".gif": "GIF",
}  # fmt: skip
_LOSSLESS = frozenset({"PNG", "TIFF", "WEBP"})
_ALPHA = frozenset({"PNG", "WEBP", "AVIF", "TIFF", "GIF"})
_QUALITY = {"JPEG": 95, "WEBP": 92, "AVIF": 85}
_WHOLE_COLOUR = 100
"""OpenCV writes a deep AVIF 4:4:4 only without loss."""
_LEAST_JPEG, _MOST_JPEG = 90, 97


@dataclass(frozen=True, slots=True)
class StillOptions:
    """How a picture is written. `quality` is 1..100, None for the format's default; PNG and TIFF lose nothing."""

    quality: int | None = None
    """None: for a JPEG from a JPEG, that of the input, from 90 to 97."""
    lossless: bool = False
    """Only WebP can choose."""
    keep_metadata: bool = False
    """Whether EXIF, XMP, IPTC and comments of the input go on; else nothing does but the time of capture."""

    def __post_init__(self) -> None:
        if self.quality is not None and not 1 <= self.quality <= 100:
            raise InvalidOption(f"quality {self.quality}: choose 1 to 100")


def still_format(path: str | os.PathLike[str]) -> str:
    """The format that the output name `path` asks for; OutputFormatUnsupported for any other name."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise OutputFormatUnsupported(f"{suffix or 'no extension'}: not a picture format that can be written")
    return FORMATS[suffix]


def write_still(
    path: str | os.PathLike[str], picture: RGB8 | Frame, still: Still | None = None,
    options: StillOptions | None = None, xmp: bytes | None = None, check: Callable[[Path], None] | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """Write a frame, or rgb [h,w,3] with the alpha of `still`, to `path`; with the XMP packet `xmp`.

    `check` sees the whole file before it gets its name, and may refuse it by raising. Returns notes.
    Raises OutputFormatUnsupported, OutputNotWritable, DiskFull or EncodeFailed.
    """
    path, options = Path(path), options or StillOptions()
    name = still_format(path)
    coding = still.coding if still is not None else StillCoding()
    about, notes = _about(name, still, options, xmp)
    frame = _frame(picture, still)
    part = PartFile(path)
    try:
        with writing_failures(path), part.path.open("wb") as file:
            if isinstance(frame, DeepFrame) and _stays_deep(name, coding):
                quality = _quality(name, options, coding) or 90
                content = deep_bytes(name, frame, coding, about, quality)
                if name == "AVIF" and quality < _WHOLE_COLOUR and not coding.is_gray:
                    notes += ("AVIF of more than 8 bits keeps colour at half the size (4:2:0) below quality 100",)
            else:
                plain, more = _plain(name, frame, coding)
                notes += more
                content = plain_bytes(name, plain, about, _quality(name, options, coding), lossless=options.lossless)
            # given a file, the codecs write past Python, and some do not say why they could not
            file.write(content)
        part.commit(check)
    except BaseException:
        part.discard()
        raise
    return notes


def require_possible(path: str | Path, options: StillOptions) -> None:
    """Raise InvalidOption where the format of the output's name cannot do what the options ask for."""
    name = still_format(path)
    if options.lossless and name not in _LOSSLESS:
        raise InvalidOption(f"lossless: {name} is not written without loss; choose {', '.join(sorted(_LOSSLESS))}")


def _frame(picture: RGB8 | Frame, still: Still | None) -> StillFrame | DeepFrame:
    if isinstance(picture, StillFrame | DeepFrame):
        return picture
    rgb = picture if isinstance(picture, np.ndarray) else picture.read()
    alpha = None if still is None or still.alpha is None else fitted(_eight_bits(still.alpha), rgb.shape)
    return StillFrame(rgb, alpha)


def _stays_deep(name: str, coding: StillCoding) -> bool:
    """Whether the format holds both the bits and what explains the colours of a deep picture."""
    return name in DEEP and (coding.cicp is None or name != "TIFF")


def _plain(name: str, frame: StillFrame | DeepFrame, coding: StillCoding) -> tuple[PlainPicture, tuple[str, ...]]:
    """The picture in eight bits of sRGB, as the format can hold it."""
    notes: list[str] = []
    rgb, alpha = frame.rgb, None if frame.alpha is None else _eight_bits(frame.alpha)
    if isinstance(frame, DeepFrame):
        notes.append(f"{coding.depth} bits become 8, in sRGB")
    if alpha is not None and name not in _ALPHA:
        rgb, alpha = _on_white(rgb, alpha), None
        notes.append(f"{name} holds no alpha: laid on white")
    return PlainPicture(rgb, alpha, coding.is_gray, coding.was_tagged), tuple(notes)


def _about(
    name: str, still: Still | None, options: StillOptions, xmp: bytes | None
) -> tuple[About, tuple[str, ...]]:  # fmt: skip
    captured = still.metadata.get("captured") if still is not None else None
    if still is None or not options.keep_metadata:
        return About(captured, xmp), ()
    kept, notes = still.coding.kept, list(still.coding.kept.notes)
    packet = merged_xmp(xmp, kept.xmp) if xmp else kept.xmp
    if xmp and packet is None:
        packet = xmp
        notes.append("its XMP is damaged and not kept")
    elif name == "JPEG" and not xmp_fits(packet):
        packet = xmp
        notes.append("its XMP is too long for a JPEG: not kept")
    lacking = _lacking(name, kept)
    if lacking:
        notes.append(f"{name} has no place for {' and '.join(lacking)}: not kept")
    about = About(captured, packet, kept.exif, kept.iptc, kept.comment, kept.texts)
    if name == "JPEG":
        about, lost = without_too_long(about)
        notes += lost
    return about, tuple(notes)


def _lacking(name: str, kept: KeptMetadata) -> list[str]:
    lacking: list[str] = []
    if kept.iptc and name not in ("JPEG", "TIFF"):
        lacking.append("IPTC")
    if (kept.comment or kept.texts) and name not in ("JPEG", "PNG", "GIF"):
        lacking.append("comments")
    if kept.exif and name == "GIF":
        lacking.append("EXIF")
    return lacking


def _quality(name: str, options: StillOptions, coding: StillCoding) -> int | None:
    if options.quality is None and name == "JPEG" and coding.quality is not None:
        return max(_LEAST_JPEG, min(_MOST_JPEG, coding.quality))
    return options.quality or _QUALITY.get(name)


def _eight_bits(alpha: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    return alpha if alpha.dtype == np.uint8 else ((alpha.astype(np.uint32) + 128) // 257).astype(np.uint8)  # pyright: ignore[reportReturnType]


def _on_white(rgb: RGB8, alpha: npt.NDArray[np.uint8]) -> RGB8:
    share = alpha[:, :, None].astype(np.float32) / 255
    return np.round(rgb * share + 255 * (1 - share)).astype(np.uint8)
