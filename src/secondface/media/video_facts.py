"""What a container and its first decoded picture say about a video.

Decides sizes, times, colours and notes from FFmpeg's fields; must not decode or keep anything open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import cast

import av
from av.codec.context import CodecContext
from av.container import InputContainer
from av.sidedata.sidedata import SideData
from av.sidedata.sidedata import Type as SideDataType
from av.stream import Stream
from av.video.stream import VideoStream

from secondface.media import deinterlace
from secondface.media.containers import legible
from secondface.media.info import MediaInfo, PictureFacts, StreamFacts
from secondface.media.mastering import mastering_light
from secondface.media.orientation import UPRIGHT, Orientation, of_display_matrix
from secondface.media.pictures import layout_for
from secondface.media.ratios import exact, seconds
from secondface.media.ycbcr import ColourSpace

_MICROSECOND = Fraction(1, 1_000_000)
_FIELD_ORDERS = (2, 3, 4, 5)
"""FFmpeg's codes for a stream that says that it is interlaced, whichever field comes first."""
_DYNAMIC = "dynamic HDR metadata is left out: it was made for the pictures as they were"
_LEFT_OUT = {
    SideDataType.DYNAMIC_HDR_PLUS: _DYNAMIC, SideDataType.DYNAMIC_HDR_VIVID: _DYNAMIC,
    SideDataType.DOVI_METADATA: _DYNAMIC, SideDataType.DOVI_RPU_BUFFER: _DYNAMIC,
    SideDataType.SPHERICAL: "the mark that says this is a panorama is left out",
    SideDataType.STEREO3D: "the mark that says where each eye's picture is, is left out",
}  # fmt: skip
"""What a picture may carry that no encoder here is told."""
_HDR_TRANSFERS = {16: "PQ", 18: "HLG"}


def space_of(picture: av.VideoFrame) -> ColourSpace:
    """What the code values of `picture` mean, with guesses where it is untagged."""
    layout = layout_for(picture.format.name)
    return ColourSpace.tagged(
        picture.colorspace, picture.color_range, picture.color_primaries, picture.color_trc,
        size=(picture.width, picture.height), full=layout.is_full_range(picture.color_range),
        rgb=layout.family == "rgb", site=layout.site,
    )  # fmt: skip


def picture_facts(picture: av.VideoFrame, stream: VideoStream, described: av.VideoFrame | None = None) -> PictureFacts:
    """How `stream`, whose first picture this is, stores its pictures; `described` says which way is up, if not it."""
    described = described or picture
    orientation = _orientation(described) or UPRIGHT
    stored = layout_for(picture.format.name)
    layout = stored
    if orientation.swaps_sides:
        turned = stored.turned()
        if turned is None:
            stored = layout = stored.full_chroma()
        else:
            layout = turned
    aspect = exact(stream.sample_aspect_ratio) or exact(stream.codec_context.sample_aspect_ratio) or Fraction(1, 1)
    if orientation.swaps_sides:
        aspect = 1 / aspect
    time_base = exact(stream.time_base) or exact(picture.time_base) or Fraction(1, 1000)
    interlaced = described.interlaced_frame or stream.codec_context.field_order in _FIELD_ORDERS
    space = space_of(described)
    space = replace(space, site=space.site.turned(orientation.clockwise, orientation.mirrored))
    return PictureFacts(
        stream.index, stored, layout, space, time_base, orientation, aspect, interlaced,
        mastering_light(described),
    )  # fmt: skip


def video_info(
    format_name: str, container: InputContainer, stream: VideoStream, picture: av.VideoFrame, facts: PictureFacts,
    described: av.VideoFrame | None = None,
) -> MediaInfo:  # fmt: skip
    """Everything known of the video in `container`, whose first picture is `picture`; see picture_facts."""
    width, height = facts.orientation.shown_size(picture.width, picture.height)
    duration = _duration(container, stream)
    rate = exact(stream.average_rate) or exact(stream.guessed_rate)
    count = stream.frames or None
    if count and rate and duration and count > duration * rate * Fraction(51, 50) + 1:
        # an edit list hides some of the frames that the table counts
        count = round(duration * rate)
    return MediaInfo(
        "video", format_name, width, height, count, rate, duration,
        tuple(_stream_facts(each) for each in container.streams), _notes(picture, described or picture, facts), facts,
    )  # fmt: skip


def _orientation(picture: av.VideoFrame) -> Orientation | None:
    attached = cast("Mapping[SideDataType, SideData]", picture.side_data)  # what it is; PyAV 18's stub is wrong
    matrix = attached.get(SideDataType.DISPLAYMATRIX)
    return UPRIGHT if matrix is None else of_display_matrix(bytes(matrix))


def _notes(picture: av.VideoFrame, described: av.VideoFrame, facts: PictureFacts) -> tuple[str, ...]:
    notes: list[str] = []
    if _orientation(described) is None:
        notes.append("the display matrix is no multiple of a quarter turn: shown as stored")
    if facts.interlaced:
        notes.append(deinterlace.NOTE)
    attached = cast("Mapping[SideDataType, SideData]", described.side_data)
    notes.extend(dict.fromkeys(text for kind, text in _LEFT_OUT.items() if attached.get(kind) is not None))
    if facts.space.transfer in _HDR_TRANSFERS:
        kind = _HDR_TRANSFERS[facts.space.transfer]
        notes.append(f"HDR ({kind}): faces are seen as an ordinary display shows them, all else stays as it is")
    if picture.format.name != facts.stored.name:
        notes.append(f"pixel format {picture.format.name} is held as {facts.stored.name}")
    return tuple(notes)


def _stream_facts(stream: Stream) -> StreamFacts:
    return StreamFacts(
        stream.index, stream.type, codec_name(stream) or "unknown",
        seconds(stream.start_time, stream.time_base), seconds(stream.duration, stream.time_base),
        legible(stream.metadata).get("language"),
    )  # fmt: skip


def codec_name(stream: Stream) -> str:
    """FFmpeg's name of the codec of `stream`, empty where there is no decoder for it (data, fonts)."""
    context = cast("CodecContext | None", stream.codec_context)
    return context.codec.canonical_name if context is not None else ""


def _duration(container: InputContainer, stream: VideoStream) -> Fraction | None:
    own = seconds(stream.duration, stream.time_base)
    return own or (container.duration * _MICROSECOND if container.duration else None)
