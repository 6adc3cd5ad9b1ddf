"""VideoWriter: frames in, one finished file out, with everything else of the input beside them.

Decides times and sizes of what is written, when the side streams are, and what becomes of the container's own tags.
Must not know faces or steps.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# PyAV's stubs leave the keyword arguments of add_stream and the stream of an encoded packet untyped

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import av
from av.container import OutputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from secondface.errors import EncodeFailed, OutputFormatUnsupported
from secondface.frames import Frame
from secondface.media.animation_as_video import AnimationSource, NothingBeside
from secondface.media.containers import legible, open_output, writing_failures
from secondface.media.cover_art import add_to_mp4
from secondface.media.encoders import EncoderChoice, VideoOptions, choose_encoder, container_for
from secondface.media.frame_rate import ConstantRate
from secondface.media.low_priority import giving_way
from secondface.media.part_file import PartFile
from secondface.media.picture_feed import PictureFeed
from secondface.media.planes import PlanarFrame
from secondface.media.ratios import common_step, seconds
from secondface.media.read import VideoReader
from secondface.media.sdr import is_hdr
from secondface.media.side_streams import KEPT_TAGS, TECHNICAL_TAGS, SideStreams, StreamReport
from secondface.media.trim import timecode_after

__all__ = ["StreamReport", "VideoOptions", "VideoWriter"]

_FILE_TAGS = ("title", "creation_time")
"""Tags of the file that are kept; others name devices, places, people or programs."""
_SMALL = 16
"""Encoders have smallest sizes of their own, all of them below this."""
_RECKONED_FROM = 3
_SOUND_TICKS = 48_000
_MOST_TICKS = 10_000_000
_STEADY = Fraction(25)
"""Frames per second where a file does not say; only tables of the container are laid out by it."""


class VideoWriter:
    """Writes a part beside the output and renames it on close(). As a context manager it aborts unless closed.

    `size` (width, height) is that of the frames if it is not the input's; options.scale is what they become.
    Raises OutputFormatUnsupported, OutputNotWritable, InvalidOption, CodecUnavailable, DiskFull or EncodeFailed.
    """

    def __init__(
        self, path: str | os.PathLike[str], reader: VideoReader | AnimationSource, options: VideoOptions | None = None,
        size: tuple[int, int] | None = None, tags: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.path = Path(path)
        self._reader = reader
        self._options = options or VideoOptions()
        self._facts = reader.picture
        tags, container = dict(tags or {}), container_for(self.path)
        self._size = self._options.scale or size or (reader.info.width, reader.info.height)
        self._choice = self._chosen(container)
        self._feed = PictureFeed(
            self._choice, self._facts.layout, self._facts.space, self._size, sdr=self._options.sdr
        )  # fmt: skip
        self._pace = ConstantRate[av.VideoFrame](self._options.rate) if self._options.rate is not None else None
        self._time_base = self._counted_in()
        self._start = reader.trim.start
        self._frames = 0
        self._end: Fraction | None = None
        self._durations: dict[int, int] = {}
        with ExitStack() as undo:
            self._part = PartFile(self.path)
            undo.callback(self._part.discard)
            self._output = open_output(
                self._part.path, container, _muxer_options(container, tags, self._time_base)
            )  # fmt: skip
            undo.callback(_drop, self._output)
            self._stream = self._video_stream()
            self._side = NothingBeside() if isinstance(reader, AnimationSource) else SideStreams(
                reader.path, reader.format_name, self._facts.stream_index, self._output, container,
                trim=reader.trim, options=self._options, reserved=tags,
            )  # fmt: skip
            undo.callback(self._side.close)
            self._describe(tags)
            self._begin()
            self._undo = undo.pop_all()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels of what is written."""
        return self._size

    @property
    def encoder(self) -> EncoderChoice:
        """What the picture is encoded with."""
        return self._choice

    def write(self, frame: Frame) -> None:
        """Encode `frame` at its own time, or at those that the constant rate has for it; frames must come in order."""
        picture = self._feed.picture(frame)
        time = self._time_of(frame)
        duration = frame.duration * frame.time_base if isinstance(frame, PlanarFrame) and frame.duration else None
        stop = self._reader.trim.stop
        if duration is not None and stop is not None:
            duration = min(duration, stop - self._start - time)
        self._end = time + duration if duration is not None else None
        with writing_failures(self.path, f"frame {frame.index}"):
            if self._pace is None:
                self._encode(picture, time, duration)
            else:
                for place, shown in self._pace.add(time, picture):
                    self._encode(shown, place, self._pace.step)

    def close(self, check: Callable[[Path], None] | None = None) -> list[StreamReport]:
        """Flush, finish and rename; what became of each stream, in the input's order.

        `check` sees the whole file before it gets its name, and may refuse it by raising.
        """
        try:
            with writing_failures(self.path, "at the end"):
                for place, shown in self._pace.finish(self._end) if self._pace is not None else ():
                    self._encode(shown, place, self._pace.step if self._pace is not None else None)
                left = self._stream.encode(None)
                # x265 reckons decoding times from the third picture, and gives any number when it never comes
                self._mux(decoded_in_order(left) if self._frames < _RECKONED_FROM else left)
                self._side.advance(None)
                self._output.close()
                self._add_covers()
            self._part.commit(check)
        except BaseException:
            self.abort()
            raise
        self._undo.pop_all()
        self._side.close()
        notes = "; ".join((*self._choice.notes, *self._reader.late_notes()))
        picture = StreamReport(
            self._facts.stream_index, "video", self._choice.codec, "encoded", notes, packets=self._frames
        )  # fmt: skip
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

    def _chosen(self, container: str) -> EncoderChoice:
        facts, options = self._facts, self._options
        toned = options.sdr and is_hdr(facts.space)
        if toned and options.depth is None:
            options = replace(options, depth=8)
        choice = choose_encoder(container, options, facts.layout, self._size, None if toned else facts.light)
        return replace(choice, notes=(*choice.notes, "HDR is turned into SDR")) if toned else choice

    def _begin(self) -> None:
        try:
            with writing_failures(self.path, "opening the encoders"):
                giving_way(self._output.start_encoding)
        except EncodeFailed as cause:
            if min(self._size) >= _SMALL:
                raise
            width, height = self._size
            raise OutputFormatUnsupported(f"{self._choice.encoder} cannot hold {width}x{height}") from cause

    def _counted_in(self) -> Fraction:
        """The time base of the output: the input's, made finer where a cut or a constant rate falls between."""
        if self._pace is None:
            return common_step(self._facts.time_base, self._reader.trim.start)
        return common_step(self._pace.step, self._facts.time_base)

    def _time_of(self, frame: Frame) -> Fraction:
        return (seconds(frame.pts, frame.time_base) or Fraction(0)) - self._start

    def _encode(self, picture: av.VideoFrame, time: Fraction, duration: Fraction | None) -> None:
        picture.time_base = self._time_base
        picture.pts = round(time / self._time_base)
        if duration:
            self._durations[picture.pts] = max(1, round(duration / self._time_base))
        self._mux(self._stream.encode(picture))
        self._frames += 1

    def _video_stream(self) -> VideoStream:
        choice, space = self._choice, self._feed.space
        rate = self._options.rate or self._reader.info.average_rate or _STEADY
        with writing_failures(self.path, choice.encoder):
            added = self._output.add_stream(
                choice.encoder, rate=rate, options=choice.options, hwaccel=choice.hardware
            )  # fmt: skip
        stream = cast("VideoStream", added)
        context = stream.codec_context
        context.width, context.height = self._size
        context.pix_fmt = choice.fed_as
        context.time_base = stream.time_base = self._time_base
        context.sample_aspect_ratio = self._sample_aspect()
        context.color_range = 2 if space.full_range else 1
        context.colorspace = space.matrix
        context.color_primaries, context.color_trc = space.primaries, space.transfer
        context.thread_count = choice.threads
        if choice.tag is not None:
            context.codec_tag = choice.tag
        stream.disposition = Disposition.default
        return stream

    def _sample_aspect(self) -> Fraction:
        """The shape of a pixel that keeps the shape of the picture; a change by less than a pixel's width is none."""
        info, aspect = self._reader.info, self._facts.sample_aspect
        width = Fraction(self._size[1] * info.width, info.height)
        if abs(width - self._size[0]) < 1:
            return aspect
        return (aspect * width / self._size[0]).limit_denominator(1 << 15)

    def _describe(self, tags: Mapping[str, str]) -> None:
        file_tags, stream_tags, chapters = self._reader.descriptions()
        everything = self._options.keep_metadata
        # an input may carry marks of its own, in any case of letters, that say something else
        reserved = {key.lower() for key in tags}
        file_tags, stream_tags = (
            {key: text for key, text in given.items() if key.lower() not in reserved}
            for given in (file_tags, stream_tags)
        )
        self._output.metadata.update(_kept(file_tags, _FILE_TAGS, everything) | dict(tags))
        self._stream.metadata.update(_kept(stream_tags, KEPT_TAGS, everything))
        rate = self._reader.info.average_rate
        if self._output.format.name != "webm" and rate is not None and (timecode := self._side.timecode):
            begin = round((self._reader.trim.begin or 0) * rate)
            self._stream.metadata["timecode"] = timecode_after(timecode, begin, rate)
        for chapter in chapters:
            chapter["metadata"] = _kept(chapter["metadata"], ("title",), everything)
        if chapters:
            self._output.set_chapters(chapters)

    def _add_covers(self) -> None:
        if not self._side.covers:
            return
        try:
            add_to_mp4(self._part.path, self._side.covers)
        except ValueError as cause:
            self._side.cover_lost(str(cause))

    def _mux(self, packets: list[Packet[Stream]]) -> None:
        for packet in packets:
            # not every encoder hands this on, and the last frame of a variable rate has nothing else to go by
            if packet.pts is not None and (duration := self._durations.pop(packet.pts, None)):
                packet.duration = duration
            if (until := seconds(packet.dts, packet.time_base)) is not None:
                self._side.advance(until)
            self._output.mux_one(packet)


