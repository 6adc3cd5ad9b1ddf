"""VideoReader: the frames of one video file, upright, whole, in order, in their own planes, with exact times.

Decides when each frame is shown, which part of the file is read, and that fields become pictures.
Must not know encoders or faces.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import av

from secondface.errors import InvalidOption, MediaEmpty, MediaUnsupported
from secondface.media.containers import legible
from secondface.media.decoders import PictureSource
from secondface.media.deinterlace import NOTE, Deinterlacer
from secondface.media.info import MediaInfo, PictureFacts
from secondface.media.limits import Limits
from secondface.media.pictures import DecodedFrame, converted, plane_views
from secondface.media.planes import PlanarFrame
from secondface.media.ratios import exact
from secondface.media.signatures import sniff
from secondface.media.timeline import JUMPING
from secondface.media.trim import Trim
from secondface.media.video_facts import picture_facts, space_of, video_info

if TYPE_CHECKING:
    from av.container.core import Chapter  # only the stub has this name

DECODER_THREADS = 2
"""Each decoder thread keeps whole pictures alive, so two are the default however many cores there are."""
_ARBITRARY_START = ("mpegts", "mpeg", "asf", "flv", "mxf")
"""Formats whose clock starts anywhere; the others say by their times how streams lie to each other from 0."""


class _Clock:
    """Gives each frame its own time: the file's where it has one, never the same or an earlier one twice."""

    def __init__(self) -> None:
        self._next: int | None = None

    def stamp(self, picture: av.VideoFrame, time_base: Fraction) -> int:
        pts = picture.pts if picture.pts is not None else picture.dts
        own = exact(picture.time_base)
        if pts is not None and own is not None and own != time_base:
            pts = round(pts * own / time_base)
        if pts is None:
            pts = self._next or 0
        if self._next is not None and pts < self._next:
            pts = self._next
        self._next = pts + 1
        return pts


