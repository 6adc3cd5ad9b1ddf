"""The target as one kind of thing, still or video: frames out of it, and a marked output from them.

Decides which reader a target needs, which part of it is read, and which options it cannot use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from secondface.errors import InvalidOption, MediaTooLarge
from secondface.frames import Frame, StreamInfo
from secondface.media.animations import AnimationReader, is_animation
from secondface.media.encoders import require_encodable
from secondface.media.frame_times import time_of_frame
from secondface.media.images import Still, read_still
from secondface.media.limits import Limits
from secondface.media.read import VideoReader
from secondface.media.signatures import Kind, sniff
from secondface.media.still_output import still_format
from secondface.pipeline.animation_target import (
    AnimationOutput,
    AnimationTarget,
    becomes_video,
    dropped_streams,
    holds_animation,
    holds_film,
)
from secondface.pipeline.device import Checkpoint
from secondface.pipeline.outputs import Output, StillOutput, VideoOutput, video_options
from secondface.pipeline.sealing import Seal
from secondface.spec.outputs import Moment
from secondface.spec.outputs import StillOutput as StillSpec
from secondface.spec.outputs import VideoOutput as VideoSpec
from secondface.spec.schemas import RunRequest

_LEAST_SCOUTED_S = 4
_SAMPLE_EVERY_S = Fraction(1, 2)
_MOST_SAMPLES = 120


class Target(Protocol):
    """What the faces are put into."""

    @property
    def stream(self) -> StreamInfo: ...
    @property
    def frame_bytes(self) -> int: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    def frames(self) -> Iterator[Frame]: ...
    def samples(self, checkpoint: Checkpoint) -> Iterator[Frame]:
        """Frames from all over a long target, for a first look; none of a short one."""
        ...

    def output(self, request: RunRequest, seal: Seal, scale: int) -> Output: ...


def open_target(request: RunRequest) -> AbstractContextManager[Target]:
    """Open the target by what its bytes say, and check that the output's name fits its kind."""
    limits = Limits.of_pixels(request.limits.max_pixels)
    if sniff(request.target).kind == "still":
        if becomes_video(request.output) and is_animation(request.target, limits):
            require_encodable(request.output, video_options(request))
            return AnimationTarget(AnimationReader(request.target, limits), request.limits.max_frames)
        require_kind(request, "still")
        if holds_animation(request.output) and is_animation(request.target, limits):
            reader = AnimationReader(request.target, limits)
            return AnimationTarget(reader, request.limits.max_frames)
        still_format(request.output)
        return nullcontext(StillTarget(read_still(request.target, limits)))
    require_kind(request, "video")
    if holds_film(request.output):
        require_no_encoding(request)
    else:
        require_encodable(request.output, video_options(request))
    begin, end = (_seconds_of(moment, request.target, limits) for moment in (request.video.begin, request.video.end))

    def opened() -> VideoReader:
        return VideoReader(request.target, limits, begin=begin, end=end, decoder=request.video.decoder)

    return VideoTarget(opened, request.limits.max_frames)


def _seconds_of(moment: Moment | None, path: Path, limits: Limits) -> Fraction | None:
    if moment is None or moment.frame is None:
        return moment.seconds if moment else None
    return time_of_frame(path, moment.frame, limits)


_VIDEO_WORDS = {
    "rate": "--fps", "begin": "--from", "end": "--to", "depth": "--bit-depth",
}  # fmt: skip
"""Options that are not called like their field."""


def require_kind(request: RunRequest, kind: Kind) -> None:
    """Raises InvalidOption for options that say nothing about this kind of target."""
    if kind == "still" and (said := _said(request.video)):
        names = ", ".join(_VIDEO_WORDS.get(name, f"--{name}") for name in said)
        raise InvalidOption(f"{names}: for video, but {request.target.name} is a picture.", options=said)
    if kind == "video" and not holds_film(request.output) and (said := _said(request.still)):
        names = ", ".join({"quality": "--still-quality"}.get(name, f"--{name}") for name in said)
        raise InvalidOption(f"{names}: for pictures, but {request.target.name} is a video.", options=said)


