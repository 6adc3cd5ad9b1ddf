"""Between FFmpeg's pictures and our planes, without a copy where none is needed.

Decides who owns a decoded picture's memory: the decoder may still predict from it, so it is copied before it changes.
Must not know containers or time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import av
import numpy as np

from secondface.media.layouts import PlaneLayout, layout_of, stand_in
from secondface.media.planes import PlanarFrame, Plane
from secondface.media.ycbcr import BT709, RGB_MATRIX, ColourSpace

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_SWS_MATRIX = {BT709: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9, 10: 9}
"""H.273 matrix code to swscale's."""


class DecodedFrame(PlanarFrame):
    """A PlanarFrame that lies on a decoder's picture and takes a copy of it at the first change."""

    def __init__(
        self, picture: av.VideoFrame, layout: PlaneLayout, space: ColourSpace, *,
        index: int, pts: int, time_base: Fraction, duration: int | None,
    ) -> None:  # fmt: skip
        super().__init__(
            plane_views(picture, layout), layout, space,
            index=index, pts=pts, time_base=time_base, duration=duration,
        )  # fmt: skip
        self._picture = picture
        self._owned = False

    @property
    def picture(self) -> av.VideoFrame:
        """The picture as it is now, for an encoder."""
        return self._picture

    def _own_planes(self) -> None:
        if self._owned:
            return
        # old views must go first: they would point at memory that is no longer this picture's
        self._planes = []
        self._picture.make_writable()
        self._planes = plane_views(self._picture, self.layout)
        self._owned = True


def plane_views(picture: av.VideoFrame, layout: PlaneLayout) -> list[Plane]:
    """The planes of `picture` as arrays on its own memory."""
    views: list[Plane] = []
    for index in range(layout.plane_count):
        plane = picture.planes[index]
        width, height = layout.plane_size(index, picture.width, picture.height)
        buffer = memoryview(cast("Buffer", plane))
        memory = np.frombuffer(buffer, np.uint8) if layout.depth == 8 else np.frombuffer(buffer, np.uint16)
        row = plane.line_size // memory.itemsize
        views.append(memory[: row * height].reshape(height, row)[:, :width])
    return views


def picture_of(planes: Sequence[Plane], layout: PlaneLayout) -> av.VideoFrame:
    """A new picture that holds a copy of `planes`."""
    height, width = planes[0].shape
    picture = av.VideoFrame(width, height, layout.name)
    for view, plane in zip(plane_views(picture, layout), planes, strict=True):
        view[:] = plane
    return picture


def layout_for(format_name: str) -> PlaneLayout:
    """The planar layout in which pictures of FFmpeg's format `format_name` are kept."""
    found = layout_of(format_name)
    if found is not None:
        return found
    known = av.VideoFormat(format_name)
    depth = max((component.bits for component in known.components), default=8)
    return stand_in(format_name, depth, known.is_rgb or known.has_palette)


def converted(
    picture: av.VideoFrame, layout: PlaneLayout, space: ColourSpace, to_space: ColourSpace | None = None,
    size: tuple[int, int] | None = None,
) -> av.VideoFrame:  # fmt: skip
    """`picture`, whose codes mean `space`, in another layout, size or space (by swscale)."""
    target = to_space or space
    width, height = size or (picture.width, picture.height)
    return picture.reformat(
        width=width, height=height, format=layout.name,
        src_colorspace=_sws(space), dst_colorspace=_sws(target),
        src_color_range=2 if space.full_range else 1, dst_color_range=2 if target.full_range else 1,
        interpolation="BICUBIC",
    )  # fmt: skip


def _sws(space: ColourSpace) -> int:
    return 1 if space.matrix == RGB_MATRIX else _SWS_MATRIX.get(space.matrix, 5)
