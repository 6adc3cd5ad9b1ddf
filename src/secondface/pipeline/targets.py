"""The target as one kind of thing, still or video: frames out of it, and a marked output from them.

Decides how a request's options reach `media`, and that an output is looked at before it gets its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from secondface.errors import InternalFault, InvalidOption, MediaTooLarge, OutputNotWritable
from secondface.frames import Frame, StreamInfo
from secondface.media.animations import AnimationReader, is_animation
from secondface.media.encoders import VideoOptions, container_for
from secondface.media.images import Still, StillOptions, read_still
from secondface.media.limits import Limits
from secondface.media.marks import read_stored_marks
from secondface.media.read import VideoReader
from secondface.media.side_streams import StreamReport
from secondface.media.signatures import Kind, sniff
from secondface.media.still_output import require_possible, still_format, write_still
from secondface.media.write import VideoWriter
from secondface.pipeline.animation_target import AnimationTarget, holds_animation
from secondface.pipeline.people import Picture
from secondface.provenance.metadata import MetadataMarks, read_marks, require_marks
from secondface.spec.outputs import StillOutput as StillSpec
from secondface.spec.outputs import VideoOutput as VideoSpec
from secondface.spec.schemas import RunRequest


class Output(Protocol):
    """An output under way. Exactly one of `store` and `discard` ends it."""

    def write(self, frame: Frame) -> None: ...
    def store(self) -> tuple[StreamReport, ...]:
        """Finish the file, read its marks back, and give it its name. Raises MarkMissing."""
        ...

    def discard(self) -> None:
        """Leave nothing behind."""
        ...

    @property
    def notes(self) -> tuple[str, ...]: ...


class Target(Protocol):
    """What the faces are put into."""

    @property
    def stream(self) -> StreamInfo: ...
    @property
    def frame_bytes(self) -> int: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    def frames(self) -> Iterator[Frame]: ...
    def output(self, request: RunRequest, marks: MetadataMarks, scale: int) -> Output: ...


def open_target(request: RunRequest) -> AbstractContextManager[Target]:
    """Open the target by what its bytes say, and check that the output's name fits its kind."""
    limits = media_limits(request)
    if sniff(request.target).kind == "still":
        require_kind(request, "still")
        if holds_animation(request.output) and is_animation(request.target, limits):
            reader = AnimationReader(request.target, limits)
            return AnimationTarget(reader, request.limits.max_frames, _unchecked)
        still_format(request.output)
        return nullcontext(StillTarget(read_still(request.target, limits)))
    require_kind(request, "video")
    container_for(request.output)
    return VideoTarget(VideoReader(request.target, limits), request.limits.max_frames)


_VIDEO_WORDS = {
    "rate": "--fps", "begin": "--from", "end": "--to", "depth": "--bit-depth",
}  # fmt: skip
"""Options that are not called like their field."""


def require_kind(request: RunRequest, kind: Kind) -> None:
    """Raises InvalidOption for options that say nothing about this kind of target."""
    if kind == "still" and (said := sorted(request.video.model_fields_set)):
        names = ", ".join(_VIDEO_WORDS.get(name, f"--{name}") for name in said)
        raise InvalidOption(f"{names}: for video, but {request.target.name} is a picture.", options=said)
    if kind == "video" and (said := sorted(request.still.model_fields_set)):
        names = ", ".join({"quality": "--still-quality"}.get(name, f"--{name}") for name in said)
        raise InvalidOption(f"{names}: for pictures, but {request.target.name} is a video.", options=said)


def fitted_to_kind(request: RunRequest) -> RunRequest:
    """The request without options for another kind of target. Raises BadMedia errors."""
    empty: dict[str, object] = (
        {"video": VideoSpec()} if sniff(request.target).kind == "still" else {"still": StillSpec()}
    )
    return request.model_copy(update=empty)


def _unchecked(request: RunRequest, marks: MetadataMarks) -> UncheckedFile:
    return UncheckedFile(request.output, marks)


def read_picture(path: Path, limits: Limits) -> Picture:
    """A source or reference picture."""
    return Picture(str(path), read_still(path, limits).frame.rgb)


