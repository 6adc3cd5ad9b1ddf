"""What is known of a media file before it is worked on, as plain values.

Decides names and units; must not open anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from secondface.frames import StreamInfo
from secondface.media.layouts import PlaneLayout
from secondface.media.mastering import MasteringLight
from secondface.media.orientation import UPRIGHT, Orientation
from secondface.media.signatures import Kind
from secondface.media.ycbcr import ColourSpace


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """One stream of a container. `start` and `duration` are in seconds, None where the container does not say."""

    index: int
    kind: str
    """video, audio, subtitle, data or attachment."""
    codec: str
    start: Fraction | None = None
    duration: Fraction | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class PictureFacts:
    """How the video stream stores its pictures."""

    stream_index: int
    stored: PlaneLayout
    """As decoded, before it is turned upright."""
    layout: PlaneLayout
    """As frames have it."""
    space: ColourSpace
    time_base: Fraction
    orientation: Orientation = UPRIGHT
    sample_aspect: Fraction = Fraction(1, 1)
    """Of the upright picture."""
    interlaced: bool = False
    """As stored; frames are not."""
    light: MasteringLight | None = None
    """What an HDR film was graded for."""


@dataclass(frozen=True, slots=True)
class MediaInfo:
    """What a file is. Sizes are of the upright picture, times are exact seconds."""

    kind: Kind
    format_name: str
    width: int
    height: int
    frame_count: int | None = 1
    average_rate: Fraction | None = None
    duration: Fraction | None = None
    streams: tuple[StreamFacts, ...] = ()
    notes: tuple[str, ...] = ()
    picture: PictureFacts | None = None
    """None for stills."""
    file_notes: tuple[str, ...] = ()
    """What probe() has to say of the file as a whole, whatever part of it is used."""

    @property
    def stream_info(self) -> StreamInfo:
        """The part of this that steps may know."""
        return StreamInfo(self.width, self.height, self.frame_count, self.kind == "still", self.average_rate)
