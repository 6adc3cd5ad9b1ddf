"""Pictures of more than eight bits, decoded with all of them.

Decides which library gives the bits of which format (Pillow gives eight); must not know how pictures are written.
"""

from __future__ import annotations

import struct
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import cv2
import numpy as np
import numpy.typing as npt
import pillow_heif
from cv2.utils import logging
from PIL import TiffImagePlugin

from secondface.errors import MediaCorrupt, MediaUnsupported
from secondface.media.containers import open_input, reading_failures
from secondface.media.handed import open_bytes
from secondface.media.orientation import UPRIGHT, Orientation, of_exif
from secondface.media.pictures import layout_for, plane_views
from secondface.media.planes import DEEP_RGB, PlanarFrame
from secondface.media.png_chunks import chunks
from secondface.media.tone import Words
from secondface.media.video_facts import space_of
from secondface.media.ycbcr import RGB_MATRIX, ColourSpace

_TIFF_ORIENTATION, _TIFF_BITS, _TIFF_PHOTOMETRIC, _TIFF_SAMPLES = 274, 258, 262, 277
_TIFF_EXTRA, _TIFF_SAMPLE_FORMAT, _TIFF_PROFILE, _TIFF_PAGES = 338, 339, 34675, 256
_UNSIGNED, _SIGNED, _FLOATING = 1, 2, 3
_ASSOCIATED = 1
_PNG_GRAY = 0
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB = 0, 1, 2
_AVIF_HEADER_BYTES = 1 << 16
_AVIF_DEMUXER = "mov,mp4,m4a,3gp,3g2,mj2"


@dataclass(frozen=True, slots=True)
class DeepSamples:
    """Upright words [h,w,3] spread over 16 bits, alpha [h,w] or None, and how they were stored."""

    words: Words
    alpha: npt.NDArray[np.uint16] | None
    depth: int
    is_gray: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TiffFacts:
    """What the first directory of a TIFF says, for files that Pillow has no mode for too."""

    width: int
    height: int
    bits: int
    samples: int
    sample_format: int
    photometric: int
    has_associated_alpha: bool
    orientation: Orientation
    profile: bytes | None
    tags: dict[int, Any] = field(default_factory=dict[int, Any], repr=False)

    @property
    def is_deep(self) -> bool:
        """Whether it is gray or RGB of 16 bits or of floating point, which OpenCV decodes whole."""
        # OpenCV loses the alpha of gray
        if self.samples == 2:
            return False
        fits = self.photometric in (_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB) and self.samples <= 4
        return fits and (self.sample_format, self.bits) in ((_UNSIGNED, 16), (_FLOATING, 32), (_FLOATING, 64))

    @property
    def words(self) -> str:
        """The kind of its samples, for a message."""
        kind = {_UNSIGNED: "unsigned", _SIGNED: "signed", _FLOATING: "floating-point"}.get(self.sample_format, "other")
        return f"a TIFF of {self.samples} {kind} samples of {self.bits} bits"


def tiff_facts(path: Path, file: BinaryIO) -> TiffFacts:
    """The first directory of the opened TIFF `path`; MediaCorrupt where there is none."""
    try:
        file.seek(0)
        directory = TiffImagePlugin.ImageFileDirectory_v2(file.read(8))
        file.seek(directory.next)
        with warnings.catch_warnings(action="ignore"):
            # what a damaged directory lacks is found below; the terminal is no place for it
            directory.load(file)  # pyright: ignore[reportUnknownMemberType]
        tags = {key: directory[key] for key in directory}
        width, height = int(tags[256]), int(tags[257])
    except (KeyError, struct.error, SyntaxError, TypeError, ValueError, EOFError) as cause:
        raise MediaCorrupt(f"{path.name}: its header is damaged") from cause
    profile = tags.get(_TIFF_PROFILE)
    return TiffFacts(
        width, height, _first(tags.get(_TIFF_BITS), 1), int(tags.get(_TIFF_SAMPLES, 1)),
        _first(tags.get(_TIFF_SAMPLE_FORMAT), _UNSIGNED), int(tags.get(_TIFF_PHOTOMETRIC, 1)),
        _first(tags.get(_TIFF_EXTRA), 0) == _ASSOCIATED, of_exif(tags.get(_TIFF_ORIENTATION)),
        profile if isinstance(profile, bytes) else None, tags,
    )  # fmt: skip