def require_no_encoding(request: RunRequest) -> None:
    """Raises InvalidOption for options of video files where the output is an animation."""
    if said := sorted(set(_said(request.video)) - {"begin", "end", "decoder"}):
        names = ", ".join(_VIDEO_WORDS.get(name, f"--{name}") for name in said)
        raise InvalidOption(f"{names}: for video, but {request.output.name} will be an animation.", options=said)


def _said(options: VideoSpec | StillSpec) -> list[str]:
    """Names of the fields that are not as they are by default."""
    usual = type(options)()
    return sorted(name for name in type(options).model_fields if getattr(options, name) != getattr(usual, name))


def fitted_to_kind(request: RunRequest) -> RunRequest:
    """The request without options for another kind of target. Raises BadMedia errors."""
    empty: dict[str, object] = (
        {"video": VideoSpec()} if sniff(request.target).kind == "still" else {"still": StillSpec()}
    )
    return request.model_copy(update=empty)


class StillTarget:
    """One picture."""

    def __init__(self, still: Still) -> None:
        self._still = still
        self.stream: StreamInfo = still.info.stream_info
        self.notes: tuple[str, ...] = still.info.notes
        self.frame_bytes: int = still.frame.width * still.frame.height * (3 if still.coding.depth == 8 else 6)

    def frames(self) -> Iterator[Frame]:
        yield self._still.frame

    def samples(self, checkpoint: Checkpoint) -> Iterator[Frame]:  # noqa: ARG002 - there is nothing to look through
        return iter(())

    def output(self, request: RunRequest, seal: Seal, scale: int) -> StillOutput:  # noqa: ARG002
        return StillOutput(request, self._still, seal)


class VideoTarget(AbstractContextManager["VideoTarget"]):
    """A video, read frame by frame."""

    def __init__(self, opened: Callable[[], VideoReader], max_frames: int | None) -> None:
        self._opened = opened
        reader = self._reader = opened()
        self._max_frames = max_frames
        info = reader.info
        self.stream: StreamInfo = info.stream_info
        self.notes: tuple[str, ...] = info.notes
        layout = reader.picture.layout
        planes = (layout.plane_size(index, info.width, info.height) for index in range(layout.plane_count))
        self.frame_bytes: int = sum(width * height for width, height in planes) * (1 if layout.depth == 8 else 2)
        self._refuse_beyond(info.frame_count or 0)

    def __exit__(self, *exception: object) -> None:
        self._reader.close()

    def frames(self) -> Iterator[Frame]:
        for frame in self._reader.frames():
            self._refuse_beyond(frame.index + 1)
            yield frame
            # A generator that holds on to what it yielded keeps one more frame alive.
            del frame

    def samples(self, checkpoint: Checkpoint) -> Iterator[Frame]:
        """A frame every half second, of a long video at most 120; a clip of seconds is over before it is looked at."""
        length = self._reader.info.duration
        if length is None or length < _LEAST_SCOUTED_S:
            # Of a video without a length nobody knows when enough of it was seen to refuse it.
            return
        step = max(_SAMPLE_EVERY_S, length / _MOST_SAMPLES)
        due = Fraction(0)
        with self._opened() as reader:
            for frame in reader.frames():
                checkpoint()
                time = (frame.pts or 0) * frame.time_base
                if frame.index == 0:
                    due = time
                if time >= due:
                    due = time + step
                    yield frame

    def output(self, request: RunRequest, seal: Seal, scale: int) -> Output:
        size = self.stream.width * scale, self.stream.height * scale
        if holds_film(request.output):
            return AnimationOutput(request, seal, size, notes=dropped_streams(self._reader.info))
        return VideoOutput(request, self._reader, seal, size)

    def _refuse_beyond(self, frames: int) -> None:
        if self._max_frames is not None and frames > self._max_frames:
            raise MediaTooLarge(f"{self._reader.path.name}: more than {self._max_frames} frames.", frames=frames)
