"""Writing one picture: format by the output's name, nothing of the input's metadata but the time of capture.

Decides qualities and what each format can hold; must not know where the pixels came from.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image, PngImagePlugin, TiffImagePlugin

from secondface.errors import InvalidOption, OutputFormatUnsupported
from secondface.frames import RGB8
from secondface.media.containers import writing_failures
from secondface.media.part_file import PartFile

if TYPE_CHECKING:
    from secondface.media.images import Still

FORMATS = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".jpe": "JPEG", ".webp": "WEBP",
    ".avif": "AVIF", ".tif": "TIFF", ".tiff": "TIFF",
}  # fmt: skip
_LOSSLESS = frozenset({"PNG", "TIFF", "WEBP"})
_ALPHA = frozenset({"PNG", "WEBP", "AVIF", "TIFF"})
_QUALITY = {"JPEG": 95, "WEBP": 92, "AVIF": 85}
_XMP_TAG = 700


@dataclass(frozen=True, slots=True)
class StillOptions:
    """How a picture is written. `quality` is 1..100, None for the format's default; PNG and TIFF lose nothing."""

    quality: int | None = None
    lossless: bool = False
    """Only WebP can choose."""

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
    path: str | os.PathLike[str], rgb: RGB8, still: Still | None = None, options: StillOptions | None = None,
    xmp: bytes | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """Write rgb [h,w,3] to `path`, with the alpha and capture time of `still` and the XMP packet `xmp`.

    Returns notes. Raises OutputFormatUnsupported, OutputNotWritable, DiskFull or EncodeFailed.
    """
    path, options = Path(path), options or StillOptions()
    name = still_format(path)
    alpha = still.alpha if still is not None else None
    captured = still.metadata.get("captured") if still is not None else None
    notes: tuple[str, ...] = ()
    if alpha is not None:
        alpha = _fitted(alpha, rgb.shape[:2])
        if name not in _ALPHA:
            rgb, alpha = _on_white(rgb, alpha), None
            notes = (f"{name} holds no alpha: laid on white",)
    pixels = rgb if alpha is None else np.dstack([rgb, alpha])
    part = PartFile(path)
    try:
        with writing_failures(path), part.path.open("wb") as file:
            # given a file, the codecs write past Python, and some do not say why they could not
            encoded = io.BytesIO()
            parameters = _parameters(name, options, captured, xmp)
            Image.fromarray(np.ascontiguousarray(pixels)).save(encoded, name, **parameters)
            file.write(encoded.getbuffer())
        part.commit()
    except BaseException:
        part.discard()
        raise
    return notes


def require_possible(path: str | Path, options: StillOptions) -> None:
    """Raise InvalidOption where the format of the output's name cannot do what the options ask for."""
    name = still_format(path)
    if options.lossless and name not in _LOSSLESS:
        raise InvalidOption(f"lossless: {name} is not written without loss; choose {', '.join(sorted(_LOSSLESS))}")


def _parameters(name: str, options: StillOptions, captured: str | None, xmp: bytes | None) -> dict[str, Any]:
    quality = options.quality or _QUALITY.get(name)
    match name:
        case "JPEG":
            # without `optimize`: Pillow guesses how much room that takes, and fails on a picture of much grain
            chosen: dict[str, Any] = {"quality": quality, "subsampling": "4:4:4"}
        case "WEBP":
            chosen = {"quality": quality, "method": 4, "lossless": options.lossless, "exact": True}
        case "AVIF":
            chosen = {"quality": quality, "subsampling": "4:4:4", "speed": 7}
        case "TIFF":
            chosen = {"compression": "tiff_adobe_deflate"}
        case _:
            chosen = {"compress_level": 4}
    if name == "TIFF":
        return chosen | {"tiffinfo": _tiff_tags(captured, xmp)}
    if captured:
        chosen["exif"] = _exif(captured)
    if xmp and name == "PNG":
        text = PngImagePlugin.PngInfo()
        text.add_itxt("XML:com.adobe.xmp", xmp.decode("utf-8"))
        chosen["pnginfo"] = text
    elif xmp:
        chosen["xmp"] = xmp
    return chosen


def _exif(captured: str) -> Image.Exif:
    exif = Image.Exif()
    exif[ExifTags.Base.DateTime] = captured
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = captured
    return exif


def _tiff_tags(captured: str | None, xmp: bytes | None) -> TiffImagePlugin.ImageFileDirectory_v2:
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    if captured:
        tags[ExifTags.Base.DateTime] = captured
    if xmp:
        tags.tagtype[_XMP_TAG] = 1
        tags[_XMP_TAG] = xmp
    return tags


def _fitted(alpha: npt.NDArray[np.uint8], shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """`alpha` at the size of the result, which a step may have enlarged."""
    if alpha.shape == shape:
        return alpha
    return np.asarray(cv2.resize(alpha, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR), np.uint8)


def _on_white(rgb: RGB8, alpha: npt.NDArray[np.uint8]) -> RGB8:
    share = alpha[:, :, None].astype(np.float32) / 255
    return np.round(rgb * share + 255 * (1 - share)).astype(np.uint8)