def deep_png(path: Path, orientation: Orientation) -> DeepSamples | None:
    """The samples of a PNG of 16 bits, which Pillow has found whole; None for any other."""
    with open_bytes(path) as file:
        header = file.read(26)
        if len(header) < 26 or header[24] != 16:
            return None
        hidden = _png_hidden_gray(file) if header[25] == _PNG_GRAY else None
    samples = _samples(path, 16, orientation)
    if hidden is None or samples.alpha is not None:
        return samples
    # OpenCV looks at the tone that stands for nothing only in colour
    shows = samples.words[:, :, 0] != hidden
    return replace(samples, alpha=np.where(shows, np.uint16(65535), np.uint16(0)))


def _png_hidden_gray(file: BinaryIO) -> int | None:
    """The tone of a gray PNG that means transparent."""
    for found in chunks(file):
        if found.kind == b"tRNS" and len(found.body) == 2:
            return int.from_bytes(found.body, "big")
        if found.kind == b"IDAT":
            break
    return None


def deep_tiff(path: Path, facts: TiffFacts) -> DeepSamples:
    """The samples of a TIFF for which `facts.is_deep`; OpenCV turns these upright itself."""
    stored = _decoded(path)
    size = facts.orientation.shown_size(facts.width, facts.height)
    if stored.shape[1::-1] != size or stored.dtype.itemsize * 8 != facts.bits:
        raise MediaUnsupported(f"{path.name}: {facts.words}")
    notes: tuple[str, ...] = ()
    if stored.dtype != np.uint16:
        stored, notes = _toned(stored)
    elif facts.photometric == _WHITE_IS_ZERO:
        stored = np.uint16(65535) - stored
    return _split(stored, 16, UPRIGHT, associated=facts.has_associated_alpha, notes=notes)


def deep_heif(heif: pillow_heif.HeifFile) -> DeepSamples:
    """The samples of an opened HEIF file of more than eight bits; libheif has turned them upright."""
    stored: npt.NDArray[Any] = np.asarray(heif)
    depth = int(heif.info.get("bit_depth", 10))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    # libheif shifts its codes up and leaves zeros below them
    codes = stored >> np.uint16(16 - depth)
    return _split(_spread(codes, depth)[..., [2, 1, 0, *range(3, stored.shape[2])]], depth, UPRIGHT)


def avif_depth(path: Path) -> int:
    """Bits of the AVIF `path`, by its codec configuration; 8 where none is found."""
    with open_bytes(path) as file:
        head = file.read(_AVIF_HEADER_BYTES)
    at = head.find(b"av1C")
    if at < 0 or len(head) < at + 7:
        return 8
    flags = head[at + 6]
    return 8 if not flags & 0x40 else 12 if flags & 0x20 else 10


def deep_avif(path: Path, orientation: Orientation) -> DeepSamples | None:
    """The samples of an AVIF of 10 or 12 bits; None for one of 8."""
    depth = avif_depth(path)
    if depth == 8:
        return None
    try:
        return _samples(path, depth, orientation)
    except MediaCorrupt:
        # OpenCV 5.0 fails on AVIF that has both alpha and XMP
        return _split(_avif_by_ffmpeg(path), depth, orientation)


