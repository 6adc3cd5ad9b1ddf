"""When a frame is shown that is named by its number, found without decoding.

Decides the order in which frames are shown; must not know pixels.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from secondface.errors import InvalidOption
from secondface.media.limits import Limits
from secondface.media.read import VideoReader


def time_of_frame(path: Path, number: int, limits: Limits | None = None) -> Fraction:
    """Seconds from the start of the file at which frame `number`, from 0, is shown. Raises InvalidOption, BadMedia."""
    with VideoReader(path, limits) as reader:
        last = -1
        for frame in reader.frames():
            last = frame.index
            if frame.index == number:
                return (frame.pts or 0) * frame.time_base - reader.trim.origin
    raise InvalidOption(f"f{number}: {path.name} has only the frames f0 to f{last}.", frames=last + 1)
