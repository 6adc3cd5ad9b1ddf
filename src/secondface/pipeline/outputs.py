"""Outputs under way, still and video: nothing lies under an output's name until its marks have been read back.

Decides how a request's options reach the writers of `media`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from secondface.errors import InternalFault, MarkMissing
from secondface.frames import Frame
from secondface.media.encoders import VideoOptions
from secondface.media.images import Still, StillOptions
from secondface.media.marks import read_stored_marks
from secondface.media.read import VideoReader
from secondface.media.side_streams import StreamReport
from secondface.media.still_output import require_possible, still_format, write_still
from secondface.media.write import VideoWriter
from secondface.pipeline.watermarking import WatermarkFound, is_in_frame, lost_watermark_notes, read_back
from secondface.provenance.metadata import MetadataMarks, read_marks, require_marks
from secondface.spec.marks import watermark_of
from secondface.spec.schemas import RunRequest

_EXACT = frozenset({"PNG", "TIFF"})
"""Formats that hold every pixel as it is."""


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
    @property
    def size(self) -> tuple[int, int]:
        """Width and height of what is written."""
        ...

    @property
    def holds_watermark(self) -> bool:
        """Whether the invisible watermark was read back; known once it is stored."""
        ...


class MarksCheck:
    """What a file must pass before it gets its name: its marks can be read back."""

    def __init__(
        self, marks: MetadataMarks, *, is_still: bool, size: tuple[int, int] | None = None, exact: Frame | None = None
    ) -> None:  # fmt: skip
        """`size` is that of the frames as marked, if the file's may differ; `exact` is a frame that loses nothing."""
        self._marks, self._is_still, self._size, self._exact = marks, is_still, size, exact
        self.watermark: WatermarkFound | None = None

    def __call__(self, path: Path) -> None:
        """Raises MarkMissing for metadata; the watermark, which not every picture can hold, is kept as it was found."""
        stored = read_stored_marks(path)
        require_marks(read_marks(stored.xmp, stored.tags), self._marks, is_still=self._is_still)
        wanted = watermark_of(self._marks.label.produce_id)
        self.watermark = read_back(path, wanted, self._size)
        if not self.watermark.is_ours and self._exact is not None and is_in_frame(self._exact, wanted):
            raise MarkMissing("the invisible watermark is missing or altered")

    @property
    def holds_watermark(self) -> bool:
        return self.watermark is not None and self.watermark.is_ours

    @property
    def notes(self) -> tuple[str, ...]:
        return lost_watermark_notes(self.watermark)


def still_options(request: RunRequest) -> StillOptions:
    """The request's words for pictures, as `media` takes them."""
    still = request.still
    return StillOptions(quality=still.quality, lossless=still.lossless, keep_metadata=request.keep_metadata)


def video_options(request: RunRequest, size: tuple[int, int] = (2, 2)) -> VideoOptions:
    """The request's words for video, as `media` takes them; `size` is that of the frames, for a scale in percent."""
    video = request.video
    return VideoOptions(
        codec=video.codec, encoder=video.encoder, quality=video.quality, preset=video.preset, rate=video.rate,
        scale=video.scale.of(*size) if video.scale is not None else None, audio=video.audio, volume=video.volume,
        depth=video.depth, sdr=video.hdr == "sdr", keep_metadata=request.keep_metadata,
    )  # fmt: skip


class StillOutput:
    """A picture that is written when all of it is there."""

    def __init__(self, request: RunRequest, still: Still, marks: MetadataMarks) -> None:
        self._path = request.output
        self._options = still_options(request)
        require_possible(request.output, self._options)
        self._still = still
        self._marks = marks
        self._frame: Frame | None = None
        self.notes: tuple[str, ...] = ()
        self.size: tuple[int, int] = (still.info.width, still.info.height)
        self.holds_watermark = False

    def write(self, frame: Frame) -> None:
        self._frame = frame
        self.size = (frame.width, frame.height)

    def store(self) -> tuple[StreamReport, ...]:
        if self._frame is None:
            raise InternalFault("A picture was to be stored before it was written.")
        is_exact = self._options.lossless or still_format(self._path) in _EXACT
        check = MarksCheck(self._marks, is_still=True, exact=self._frame if is_exact else None)
        notes = write_still(self._path, self._frame, self._still, self._options, self._marks.xmp, check)
        self.notes, self.holds_watermark = (*notes, *check.notes), check.holds_watermark
        return ()

    def discard(self) -> None:
        """A picture is written at once or not at all."""


class VideoOutput:
    """A video, encoded as the run goes."""

    def __init__(self, request: RunRequest, reader: VideoReader, marks: MetadataMarks, size: tuple[int, int]) -> None:
        self._check = MarksCheck(marks, is_still=False, size=size)
        self._writer = VideoWriter(
            request.output, reader, video_options(request, size), size=size, tags=marks.tags
        )  # fmt: skip
        self.size: tuple[int, int] = self._writer.size

    @property
    def notes(self) -> tuple[str, ...]:
        return self._check.notes

    @property
    def holds_watermark(self) -> bool:
        return self._check.holds_watermark

    def write(self, frame: Frame) -> None:
        self._writer.write(frame)

    def store(self) -> tuple[StreamReport, ...]:
        return tuple(self._writer.close(self._check))

    def discard(self) -> None:
        self._writer.abort()
