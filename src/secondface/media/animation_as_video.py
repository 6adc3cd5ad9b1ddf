"""An animation in the shape in which the video writer takes its inputs.

Decides the planes and times in which frames of an animation become video, and what is under the transparent ones.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from secondface.frames import RGB8, Frame
from secondface.media.animations import AnimationReader
from secondface.media.info import PictureFacts
from secondface.media.layouts import PlaneLayout
from secondface.media.planes import PlanarFrame, planes_from_rgb
from secondface.media.still_frames import StillFrame
from secondface.media.trim import Trim
from secondface.media.ycbcr import BT709, ColourSpace

if TYPE_CHECKING:
    from av.container.core import Chapter  # only the stub has this name

    from secondface.media.cover_art import CoverArt
    from secondface.media.side_streams import StreamReport

_LAYOUT = PlaneLayout("yuv420p", "yuv", 8, 1, 1)
_SPACE = ColourSpace(BT709, False, BT709, BT709)


class AnimationSource:
    """What VideoWriter asks of its reader, said of an animation: one picture stream, nothing beside it."""

    def __init__(self, reader: AnimationReader) -> None:
        self.path = reader.path
        self.info = reader.info
        self.trim = Trim()
        self.picture = PictureFacts(0, _LAYOUT, _LAYOUT, _SPACE, reader.time_base)

    def descriptions(self) -> tuple[dict[str, str], dict[str, str], list[Chapter]]:
        """No tags of the file, none of the stream, no chapters."""
        return {}, {}, []

    def late_notes(self) -> tuple[str, ...]:
        """What was found out while frames were read: nothing."""
        return ()

    def frame(self, frame: Frame) -> PlanarFrame:
        """`frame` in video's planes, shown as long; what is transparent is laid on white."""
        is_own = isinstance(frame, StillFrame)
        rgb = _on_white(frame) if is_own else frame.read()
        layout = _LAYOUT if rgb.shape[0] % 2 == rgb.shape[1] % 2 == 0 else _LAYOUT.full_chroma()
        return PlanarFrame(
            planes_from_rgb(rgb, layout, _SPACE), layout, _SPACE,
            index=frame.index, pts=frame.pts, time_base=frame.time_base, duration=frame.duration if is_own else None,
        )  # fmt: skip


class NothingBeside:
    """The side streams of a file that has none."""

    timecode: str | None = None

    def __init__(self) -> None:
        self.reports: dict[int, StreamReport] = {}
        self.covers: list[CoverArt] = []

    def advance(self, until: Fraction | None) -> None:
        """There is nothing to write."""

    def cover_lost(self, reason: str) -> None:
        """There is none to lose."""

    def close(self) -> None:
        """Nothing is open."""


def _on_white(frame: StillFrame) -> RGB8:
    if frame.alpha is None:
        return frame.rgb
    share = frame.alpha[:, :, None].astype(np.float32) / 255
    return np.round(frame.rgb * share + 255 * (1 - share)).astype(np.uint8)