def media_limits(request: RunRequest) -> Limits:
    """The request's limits in the words of `media`."""
    most = request.limits.max_pixels
    return Limits() if most is None else Limits(still_pixels=most, video_pixels=most)


class StillTarget:
    """One picture."""

    def __init__(self, still: Still) -> None:
        self._still = still
        self.stream: StreamInfo = still.info.stream_info
        self.notes: tuple[str, ...] = still.info.notes
        self.frame_bytes: int = still.frame.width * still.frame.height * (3 if still.coding.depth == 8 else 6)

    def frames(self) -> Iterator[Frame]:
        yield self._still.frame

    def output(self, request: RunRequest, marks: MetadataMarks, scale: int) -> StillOutput:  # noqa: ARG002
        return StillOutput(request, self._still, marks)


class StillOutput:
    """A picture that is written when all of it is there."""

    def __init__(self, request: RunRequest, still: Still, marks: MetadataMarks) -> None:
        self._options = StillOptions(
            quality=request.still.quality, lossless=request.still.lossless, keep_metadata=request.keep_metadata
        )  # fmt: skip
        require_possible(request.output, self._options)
        self._still = still
        self._marks = marks
        self._file = UncheckedFile(request.output, marks)
        self._frame: Frame | None = None
        self.notes: tuple[str, ...] = ()

    def write(self, frame: Frame) -> None:
        self._frame = frame

    def store(self) -> tuple[StreamReport, ...]:
        if self._frame is None:
            raise InternalFault("A picture was to be stored before it was written.")
        self.notes = write_still(self._file.path, self._frame, self._still, self._options, self._marks.xmp)
        self._file.check_and_name(is_still=True)
        return ()

    def discard(self) -> None:
        self._file.discard()


class VideoTarget(AbstractContextManager["VideoTarget"]):
    """A video, read frame by frame."""

    def __init__(self, reader: VideoReader, max_frames: int | None) -> None:
        self._reader = reader
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

    def output(self, request: RunRequest, marks: MetadataMarks, scale: int) -> VideoOutput:
        return VideoOutput(request, self._reader, marks, (self.stream.width * scale, self.stream.height * scale))

    def _refuse_beyond(self, frames: int) -> None:
        if self._max_frames is not None and frames > self._max_frames:
            raise MediaTooLarge(f"{self._reader.path.name}: more than {self._max_frames} frames.", frames=frames)


class VideoOutput:
    """A video, encoded as the run goes."""

    def __init__(self, request: RunRequest, reader: VideoReader, marks: MetadataMarks, size: tuple[int, int]) -> None:
        options = VideoOptions(codec=request.video.codec, quality=request.video.quality, preset=request.video.preset)
        self._file = UncheckedFile(request.output, marks)
        self._writer = VideoWriter(self._file.path, reader, options, size=size, tags=marks.tags)
        self.notes: tuple[str, ...] = ()

    def write(self, frame: Frame) -> None:
        self._writer.write(frame)

    def store(self) -> tuple[StreamReport, ...]:
        streams = tuple(self._writer.close())
        self._file.check_and_name(is_still=False)
        return streams

    def discard(self) -> None:
        self._writer.abort()
        self._file.discard()


class UncheckedFile:
    """A whole file beside its final name, which it gets only when its marks have been read back."""

    def __init__(self, final: Path, marks: MetadataMarks) -> None:
        self._final = final
        self._marks = marks
        # The id makes the name unique, so that nobody's file is overwritten.
        self.path: Path = final.with_name(f".{marks.label.produce_id}{final.suffix}")

    def check_and_name(self, *, is_still: bool) -> None:
        """Raises MarkMissing or OutputNotWritable; the file is then still under its first name."""
        stored = read_stored_marks(self.path)
        require_marks(read_marks(stored.xmp, stored.tags), self._marks, is_still=is_still)
        try:
            self.path.replace(self._final)
        except OSError as error:
            raise OutputNotWritable(f"{self._final}: {error.strerror}", path=str(self._final)) from error

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