def _avif_by_ffmpeg(path: Path) -> npt.NDArray[np.uint16]:
    """Words [h,w,3 or 4], blue first, of an AVIF that is one picture and, at most, its alpha."""
    with open_input(path, _AVIF_DEMUXER) as container, reading_failures(path):
        colour = next(container.decode(video=0))
        has_alpha = len(container.streams.video) > 1
    layout, space = layout_for(colour.format.name), space_of(colour)
    frame = PlanarFrame(plane_views(colour, layout), layout, space)
    deep = frame.recoded(DEEP_RGB, ColourSpace(RGB_MATRIX, True, space.primaries, space.transfer)).planes
    stored = np.asarray(np.dstack([deep[1], deep[0], deep[2]]), np.uint16)
    if not has_alpha:
        return stored
    with open_input(path, _AVIF_DEMUXER) as container, reading_failures(path):
        alpha = next(container.decode(video=1))
    layout = layout_for(alpha.format.name)
    return np.dstack([stored, _spread(plane_views(alpha, layout)[0], layout.depth)])


def _samples(path: Path, depth: int, orientation: Orientation) -> DeepSamples:
    stored = _decoded(path)
    if stored.dtype == np.uint8:
        depth, stored = 8, stored.astype(np.uint16)
    return _split(stored if depth == 16 else _spread(stored, depth), depth, orientation)


def _decoded(path: Path) -> npt.NDArray[Any]:
    """As stored, blue first, not turned (but TIFF)."""
    with open_bytes(path) as file:
        content = np.frombuffer(file.read(), np.uint8)
    # it tells the terminal what is wrong with a file, which is for our errors to say
    loud = logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    try:
        found = cv2.imdecode(content, cv2.IMREAD_UNCHANGED)
    except cv2.error as cause:
        raise MediaCorrupt(f"{path.name}: {cause.err}") from cause
    finally:
        logging.setLogLevel(loud)
    if found is None:
        raise MediaCorrupt(f"{path.name}: its pixels cannot be decoded")
    return np.asarray(found)


def _split(
    stored: npt.NDArray[Any], depth: int, orientation: Orientation, *,
    associated: bool = False, notes: tuple[str, ...] = (),
) -> DeepSamples:  # fmt: skip
    """`stored` [h,w] or [h,w,3 or 4], blue first, as words and alpha."""
    if not orientation.is_upright:
        stored = orientation.apply(stored)
    if stored.ndim == 2 or stored.shape[2] == 1:
        gray = stored.reshape(stored.shape[:2])
        return DeepSamples(np.repeat(gray[:, :, None], 3, axis=2), None, depth, True, notes)
    words = np.asarray(cv2.cvtColor(stored[..., :3], cv2.COLOR_BGR2RGB), np.uint16)
    alpha = np.ascontiguousarray(stored[..., 3]) if stored.shape[2] == 4 else None
    if alpha is not None and associated:
        share = np.maximum(alpha, 1).astype(np.float32)[..., None] / np.float32(65535)
        words = np.rint(np.clip(words / share, 0, 65535)).astype(np.uint16)
    return DeepSamples(words, alpha, depth, False, notes)


def _spread(codes: npt.NDArray[Any], depth: int) -> npt.NDArray[np.uint16]:
    """Codes of `depth` bits over 16, so that white stays white."""
    low, high = np.uint16(2 * depth - 16), np.uint16(16 - depth)
    return (codes << high) | (codes >> low)


def _toned(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint16], tuple[str, ...]]:
    """Floating point as words; 1 is white, and what is brighter is cut."""
    finite = np.nan_to_num(values.astype(np.float32), nan=0.0, posinf=1.0, neginf=0.0)
    top = float(finite.max(initial=0))
    white = 1.0 if top <= 16 else 255.0 if top <= 255 else 65535.0
    notes = ("floating point is kept as 16 bits",)
    if top > white:
        notes = (*notes, "tones brighter than white are cut")
    return np.rint(np.clip(finite / np.float32(white), 0, 1) * 65535).astype(np.uint16), notes


def _first(value: Any, default: int) -> int:
    if isinstance(value, tuple):
        value = value[0] if value else None  # pyright: ignore[reportUnknownVariableType]
    return int(value) if isinstance(value, int) else default
