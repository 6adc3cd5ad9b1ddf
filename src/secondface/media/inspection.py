"""What a file is, found out by the readers themselves: the work that is done inside the cage.

Decides still or video and hands over to the reader of that kind; must not keep anything open, and must not import
anything after it has begun, for nothing can be opened then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from secondface.errors import BadMedia, MediaTooLarge
from secondface.media.animations import AnimationReader, is_animation
from secondface.media.caged_process import Given
from secondface.media.images import still_info
from secondface.media.info import MediaInfo
from secondface.media.limits import Limits
from secondface.media.missing_end import note_on_end
from secondface.media.read import VideoReader
from secondface.media.signatures import sniff

LATE_MODULES = (
    *(f"PIL.{name}ImagePlugin" for name in ("Avif", "Bmp", "Gif", "Jpeg", "Mpo", "Png", "Ppm", "Tiff", "WebP")),
    "PIL.JpegPresets", "av.subtitles.stream", "av.subtitles.codeccontext", "av.subtitles.subtitle",
)  # fmt: skip
"""What Pillow and PyAV load at first use, when nothing can be loaded any more."""


def inspect(path: Path, limits: Limits) -> MediaInfo:
    """What `path` holds (an animation is a video); a video's first frame is decoded, a still is not.

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty.
    """
    signature = sniff(path)
    if signature.kind == "still":
        info = AnimationReader(path, limits).info if is_animation(path, limits) else still_info(path, limits)
    else:
        with VideoReader(path, limits, threads=1) as reader:
            info = reader.info
    note = note_on_end(path, signature.format_name)
    return replace(info, file_notes=(note,)) if note else info


def inspect_given(given: Given) -> Iterator[object]:
    """Inside the cage: for each file, `{"info": MediaInfo}` or `{"code": ..., "detail": ...}`, as JSON values."""
    limits = Limits.of_words(given.argument)
    for path in given.paths:
        try:
            yield {"info": asdict(inspect(path, limits))}
        except BadMedia as error:
            yield refusal(path, error)


def refusal(path: Path, error: BadMedia) -> dict[str, object]:
    """`error` as JSON values; what failed for want of memory is too large rather than damaged."""
    if isinstance(error.__cause__, MemoryError):
        error = MediaTooLarge(f"{path.name}: it needs more memory than a file of its kind may take")
    return {"code": error.code, "detail": error.detail, "facts": error.facts}
