"""How a frame reaches the encoder: as its own planes where it can, else in the layout, space and size that are written.

Decides that nothing goes through RGB that is planes already. Must not know files, time or streams.
"""

from __future__ import annotations

from typing import Literal

import av
from av.video.frame import PictureType

from secondface.frames import Frame
from secondface.media.encoders import EncoderChoice
from secondface.media.layouts import PlaneLayout
from secondface.media.pictures import DecodedFrame, converted, picture_of
from secondface.media.planes import PlanarFrame, planes_from_rgb
from secondface.media.sdr import is_hdr, sdr_space, to_sdr
from secondface.media.ycbcr import BT709, ColourSpace


class PictureFeed:
    """Frames in, pictures of one size, layout and space out. `sdr` turns HDR into what an ordinary display shows."""

    def __init__(
        self, choice: EncoderChoice, layout: PlaneLayout, space: ColourSpace, size: tuple[int, int], *, sdr: bool
    ) -> None:  # fmt: skip
        self._choice = choice
        self._size = size
        self._sdr: Literal[8, 10] | None = None
        if sdr and is_hdr(space):
            self._sdr = 8 if choice.layout.depth == 8 else 10
        self.space: ColourSpace = written_space(choice.layout, layout, space, sdr=sdr)
        """What the codes of the written pictures mean."""

    def picture(self, frame: Frame) -> av.VideoFrame:
        """`frame` for the encoder, still without a time."""
        picture = self._shaped(frame)
        # a decoded picture says how it was coded, and an encoder obeys: a clip of key frames would stay one
        picture.pict_type = PictureType.NONE
        return picture

    def _shaped(self, frame: Frame) -> av.VideoFrame:
        target = self._choice.layout
        if not isinstance(frame, PlanarFrame):
            picture = picture_of(planes_from_rgb(frame.read(), target, self.space), target)
            return self._fed(picture, target, self.space, (frame.width, frame.height))
        if self._sdr is not None:
            frame = to_sdr(frame, self._sdr)
        picture = frame.picture if isinstance(frame, DecodedFrame) else picture_of(frame.planes, frame.layout)
        return self._fed(picture, frame.layout, frame.space, (frame.width, frame.height))

    def _fed(
        self, picture: av.VideoFrame, layout: PlaneLayout, space: ColourSpace, size: tuple[int, int]
    ) -> av.VideoFrame:  # fmt: skip
        target = self._choice.layout
        if not same_planes(layout, target) or space.matrix != self.space.matrix or size != self._size:
            picture = converted(picture, target, space, self.space, self._size)
        # a GPU wants the same samples interleaved
        return picture if self._choice.fed_as == target.name else picture.reformat(format=self._choice.fed_as)


def written_space(target: PlaneLayout, layout: PlaneLayout, space: ColourSpace, *, sdr: bool) -> ColourSpace:
    """What the codes mean that are written for pictures of `layout` and `space`."""
    if sdr and is_hdr(space):
        return sdr_space(target)
    if layout.family == "rgb":
        # RGB is written as BT.709 with full chroma, which every player understands
        return ColourSpace(BT709, False, space.primaries, space.transfer)
    return space


def same_planes(one: PlaneLayout, other: PlaneLayout) -> bool:
    """Whether the planes are the same, even if FFmpeg names full range apart (yuvj420p)."""
    return (one.family, one.depth, one.shift_x, one.shift_y, one.alpha) == (
        other.family, other.depth, other.shift_x, other.shift_y, other.alpha,
    )  # fmt: skip