class VideoReader:
    """One video file, opened and understood: its first picture is decoded, so `info` is what really comes.

    `begin` and `end` are seconds from the file's start: frames shown from `begin` on and before `end` are read.
    `decoder` is FFmpeg's name of a decoder (h264_cuvid) or of a device (cuda), or `gpu` for whatever works here.
    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge, MediaEmpty, InvalidOption, CodecUnavailable.
    """

    def __init__(
        self, path: str | os.PathLike[str], limits: Limits | None = None, threads: int = DECODER_THREADS, *,
        begin: Fraction | None = None, end: Fraction | None = None, decoder: str | None = None,
    ) -> None:  # fmt: skip
        self.path = Path(path)
        self.limits = limits or Limits()
        trim = Trim(begin, end)
        signature = sniff(self.path)
        if signature.kind != "video":
            raise MediaUnsupported(f"{self.path.name}: a picture ({signature.format_name}), not a video")
        self.format_name = signature.format_name
        self._late_notes: list[str] = []
        self._source = PictureSource(self.path, self.format_name, self.limits, threads, decoder)
        self._first: av.VideoFrame | None = None
        try:
            self._pictures = self._source.pictures()
            first = self._first = next(self._pictures, None)
            if first is None:
                raise MediaEmpty(f"{self.path.name}: no frame of the video can be decoded")
            described = self._source.first_described(first)
            stream = self._source.stream
            self.picture: PictureFacts = picture_facts(first, stream, described)
            whole = video_info(self.format_name, self._source.container, stream, first, self.picture, described)
            starts = [each.start for each in whole.streams if each.start is not None]
            origin = min(starts, default=Fraction(0)) if self.format_name in _ARBITRARY_START else Fraction(0)
            self.trim: Trim = replace(trim, origin=origin)
            self.info: MediaInfo = self._trimmed(replace(whole, notes=(*whole.notes, *self._source.notes)))
            self.limits.check_duration(self.path.name, self.info.duration)
        except BaseException:
            self.close()
            raise

    def frames(self) -> Iterator[PlanarFrame]:
        """Every frame of the part in presentation order, each once; a second call starts again from the file."""
        pictures = self._from_the_start() if self.trim.is_whole else self._source.pictures(self.trim.start)
        clock, base, index = _Clock(), self.picture.time_base, 0
        for picture in self._whole(pictures):
            pts = clock.stamp(picture, base)
            if self.trim.is_before(pts * base):
                continue
            if self.trim.is_after(pts * base):
                break
            self.limits.check_duration(self.path.name, pts * base - self.trim.start)
            yield self._frame(picture, index, pts)
            index += 1
            del picture  # a generator that holds on to what it yielded would keep one more frame alive
        if index == 0:
            begin = float(self.trim.begin or 0)
            raise InvalidOption(f"from {begin:g} s: no frame of the video lies there")

    def late_notes(self) -> tuple[str, ...]:
        """What only the frames that have been read so far could show."""
        return (*self._late_notes, *self._source.late_notes())

    def descriptions(self) -> tuple[dict[str, str], dict[str, str], list[Chapter]]:
        """Tags of the file, tags of the video stream, and chapters of the part, counted from its begin."""
        container = self._source.container
        kept: list[Chapter] = []
        for chapter in container.chapters():
            base = exact(chapter["time_base"]) or Fraction(1, 1000)
            part = self.trim.clipped(chapter["start"] * base, chapter["end"] * base)
            if part is not None:
                chapter["start"], chapter["end"] = (round(time / base) for time in part)
                chapter["metadata"] = legible(chapter["metadata"])
                kept.append(chapter)
        return legible(container.metadata), legible(self._source.stream.metadata), kept

    def close(self) -> None:
        """Let go of the file; frames that were handed out stay valid."""
        self._first = None
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _whole(self, pictures: Iterator[av.VideoFrame]) -> Iterator[av.VideoFrame]:
        """`pictures` without fields; all pass straight through until the first that has them."""
        for picture in pictures:
            if picture.interlaced_frame:
                if not self.picture.interlaced:
                    self._note(NOTE)
                yield from Deinterlacer().feed(chain([picture], pictures))
                return
            yield picture
            del picture  # the next one is decoded before this name would be free

    def _from_the_start(self) -> Iterator[av.VideoFrame]:
        if self._first is None:
            return self._source.pictures()
        pictures = chain([self._first], self._pictures)
        self._first = None
        return pictures

    def _trimmed(self, whole: MediaInfo) -> MediaInfo:
        if self.trim.is_whole:
            return whole
        # what a file says that may consist of several is true of one of them
        duration = self.trim.length_of(None if self.format_name in JUMPING else whole.duration)
        count = round(duration * whole.average_rate) if duration and whole.average_rate else None
        return replace(whole, duration=duration, frame_count=count)

    def _frame(self, picture: av.VideoFrame, index: int, pts: int) -> PlanarFrame:
        facts = self.picture
        duration = picture.duration or None
        size = facts.orientation.shown_size(self.info.width, self.info.height)
        if (picture.width, picture.height) != size:
            self._note(f"the picture size changes to {picture.width}x{picture.height}: shown as {size[0]}x{size[1]}")
        if picture.format.name != facts.stored.name or (picture.width, picture.height) != size:
            picture = converted(picture, facts.stored, space_of(picture), facts.space, size)
        if facts.orientation.is_upright:
            return DecodedFrame(picture, facts.layout, facts.space,
                                index=index, pts=pts, time_base=facts.time_base, duration=duration)  # fmt: skip
        planes = [facts.orientation.apply(plane) for plane in plane_views(picture, facts.stored)]
        return PlanarFrame(planes, facts.layout, facts.space,
                           index=index, pts=pts, time_base=facts.time_base, duration=duration)  # fmt: skip

    def _note(self, text: str) -> None:
        if text not in self._late_notes:
            self._late_notes.append(text)
