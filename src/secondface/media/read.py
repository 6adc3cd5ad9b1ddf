"""VideoReader: the frames of one video file, upright, in order, in their own planes, with exact times.

Decides which stream is the picture, what its colours mean and when each frame is shown.
Must not know encoders or faces.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import av
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.stream import VideoStream

from secondface.errors import MediaCorrupt, MediaEmpty, MediaTooLarge, MediaUnsupported
from secondface.media.containers import legible, open_input, reading_failures
from secondface.media.info import MediaInfo, PictureFacts
from secondface.media.limits import Limits
from secondface.media.pictures import DecodedFrame, converted, plane_views
from secondface.media.planes import PlanarFrame
from secondface.media.ratios import exact, seconds
from secondface.media.signatures import sniff
from secondface.media.video_facts import codec_name, picture_facts, space_of, video_info

if TYPE_CHECKING:
    from av.container.core import Chapter  # only the stub has this name

DECODER_THREADS = 2
"""Each decoder thread keeps whole pictures alive, so two are the default however many cores there are."""


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

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty.
    """

    def __init__(
        self, path: str | os.PathLike[str], limits: Limits | None = None, threads: int = DECODER_THREADS
    ) -> None:
        self.path = Path(path)
        self.limits = limits or Limits()
        self._threads = threads
        signature = sniff(self.path)
        if signature.kind != "video":
            raise MediaUnsupported(f"{self.path.name}: a picture ({signature.format_name}), not a video")
        self.format_name = signature.format_name
        self._container = self._opened()
        self._pictures = self._decode()
        self._first: av.VideoFrame | None = None
        try:
            first = self._first = self._first_picture()
            stream = self._stream(self._container)
            self.picture: PictureFacts = picture_facts(first, stream)
            self.info: MediaInfo = video_info(self.format_name, self._container, stream, first, self.picture)
            self.limits.check_duration(self.path.name, self.info.duration)
        except BaseException:
            self.close()
            raise

    def frames(self) -> Iterator[PlanarFrame]:
        """Every frame in presentation order, each once; a second call starts again from the file."""
        if self._first is None:
            self._container.close()
            self._container = self._opened()
            self._pictures = self._decode()
            self._first = self._first_picture()
        first, self._first = self._first, None
        clock = _Clock()
        frame = self._frame(first, 0, clock)
        del first
        yield frame
        del frame  # a generator that holds on to what it yielded would keep one more frame alive
        index = 1
        for picture in self._pictures:
            yield self._frame(picture, index, clock)
            index += 1

    def descriptions(self) -> tuple[dict[str, str], dict[str, str], list[Chapter]]:
        """Tags of the file, tags of the video stream, and chapters."""
        chapters = self._container.chapters()
        for chapter in chapters:
            chapter["metadata"] = legible(chapter["metadata"])
        return legible(self._container.metadata), legible(self._stream(self._container).metadata), chapters

    def close(self) -> None:
        """Let go of the file; frames that were handed out stay valid."""
        self._first = None
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _first_picture(self) -> av.VideoFrame:
        first = next(self._pictures, None)
        if first is None:
            raise MediaEmpty(f"{self.path.name}: no frame of the video can be decoded")
        return first

    def _opened(self) -> InputContainer:
        container = open_input(self.path, self.format_name)
        try:
            self.limits.check_streams(self.path.name, len(container.streams))
            stream = self._stream(container)
            context = stream.codec_context
            if context.width and context.height:
                self.limits.check_size(self.path.name, context.width, context.height, video=True)
            # the header may lie: FFmpeg checks the size inside the bitstream too, before it makes room for a picture
            context.options = {"max_pixels": str(self.limits.video_pixels)}
            context.thread_count = self._threads
            stream.thread_type = "AUTO"
        except BaseException:
            container.close()
            raise
        return container

    def _stream(self, container: InputContainer) -> VideoStream:
        pictures = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
        if not pictures:
            raise MediaEmpty(f"{self.path.name}: no video stream")
        chosen = [s for s in pictures if s.disposition & Disposition.default]
        stream = (chosen or pictures)[0]
        if not codec_name(stream):
            raise MediaUnsupported(f"{self.path.name}: no decoder for its video")
        return stream

    def _decode(self) -> Iterator[av.VideoFrame]:
        stream = self._stream(self._container)
        packets: Iterator[Packet[VideoStream]] = self._container.demux(stream)
        last: Fraction | None = None
        while True:
            where = f"at {float(last):.3f} s" if last is not None else "at its start"
            with reading_failures(self.path, where):
                packet = next(packets, None)
                pictures = [] if packet is None else packet.decode()
            if packet is None:
                return
            for picture in pictures:
                last = seconds(picture.pts, picture.time_base) or last
                self._check_size(picture)
                yield picture

    def _check_size(self, picture: av.VideoFrame) -> None:
        try:
            self.limits.check_size(self.path.name, picture.width, picture.height, video=True)
        except (MediaTooLarge, MediaCorrupt):
            self._container.close()
            raise

    def _frame(self, picture: av.VideoFrame, index: int, clock: _Clock) -> PlanarFrame:
        facts = self.picture
        pts = clock.stamp(picture, facts.time_base)
        duration = picture.duration or None
        size = facts.orientation.shown_size(self.info.width, self.info.height)
        if picture.format.name != facts.stored.name or (picture.width, picture.height) != size:
            picture = converted(picture, facts.stored, space_of(picture), facts.space, size)
        if facts.orientation.is_upright:
            return DecodedFrame(picture, facts.layout, facts.space,
                                index=index, pts=pts, time_base=facts.time_base, duration=duration)  # fmt: skip
        planes = [facts.orientation.apply(plane) for plane in plane_views(picture, facts.stored)]
        return PlanarFrame(planes, facts.layout, facts.space,
                           index=index, pts=pts, time_base=facts.time_base, duration=duration)  # fmt: skip
