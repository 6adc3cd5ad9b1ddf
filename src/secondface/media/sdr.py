"""HDR video as ordinary video: which frames are turned, and what they become.

Decides when there is something to turn and the space that is written; the tones are those that vision sees.
"""

from __future__ import annotations

from typing import Literal

from secondface.media.layouts import PlaneLayout
from secondface.media.planes import PlanarFrame
from secondface.media.transfer import HLG, PQ
from secondface.media.ycbcr import BT709, ColourSpace


def is_hdr(space: ColourSpace) -> bool:
    """Whether the codes of `space` mean more light than an ordinary display has."""
    return space.transfer in (PQ, HLG)


def sdr_space(layout: PlaneLayout) -> ColourSpace:
    """BT.709 throughout, limited range: what every player takes for granted."""
    return ColourSpace(BT709, False, BT709, BT709, layout.site)


def sdr_layout(layout: PlaneLayout, depth: Literal[8, 10] = 8) -> PlaneLayout:
    """The planes in which frames of `layout` are SDR."""
    if layout.family == "rgb":
        layout = PlaneLayout("yuv444p", "yuv", 8)
    return layout.at_depth(depth)


def to_sdr(frame: PlanarFrame, depth: Literal[8, 10] = 8) -> PlanarFrame:
    """A new frame of the same picture in sdr_layout() and sdr_space(); an SDR frame is given back as it is."""
    if not is_hdr(frame.space):
        return frame
    layout = sdr_layout(frame.layout, depth)
    return frame.shown_in(layout, sdr_space(layout))
