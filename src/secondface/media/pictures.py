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

from secondface.errors import MediaUnsupported
from secondface.media.layouts import PlaneLayout, layout_of, stand_in
from secondface.media.planes import PlanarFrame, Plane
from secondface.media.ycbcr import BT709, RGB_MATRIX, ColourSpace

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_SWS_MATRIX = {BT709: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9}
"""H.273 matrix code to swscale's."""
_SWS_ANY = 1
"""Where both sides have one matrix, swscale multiplies by none, and any name will do."""


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
    if format_name.startswith("xyz"):
        raise MediaUnsupported("its pictures are CIE XYZ (digital cinema): grade it for a display first")
    known = av.VideoFormat(format_name)
    colours = [component for component in known.components if not component.is_alpha]
    depth = max((component.bits for component in colours), default=8)
    if format_name.startswith("bayer"):
        # FFmpeg counts the sensor's colours apart, which together make one sample
        depth = sum(component.bits for component in colours)
    if known.is_rgb and depth <= 8 and len(colours) < len(known.components):
        return layout_of("gbrap") or stand_in("rgb", depth)
    if known.is_rgb or known.has_palette:
        return stand_in("rgb", depth)
    if len(colours) == 1:
        return stand_in("gray", depth)
    cells = _SIDE // known.chroma_width(_SIDE), _SIDE // known.chroma_height(_SIDE)
    return stand_in("yuv", depth, *(cell.bit_length() - 1 for cell in cells))


_SIDE = 16
"""Divisible by every cell of chroma."""


def converted(
    picture: av.VideoFrame, layout: PlaneLayout, space: ColourSpace, to_space: ColourSpace | None = None,
    size: tuple[int, int] | None = None,
) -> av.VideoFrame:  # fmt: skip
    """`picture`, whose codes mean `space`, in another layout, size or space; MediaUnsupported where there is no way."""
    target = to_space or space
    stored = layout_of(picture.format.name)
    if stored is not None and _swscale_errs(stored, layout):
        planes = plane_views(picture, stored)
        if stored.depth == layout.depth and stored.family == "gray" and space.full_range == target.full_range:
            picture = _coloured(planes[0], layout)
        else:
            picture = picture_of(PlanarFrame(planes, stored, space).recoded(layout, target).planes, layout)
        if size in (None, (picture.width, picture.height)):
            return picture
        return converted(picture, layout, target, None, size)
    source_matrix, target_matrix = _sws_pair(space, target)
    width, height = size or (picture.width, picture.height)
    return picture.reformat(
        width=width, height=height, format=layout.name,
        src_colorspace=source_matrix, dst_colorspace=target_matrix,
        src_color_range=2 if space.full_range else 1, dst_color_range=2 if target.full_range else 1,
        interpolation="BICUBIC",
    )  # fmt: skip


def _swscale_errs(stored: PlaneLayout, layout: PlaneLayout) -> bool:
    """Gray it takes for full range whatever the tag says, and deeper RGB it brings through eight bits."""
    return layout.family == "yuv" and (stored.family == "gray" or (stored.family == "rgb" and stored.depth > 8))


def _coloured(luma: Plane, layout: PlaneLayout) -> av.VideoFrame:
    picture = av.VideoFrame(luma.shape[1], luma.shape[0], layout.name)
    gray, *others = plane_views(picture, layout)
    gray[:] = luma
    for index, plane in enumerate(others, 1):
        plane[:] = 1 << (layout.depth - 1) if index < layout.colour_planes else (1 << layout.depth) - 1
    return picture


def _sws_pair(source: ColourSpace, target: ColourSpace) -> tuple[int, int]:
    if source.matrix == target.matrix:
        return _SWS_ANY, _SWS_ANY
    pair = [_SWS_ANY if each.matrix == RGB_MATRIX else _SWS_MATRIX.get(each.matrix) for each in (source, target)]
    if pair[0] is None or pair[1] is None:
        raise MediaUnsupported(f"colour matrix {source.matrix} cannot be turned into {target.matrix} within a video")
    return pair[0], pair[1]
