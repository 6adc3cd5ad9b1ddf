"""Outputs under way, still and video: nothing lies under an output's name until its marks have been read back.

Decides how a request's options reach the writers of `media`.
"""

from __future__ import annotations

from typing import Protocol

from secondface.errors import InternalFault
from secondface.frames import Frame
from secondface.media.encoders import VideoOptions
from secondface.media.images import Still, StillOptions
from secondface.media.read import VideoReader
from secondface.media.side_streams import StreamReport
from secondface.media.still_output import require_possible, still_format, write_still
from secondface.media.write import VideoWriter
from secondface.pipeline.sealing import Seal
from secondface.spec.schemas import RunRequest

_EXACT = frozenset({"PNG", "TIFF"})
"""Formats that hold every pixel as it is."""


class Output(Protocol):
    """An output under way. Exactly one of `store` and `discard` ends it."""

    def write(self, frame: Frame) -> None: ...
    def store(self) -> tuple[StreamReport, ...]:
        """Finish the file, sign it, read its marks back, and give it its name. Raises MarkMissing."""
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

    def __init__(self, request: RunRequest, still: Still, seal: Seal) -> None:
        self._path = request.output
        self._options = still_options(request)
        require_possible(request.output, self._options)
        self._still = still
        self._seal = seal
        self._frame: Frame | None = None
        self.notes: tuple[str, ...] = ()
        self.size: tuple[int, int] = (still.info.width, still.info.height)

    def write(self, frame: Frame) -> None:
        self._frame = frame
        self.size = (frame.width, frame.height)

    def store(self) -> tuple[StreamReport, ...]:
        if self._frame is None:
            raise InternalFault("A picture was to be stored before it was written.")
        is_exact = self._options.lossless or still_format(self._path) in _EXACT
        close = self._seal.closing(is_still=True, exact=self._frame if is_exact else None)
        self.notes = write_still(self._path, self._frame, self._still, self._options, self._seal.marks.xmp, close)
        return ()

    def discard(self) -> None:
        """A picture is written at once or not at all."""


class VideoOutput:
    """A video, encoded as the run goes."""

    def __init__(self, request: RunRequest, reader: VideoReader, seal: Seal, size: tuple[int, int]) -> None:
        self._seal = seal
        self._size = size
        self._writer = VideoWriter(
            request.output, reader, video_options(request, size), size=size, tags=seal.marks.tags
        )  # fmt: skip
        self.notes: tuple[str, ...] = ()
        self.size: tuple[int, int] = self._writer.size

    def write(self, frame: Frame) -> None:
        self._writer.write(frame)

    def store(self) -> tuple[StreamReport, ...]:
        return tuple(self._writer.close(self._seal.closing(is_still=False, size=self._size)))

    def discard(self) -> None:
        self._writer.abort()
