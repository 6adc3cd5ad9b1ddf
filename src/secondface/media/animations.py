"""Animations in: the frames of GIF, WebP, APNG and AVIF sequences, upright, each with all that is to be seen.

Decides which frames belong to the animation and what their colours are; must not know faces or outputs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags

from secondface.errors import MediaCorrupt
from secondface.media.animation_times import timing_of
from secondface.media.info import MediaInfo
from secondface.media.limits import Limits
from secondface.media.orientation import UPRIGHT, Orientation, of_exif
from secondface.media.still_colour import to_srgb
from secondface.media.still_files import OpenedStill, decoding_failures, exif_of, opened
from secondface.media.still_frames import StillFrame
from secondface.media.still_metadata import KeptMetadata, collect
from secondface.media.still_tags import colour_tags

_ANIMATED = frozenset({"GIF", "WEBP", "PNG", "AVIF"})


def is_animation(path: Path, limits: Limits) -> bool:
    """Whether the picture `path` moves; the errors of still_info()."""
    with opened(path, limits, header_only=True) as source:
        return _is_animated(source)


class AnimationReader:
    """One animation, opened: its delays are known, its frames are decoded one by one.

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty.
    """

    def __init__(self, path: str | os.PathLike[str], limits: Limits | None = None) -> None:
        self.path = Path(path)
        self.limits = limits or Limits()
        with opened(self.path, self.limits) as source:
            picture = source.picture
            if picture is None or not _is_animated(source):
                raise MediaCorrupt(f"{self.path.name}: not an animation")
            self.format_name = source.format_name
            self._first = 1 if picture.info.get("default_image") else 0
            self.timing = timing_of(source, self._first)
            self.kept: KeptMetadata = collect(picture)
            width, height = _turn(source).shown_size(*picture.size)
        self.time_base = Fraction(1, math.lcm(1000, *(delay.denominator for delay in self.timing.delays)))
        length = sum((self.timing.shown(k) for k in range(len(self.timing.delays))), Fraction(0))
        notes = ("the picture that does not belong to the animation is left out",) if self._first else ()
        count = len(self.timing.delays)
        self.info = MediaInfo("video", self.format_name, width, height, count, count / length, length, notes=notes)

    def frames(self) -> Iterator[StillFrame]:
        """The frames in order, upright, in sRGB, each with all that is to be seen."""
        pts = Fraction(0)
        with opened(self.path, self.limits) as source, decoding_failures(self.path):
            turn, tags = _turn(source), colour_tags(source)
            picture: Any = source.picture
            for index in range(len(self.timing.delays)):
                picture.seek(index + self._first)
                self.limits.check_size(self.path.name, *picture.size, video=False)
                # gray of 16 bits is toned by to_srgb; Pillow would cut it
                layers = picture if picture.mode.startswith("I") else picture.convert("RGBA")
                colour = to_srgb(layers, tags.profile, tags.look or tags.space)
                alpha = colour.alpha
                if alpha is not None and int(alpha.min()) == 255:
                    alpha = None
                shown = self.timing.shown(index)
                yield StillFrame(
                    turn.apply(colour.rgb) if not turn.is_upright else colour.rgb,
                    None if alpha is None else np.asarray(turn.apply(alpha), np.uint8),
                    index=index, pts=int(pts / self.time_base), time_base=self.time_base,
                    duration=int(shown / self.time_base),
                )  # fmt: skip
                del layers, colour
                pts += shown


def _is_animated(source: OpenedStill) -> bool:
    return source.format_name in _ANIMATED and bool(getattr(source.picture, "is_animated", False))


def _turn(source: OpenedStill) -> Orientation:
    if source.picture is None or source.format_name == "GIF":
        return UPRIGHT
    return of_exif(exif_of(source.picture).get(ExifTags.Base.Orientation))
