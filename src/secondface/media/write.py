"""VideoWriter: frames in, one finished file out, with everything else of the input beside them.

Decides how pictures reach the encoder (as planes, never through RGB when they are planes already), when the side
streams are written, and what becomes of the container's own tags. Must not know faces or steps.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# PyAV's stubs leave the keyword arguments of add_stream and the stream of an encoded packet untyped

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import av
from av.container import OutputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Stream
from av.video.frame import PictureType
from av.video.stream import VideoStream

from secondface.frames import Frame
from secondface.media.containers import open_output, writing_failures
from secondface.media.encoders import EncoderChoice, VideoOptions, choose_encoder, container_for
from secondface.media.info import PictureFacts
from secondface.media.layouts import PlaneLayout
from secondface.media.part_file import PartFile
from secondface.media.pictures import DecodedFrame, converted, picture_of
from secondface.media.planes import PlanarFrame, planes_from_rgb
from secondface.media.ratios import seconds
from secondface.media.read import VideoReader
from secondface.media.side_streams import KEPT_TAGS, SideStreams, StreamReport
from secondface.media.ycbcr import BT709, ColourSpace

__all__ = ["StreamReport", "VideoOptions", "VideoWriter"]

_FILE_TAGS = ("title", "creation_time")
"""Tags of the file that are kept; others name devices, places, people or programs."""
_ARBITRARY_START = ("mpegts", "mpeg", "asf", "flv", "mxf")
"""Formats whose clock starts anywhere; the others say by their times how streams lie to each other from 0."""


class VideoWriter:
    """Writes NAME.part beside the output and renames it on close(). As a context manager it aborts unless closed.

    Raises OutputFormatUnsupported, OutputNotWritable, InvalidOption, DiskFull or EncodeFailed.
    """

    def __init__(
        self, path: str | os.PathLike[str], reader: VideoReader, options: VideoOptions | None = None,
        size: tuple[int, int] | None = None, tags: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.path = Path(path)
        options, tags = options or VideoOptions(), dict(tags or {})
        container = container_for(self.path)
        self._facts = reader.picture
        self._size = size or (reader.info.width, reader.info.height)
        self._choice = choose_encoder(container, options, self._facts.layout, self._size)
        self._space = _encoded_space(self._facts)
        self._origin = _earliest(reader) if reader.format_name in _ARBITRARY_START else Fraction(0)
        self._frames = 0
        self._durations: dict[int, int] = {}
        with ExitStack() as undo:
            self._part = PartFile(self.path)
            undo.callback(self._part.discard)
            self._output = open_output(self._part.path, container, _muxer_options(container, tags))
            undo.callback(_drop, self._output)
            self._stream = self._video_stream(reader)
            self._side = SideStreams(
                reader.path, reader.format_name, self._facts.stream_index, self._output, container,
                origin=self._origin, sound=options.audio, cover=container == "mp4" and not tags,
            )  # fmt: skip
            undo.callback(self._side.close)
            self._describe(reader, tags)
            with writing_failures(self.path, "opening the encoders"):
                self._output.start_encoding()
            self._undo = undo.pop_all()

    @property
    def encoder(self) -> EncoderChoice:
        """What the picture is encoded with."""
        return self._choice

    def write(self, frame: Frame) -> None:
        """Encode `frame` at its own time; frames must come in order."""
        picture = self._picture(frame)
        picture.pts = frame.pts
        if frame.pts is not None and self._origin:
            picture.pts = frame.pts - round(self._origin / frame.time_base)
        picture.time_base = frame.time_base
        # a decoded picture says how it was coded, and an encoder obeys: a clip of key frames would stay one
        picture.pict_type = PictureType.NONE
        if picture.pts is not None and isinstance(frame, PlanarFrame) and frame.duration:
            self._durations[picture.pts] = frame.duration
        with writing_failures(self.path, f"frame {frame.index}"):
            self._mux(self._stream.encode(picture))
        self._frames += 1

    def close(self) -> list[StreamReport]:
        """Flush, finish and rename; what became of each stream, in the input's order."""
        try:
            with writing_failures(self.path, "at the end"):
                self._mux(self._stream.encode(None))
                self._side.advance(None)
                self._output.close()
            self._part.commit()
        except BaseException:
            self.abort()
            raise
        self._undo.pop_all()
        self._side.close()
        index, notes = self._facts.stream_index, "; ".join(self._choice.notes)
        picture = StreamReport(index, "video", self._choice.codec, "encoded", notes, packets=self._frames)
        return sorted([*self._side.reports.values(), picture], key=lambda report: report.index)

    def abort(self) -> None:
        """Stop and leave nothing behind; after close() this does nothing."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    def _video_stream(self, reader: VideoReader) -> VideoStream:
        choice, rate = self._choice, reader.info.average_rate or Fraction(25)
        with writing_failures(self.path, choice.encoder):
            added = self._output.add_stream(choice.encoder, rate=rate, options=choice.options)
        stream = cast("VideoStream", added)
        context = stream.codec_context
        context.width, context.height = self._size
        context.pix_fmt = choice.layout.name
        context.time_base = stream.time_base = self._facts.time_base
        context.sample_aspect_ratio = self._facts.sample_aspect
        context.color_range = 2 if self._space.full_range else 1
        context.colorspace = self._space.matrix
        context.color_primaries, context.color_trc = self._space.primaries, self._space.transfer
        context.thread_count = choice.threads
        if choice.tag is not None:
            context.codec_tag = choice.tag
        return stream

    def _describe(self, reader: VideoReader, tags: Mapping[str, str]) -> None:
        file_tags, stream_tags, chapters = reader.descriptions()
        kept = {key: file_tags[key] for key in _FILE_TAGS if key in file_tags}
        self._output.metadata.update(kept | dict(tags))
        self._stream.metadata.update({key: stream_tags[key] for key in KEPT_TAGS if key in stream_tags})
        if self._output.format.name == "mov" and (timecode := self._side.timecode):
            self._stream.metadata["timecode"] = timecode
        if chapters:
            self._output.set_chapters(chapters)

    def _picture(self, frame: Frame) -> av.VideoFrame:
        target, size = self._choice.layout, (frame.width, frame.height)
        if isinstance(frame, PlanarFrame):
            picture = frame.picture if isinstance(frame, DecodedFrame) else picture_of(frame.planes, frame.layout)
            if _same_planes(frame.layout, target) and frame.space.matrix == self._space.matrix and size == self._size:
                return picture
            return converted(picture, target, frame.space, self._space, self._size)
        picture = picture_of(planes_from_rgb(frame.read(), target, self._space), target)
        return picture if size == self._size else converted(picture, target, self._space, None, self._size)

    def _mux(self, packets: list[Packet[Stream]]) -> None:
        for packet in packets:
            # not every encoder hands this on, and the last frame of a variable rate has nothing else to go by
            if packet.pts is not None and (duration := self._durations.pop(packet.pts, None)):
                packet.duration = duration
            if (until := seconds(packet.dts, packet.time_base)) is not None:
                self._side.advance(until)
            self._output.mux_one(packet)


def _same_planes(one: PlaneLayout, other: PlaneLayout) -> bool:
    """Whether the planes are the same, even if FFmpeg names full range apart (yuvj420p)."""
    return (one.family, one.depth, one.shift_x, one.shift_y, one.alpha) == (
        other.family, other.depth, other.shift_x, other.shift_y, other.alpha,
    )  # fmt: skip


def _encoded_space(facts: PictureFacts) -> ColourSpace:
    space = facts.space
    if facts.layout.family == "rgb":
        # RGB is written as BT.709 with full chroma, which every player understands
        return ColourSpace(BT709, False, space.primaries, space.transfer)
    return space


def _muxer_options(container: str, tags: Mapping[str, str]) -> dict[str, str]:
    if container not in ("mp4", "mov"):
        return {}
    # FFmpeg silently drops tags that MP4 has no box for unless it is told to use the metadata box
    return {"movflags": "+faststart+use_metadata_tags" if tags else "+faststart"}


def _earliest(reader: VideoReader) -> Fraction:
    starts = [stream.start for stream in reader.info.streams if stream.start is not None]
    return min(starts, default=Fraction(0))


def _drop(output: OutputContainer) -> None:
    """Close a file that will not be kept; what its muxer still has to complain of does not matter any more."""
    try:
        output.close()
    except (FFmpegError, OSError, ValueError):
        return
