"""Animations out: GIF, WebP and APNG, frame by frame, under their name only when whole.

Decides rounding of delays and what loop counts become; how files are laid out is for the writers of each format.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeAlias

from secondface.errors import EncodeFailed, OutputFormatUnsupported
from secondface.media.apng_output import ApngWriter
from secondface.media.containers import writing_failures
from secondface.media.gif_output import GifWriter
from secondface.media.part_file import PartFile
from secondface.media.still_frames import StillFrame
from secondface.media.still_output import StillOptions
from secondface.media.webp_output import WebpWriter

FORMATS = {".gif": "GIF", ".webp": "WEBP", ".png": "PNG", ".apng": "PNG"}
"""Output names under which an animation stays one."""
_QUALITY = 92
_FormatWriter: TypeAlias = GifWriter | WebpWriter | ApngWriter


@dataclass(frozen=True, slots=True)
class AnimationWords:
    """What stands beside the frames; `exif` without its header, `texts` by PNG's keys."""

    xmp: bytes | None = None
    exif: bytes | None = None
    comment: bytes | None = None
    texts: Sequence[tuple[str, str]] = ()


def animation_format(path: Path) -> str:
    """The format of the output name; OutputFormatUnsupported for one that holds no animation."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise OutputFormatUnsupported(f"{suffix or 'no extension'}: not an animation format that can be written")
    return FORMATS[suffix]


class AnimationWriter:
    """Writes NAME.part beside the output and renames it on close(). As a context manager it aborts unless closed.

    Raises OutputFormatUnsupported, OutputNotWritable, DiskFull or EncodeFailed.
    """

    def __init__(
        self, path: str | os.PathLike[str], size: tuple[int, int], plays: int,
        options: StillOptions | None = None, words: AnimationWords | None = None,
    ) -> None:  # fmt: skip
        self.path = Path(path)
        options = options or StillOptions()
        name = animation_format(self.path)
        self._frames = 0
        self._elapsed = Fraction(0)
        self._ticks = 0
        self._part = PartFile(self.path)
        self._file: BinaryIO | None = None
        try:
            with writing_failures(self.path):
                self._file = self._part.path.open("r+b")
                self._writer = _format_writer(name, self._file, size, plays, options, words or AnimationWords())
        except BaseException:
            self.abort()
            raise

    def write(self, frame: StillFrame, delay: Fraction) -> None:
        """The next frame, shown for `delay` seconds."""
        self._frames += 1
        with writing_failures(self.path, f"frame {frame.index}"):
            match self._writer:
                case ApngWriter() as writer:
                    writer.add(frame.rgb, frame.alpha, delay)
                case GifWriter() as writer:
                    writer.add(frame.rgb, frame.alpha, self._whole(delay, 100))
                case WebpWriter() as writer:
                    writer.add(frame.rgb, frame.alpha, self._whole(delay, 1000))

    def close(self, check: Callable[[Path], None] | None = None) -> None:
        """Finish and rename; EncodeFailed where there was no frame. `check` may refuse the whole file by raising."""
        try:
            if not self._frames:
                raise EncodeFailed(f"{self.path.name}: no frame")
            with writing_failures(self.path, "at the end"):
                self._writer.finish()
                if self._file is not None:
                    self._file.close()
            self._part.commit(check)
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Stop and leave nothing behind; after close() this does nothing."""
        if self._file is not None:
            self._file.close()
        self._part.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    def _whole(self, delay: Fraction, ticks_a_second: int) -> int:
        """`delay` in whole ticks, so rounded that the sum of all stays right."""
        self._elapsed += delay
        ticks = round(self._elapsed * ticks_a_second) - self._ticks
        self._ticks += ticks
        return ticks


def _format_writer(
    name: str, file: BinaryIO, size: tuple[int, int], plays: int, options: StillOptions, words: AnimationWords
) -> _FormatWriter:  # fmt: skip
    match name:
        case "GIF":
            # GIF counts how often it is shown again
            loop = None if plays == 1 else max(0, plays - 1)
            return GifWriter(file, size, loop, xmp=words.xmp, comment=words.comment)
        case "WEBP":
            quality = options.quality or _QUALITY
            return WebpWriter(
                file, size, plays, quality=quality, lossless=options.lossless, xmp=words.xmp, exif=words.exif
            )  # fmt: skip
        case _:
            return ApngWriter(file, size, plays, xmp=words.xmp, exif=words.exif, texts=words.texts)