def decoded_in_order(packets: list[Packet[Stream]]) -> list[Packet[Stream]]:
    """`packets`, all that an encoder made, with decoding times counted anew: as late as the times of showing allow."""
    shown = [packet.pts for packet in packets if packet.pts is not None]
    if len(shown) < len(packets):
        return packets
    times = sorted(shown)
    ahead = max((time - pts for time, pts in zip(times, shown, strict=True)), default=0)
    for packet, time in zip(packets, times, strict=True):
        packet.dts = time - ahead
    return packets


def _kept(tags: Mapping[str, str], names: tuple[str, ...], everything: bool) -> dict[str, str]:
    if everything:
        return {key: text for key, text in legible(tags).items() if key.lower() not in TECHNICAL_TAGS}
    return {key: tags[key] for key in names if key in tags}


def _muxer_options(container: str, tags: Mapping[str, str], time_base: Fraction) -> dict[str, str]:
    if container not in ("mp4", "mov"):
        return {}
    # a start that is not 0 is counted in the film's own ticks, which are milliseconds unless FFmpeg is told otherwise
    ticks = math.lcm(time_base.denominator, _SOUND_TICKS)
    # FFmpeg silently drops tags that MP4 has no box for unless it is told to use the metadata box
    flags = "+faststart+use_metadata_tags" if tags else "+faststart"
    return {"movflags": flags, "movie_timescale": str(ticks if ticks <= _MOST_TICKS else 90_000)}


def _drop(output: OutputContainer) -> None:
    """Close a file that will not be kept; what its muxer still has to complain of does not matter any more."""
    try:
        output.close()
    except (FFmpegError, OSError, ValueError):
        return
