"""Animations as targets, and as outputs of animations and videos.

Decides how delays, alpha and loops of the input reach the output; frames go through the same steps as a video's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path

import numpy as np

from secondface.errors import MediaTooLarge
from secondface.frames import Frame, StreamInfo
from secondface.media.animation_as_video import AnimationSource
from secondface.media.animation_output import FORMATS, AnimationWords, AnimationWriter
from secondface.media.animations import AnimationReader
from secondface.media.encoders import CONTAINERS
from secondface.media.info import MediaInfo
from secondface.media.side_streams import StreamReport
from secondface.media.still_frames import StillFrame
from secondface.media.still_metadata import KeptMetadata, merged_xmp
from secondface.media.write import VideoWriter
from secondface.pipeline.device import Checkpoint
from secondface.pipeline.outputs import Output, still_options, video_options
from secondface.pipeline.sealing import Seal
from secondface.provenance.metadata import MetadataMarks
from secondface.spec.schemas import RunRequest


def holds_animation(output: Path) -> bool:
    """Whether a file of this name can move, and be no video."""
    return output.suffix.lower() in FORMATS


def holds_film(output: Path) -> bool:
    """The same for a video as the target. Whoever wants it as a moving PNG says .apng: most who write .png mean one
    picture."""
    return holds_animation(output) and output.suffix.lower() != ".png"


def becomes_video(output: Path) -> bool:
    """Whether a file of this name is a video."""
    return output.suffix.lower() in CONTAINERS


class AnimationTarget(AbstractContextManager["AnimationTarget"]):
    """A GIF, WebP, APNG or AVIF sequence, read frame by frame."""

    def __init__(self, reader: AnimationReader, max_frames: int | None) -> None:
        self._reader = reader
        info = reader.info
        self.stream: StreamInfo = info.stream_info
        self.notes: tuple[str, ...] = info.notes
        self.frame_bytes: int = info.width * info.height * 4
        if max_frames is not None and (info.frame_count or 0) > max_frames:
            raise MediaTooLarge(f"{reader.path.name}: more than {max_frames} frames.", frames=info.frame_count)

    def __exit__(self, *exception: object) -> None:
        """The reader holds nothing open between frames()."""

    def frames(self) -> Iterator[Frame]:
        return self._reader.frames()

    def samples(self, checkpoint: Checkpoint) -> Iterator[Frame]:  # noqa: ARG002 - animations are short
        return iter(())

    def output(self, request: RunRequest, seal: Seal, scale: int) -> Output:
        info, timing = self._reader.info, self._reader.timing
        size = info.width * scale, info.height * scale
        if becomes_video(request.output):
            return AnimatedVideoOutput(request, seal, self._reader, size)
        kept = self._reader.kept if request.keep_metadata else None
        return AnimationOutput(request, seal, size, plays=timing.plays, delays=timing.delays, kept=kept)


class AnimationOutput:
    """An animation, written as the run goes; frames without a delay of their own are shown until the next one."""

    def __init__(
        self, request: RunRequest, seal: Seal, size: tuple[int, int], *, plays: int = 0,
        delays: tuple[Fraction, ...] = (), kept: KeptMetadata | None = None, notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        words, more = _words(seal.marks, kept)
        self.notes: tuple[str, ...] = (*notes, *more)
        self.size = size
        self._seal = seal
        self._writer = AnimationWriter(request.output, size, plays, still_options(request), words)
        self._delays = delays
        self._waiting: tuple[StillFrame, Fraction] | None = None
        self._last = _USUAL

    def write(self, frame: Frame) -> None:
        if frame.index < len(self._delays):
            self._writer.write(_plain(frame), self._delays[frame.index])
            return
        time = (frame.pts or 0) * frame.time_base
        if self._waiting is not None:
            self._last = time - self._waiting[1]
            self._writer.write(self._waiting[0], self._last)
        self._waiting = _plain(frame), time

    def store(self) -> tuple[StreamReport, ...]:
        if self._waiting is not None:
            self._writer.write(self._waiting[0], self._last)
        self._writer.close(self._seal.closing(is_still=True))
        return ()

    def discard(self) -> None:
        self._writer.abort()


class AnimatedVideoOutput:
    """An animation, encoded as a video without sound as the run goes."""

    def __init__(
        self, request: RunRequest, seal: Seal, reader: AnimationReader, size: tuple[int, int]
    ) -> None:  # fmt: skip
        self._seal = seal
        self._size = size
        self._source = AnimationSource(reader)
        options = video_options(request, size)
        self._writer = VideoWriter(request.output, self._source, options, size=size, tags=seal.marks.tags)
        self.notes: tuple[str, ...] = ()
        self.size: tuple[int, int] = self._writer.size

    def write(self, frame: Frame) -> None:
        if isinstance(frame, StillFrame) and frame.alpha is not None:
            self.notes = ("a video holds no alpha: laid on white",)
        self._writer.write(self._source.frame(frame))

    def store(self) -> tuple[StreamReport, ...]:
        return tuple(self._writer.close(self._seal.closing(is_still=False, size=self._size)))

    def discard(self) -> None:
        self._writer.abort()


_USUAL = Fraction(1, 10)
"""Seconds that the only frame of a video is shown."""


def dropped_streams(info: MediaInfo) -> tuple[str, ...]:
    """What an animation cannot hold of a video."""
    kinds = sorted({stream.kind for stream in info.streams} - {"video"})
    return (f"an animation holds no {' and no '.join(kinds)}: left out",) if kinds else ()


def _plain(frame: Frame) -> StillFrame:
    return frame if isinstance(frame, StillFrame) else StillFrame(np.ascontiguousarray(frame.read()), index=frame.index)


def _words(marks: MetadataMarks, kept: KeptMetadata | None) -> tuple[AnimationWords, tuple[str, ...]]:
    if kept is None:
        return AnimationWords(marks.xmp), ()
    packet = merged_xmp(marks.xmp, kept.xmp)
    notes = kept.notes if packet else (*kept.notes, "its XMP is damaged and not kept")
    return AnimationWords(packet or marks.xmp, kept.exif, kept.comment, kept.texts), notes
