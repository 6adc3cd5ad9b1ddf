"""The invisible watermark in frames of every kind, and read back from a finished file.

Decides how a frame's luma is reached and how much of a file is looked at; the pattern is `vision`'s.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from secondface.errors import SecondfaceError
from secondface.frames import ArrayFrame, Box, Frame
from secondface.media.animations import AnimationReader, is_animation
from secondface.media.images import read_still
from secondface.media.limits import Limits
from secondface.media.planes import PlanarFrame
from secondface.media.read import VideoReader
from secondface.media.signatures import sniff
from secondface.vision.watermark import Luma, Reading, Watermark, WatermarkReader, find_all

_LOOKS = (1, 2, 4, 8, 16, 32, 48)
"""After so many frames of a video it is tried to read what they have in common."""
_LEAST_FRAMES, _MOST_PIXELS = 8, 120_000_000
_SAME_SHAPE = 0.004
"""Aspects that differ by less give patterns that still lie over each other."""


@dataclass(frozen=True, slots=True)
class WatermarkFound:
    """What a look into a finished file found."""

    is_ours: bool
    others: tuple[Reading, ...] = ()
    frames: int = 0
    """How many had to be looked at."""


def lost_watermark_notes(found: WatermarkFound | None) -> tuple[str, ...]:
    """What is to be said of an output in which the watermark was looked for."""
    if found is None or found.is_ours:
        return ()
    note = (
        "The invisible watermark cannot be read back from the output: the picture is too small or too plain for it, or "
        "the format or quality too coarse. The other marks are there."
    )
    return (note,)


def mark_frame(frame: Frame, watermark: Watermark) -> None:
    """Lay the watermark over a frame, in its own planes where it has some."""
    if isinstance(frame, PlanarFrame):
        frame.change_luma(watermark.mark_all)
        return
    rgb = frame.rgb if isinstance(frame, ArrayFrame) else frame.read()
    watermark.mark_all([rgb], _grey(rgb))
    if not isinstance(frame, ArrayFrame):
        frame.write(Box(0, 0, frame.width, frame.height), rgb)


def luma_of(frame: Frame) -> Luma:
    """What a frame's watermark is read from."""
    return frame.luma if isinstance(frame, PlanarFrame) else _grey(frame.read())


def is_in_frame(frame: Frame, watermark: int) -> bool:
    """Whether a frame in memory holds this watermark."""
    return any(each.identity == watermark for each in find_all(luma_of(frame), parts=False))


def lumas(path: Path, limits: Limits | None = None) -> Generator[Luma]:
    """The luma of each frame of a picture, an animation or a video. Raises BadMedia errors."""
    limits = limits or Limits()
    if sniff(path).kind == "video":
        with VideoReader(path, limits) as reader:
            for frame in reader.frames():
                yield frame.luma
    elif is_animation(path, limits):
        for shown in AnimationReader(path, limits).frames():
            yield luma_of(shown)
    else:
        yield luma_of(read_still(path, limits).frame)


def read_back(path: Path, watermark: int, size: tuple[int, int] | None = None) -> WatermarkFound:
    """Whether a finished file holds this watermark. It looks at more frames only while it has not found it."""
    reader, readings = WatermarkReader(), tuple[Reading, ...]()
    try:
        with closing(lumas(path)) as frames:
            for luma in frames:
                reader.add(_shaped(luma, size))
                if reader.frames in _LOOKS:
                    readings = reader.readings(parts=False)
                    if any(each.identity == watermark for each in readings):
                        return WatermarkFound(True, _others(readings, watermark), reader.frames)
                if reader.frames >= _most_frames(luma):
                    break
    except SecondfaceError as error:
        if error.fault != "caller":
            raise
        # it is larger than what may be opened here
        return WatermarkFound(False, frames=reader.frames)
    readings = reader.readings(parts=False)
    return WatermarkFound(
        any(each.identity == watermark for each in readings), _others(readings, watermark), reader.frames
    )  # fmt: skip


def readings_in(path: Path, limits: Limits) -> tuple[Reading, ...]:
    """All watermarks in a file, whoever's; also in what was cut out of a larger picture. Raises BadMedia errors."""
    reader = WatermarkReader()
    with closing(lumas(path, limits)) as frames:
        for luma in frames:
            reader.add(luma)
            if reader.frames in _LOOKS and (found := reader.readings(parts=False)):
                return found
            if reader.frames >= _most_frames(luma):
                break
    return reader.readings(parts=True)


def _others(readings: tuple[Reading, ...], watermark: int) -> tuple[Reading, ...]:
    return tuple(each for each in readings if each.identity != watermark)


def _most_frames(luma: Luma) -> int:
    return max(_LEAST_FRAMES, min(_LOOKS[-1], _MOST_PIXELS // max(1, luma.size)))


def _shaped(luma: Luma, size: tuple[int, int] | None) -> Luma:
    """`luma` in the shape of the frames that were marked, if it was written in another one."""
    height, width = luma.shape
    if size is None or abs(size[0] * height / (size[1] * width) - 1) < _SAME_SHAPE:
        return luma
    return cv2.resize(luma, size, interpolation=cv2.INTER_AREA)


def _grey(rgb: Any) -> Any:
    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), np.uint8)
