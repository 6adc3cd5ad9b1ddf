"""Which encoder writes the picture, in which pixel format, with which options.

Decides defaults per container and codec; must not know streams, files or frames.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from av.codec import Codec
from av.error import FFmpegError

from secondface.errors import InvalidOption, OutputFormatUnsupported
from secondface.media.layouts import PlaneLayout, layout_of

CodecName = Literal["h264", "hevc", "vp9", "av1"]
CONTAINERS = {".mp4": "mp4", ".m4v": "mp4", ".mov": "mov", ".mkv": "matroska", ".webm": "webm"}
_ALLOWED: dict[str, tuple[str, ...]] = {
    "mp4": ("h264", "hevc", "vp9", "av1"),
    "mov": ("h264", "hevc"),
    "matroska": ("h264", "hevc", "vp9", "av1"),
    "webm": ("vp9", "av1"),
}
_ENCODERS: dict[str, str] = {"h264": "libx264", "hevc": "libx265", "vp9": "libvpx-vp9", "av1": "libsvtav1"}
_QUALITY: dict[str, int] = {"h264": 18, "hevc": 20, "vp9": 24, "av1": 24}
_WORST: dict[str, int] = {"h264": 51, "hevc": 51, "vp9": 63, "av1": 63}
_EVEN_ONLY = ("h264", "hevc")
"""H.264 and H.265 count the crop of 4:2:0 in whole chroma samples, so an odd size needs full chroma."""


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """How a video is written; None takes the default of the container and codec."""

    codec: CodecName | None = None
    """None: H.264 for 8 bits, HEVC for more; in WebM VP9, AV1 for more than 8 bits."""
    quality: int | None = None
    """Constant rate factor: lower is better and larger; 0..51 for H.264 and HEVC, 0..63 for VP9 and AV1."""
    preset: str | None = None
    """x264/x265 preset name (default veryfast), or a speed number for VP9 (cpu-used) and AV1."""
    threads: int | None = None
    """Encoder threads; None for one per core, up to 8."""
    audio: bool = True
    """False leaves the sound out."""

    def __post_init__(self) -> None:
        if self.codec is not None and self.codec not in _ENCODERS:
            raise InvalidOption(f"codec {self.codec}: choose one of {', '.join(_ENCODERS)}")
        if self.quality is not None and not 0 <= self.quality <= _WORST[self.codec or "vp9"]:
            raise InvalidOption(f"quality {self.quality}: choose 0 to {_WORST[self.codec or 'vp9']}")


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """A complete choice: FFmpeg's encoder, the layout that it is fed, its options, the codec tag, and notes."""

    codec: str
    encoder: str
    layout: PlaneLayout
    options: dict[str, str]
    threads: int
    tag: str | None = None
    notes: tuple[str, ...] = ()


def container_for(path: str | os.PathLike[str]) -> str:
    """FFmpeg's muxer for the output name `path`; OutputFormatUnsupported for any other name."""
    suffix = Path(path).suffix.lower()
    if suffix not in CONTAINERS:
        raise OutputFormatUnsupported(f"{suffix or 'no extension'}: not a video format that can be written")
    return CONTAINERS[suffix]


def choose_encoder(container: str, options: VideoOptions, layout: PlaneLayout, size: tuple[int, int]) -> EncoderChoice:
    """The encoder for frames of `layout` and `size` (width, height) in `container`."""
    codec = options.codec or _default_codec(container, layout.depth)
    if codec not in _ALLOWED[container]:
        raise OutputFormatUnsupported(f"{container} cannot hold {codec}; it can hold {', '.join(_ALLOWED[container])}")
    if options.quality is not None and options.quality > _WORST[codec]:
        raise InvalidOption(f"quality {options.quality}: {codec} takes 0 to {_WORST[codec]}")
    encoder = _ENCODERS[codec]
    if encoder == "libsvtav1":
        # the library writes a page to stderr for each file, and has no other switch
        os.environ.setdefault("SVT_LOG", "1")
    target = _encodable(encoder, codec, layout, size)
    notes: list[str] = []
    if (target.family, target.depth, target.shift_x, target.shift_y) != (
        layout.family, layout.depth, layout.shift_x, layout.shift_y,
    ):  # fmt: skip
        notes.append(f"{layout.name} is encoded as {target.name}")
    threads = options.threads or min(8, os.cpu_count() or 1)
    return EncoderChoice(
        codec, encoder, target, _encoder_options(codec, options, threads), threads,
        "hvc1" if codec == "hevc" and container in ("mp4", "mov") else None, tuple(notes),
    )  # fmt: skip


def _default_codec(container: str, depth: int) -> str:
    if container == "webm":
        return "vp9" if depth == 8 else "av1"
    return "h264" if depth == 8 else "hevc"


def _encoder_options(codec: str, options: VideoOptions, threads: int) -> dict[str, str]:
    quality = str(options.quality if options.quality is not None else _QUALITY[codec])
    match codec:
        case "h264":
            if options.preset is not None:
                return {"crf": quality, "preset": options.preset}
            # B frames of this fast preset pulse in tone, 1.3 times the source's own flicker; they would save a third
            # of the bytes, which any slower preset does without pulsing.
            return {"crf": quality, "preset": "veryfast", "bf": "0"}
        case "hevc":
            parameters = f"log-level=none:pools={threads}"
            return {"crf": quality, "preset": options.preset or "veryfast", "x265-params": parameters}
        case "vp9":
            # "good" costs four times as much for the same picture at these speeds
            speed = options.preset or "6"
            return {"crf": quality, "cpu-used": speed, "deadline": "realtime", "lag-in-frames": "16", "row-mt": "1"}
        case _:
            return {"crf": quality, "preset": options.preset or "9", "svtav1-params": f"lp={threads}"}


@lru_cache(maxsize=16)
def _formats_of(encoder: str) -> tuple[str, ...]:
    try:
        formats = Codec(encoder, "w").video_formats
    except (FFmpegError, ValueError) as cause:
        raise OutputFormatUnsupported(f"this build of FFmpeg has no {encoder}") from cause
    return tuple(each.name for each in formats or [])


def _encodable(encoder: str, codec: str, layout: PlaneLayout, size: tuple[int, int]) -> PlaneLayout:
    """The layout nearest to `layout` that `encoder` takes: never fewer bits or less chroma if that can be had."""
    odd_x, odd_y = (side % 2 == 1 and codec in _EVEN_ONLY for side in size)
    known = [found for name in _formats_of(encoder) if (found := layout_of(name)) and found.family == "yuv"
             and not found.alpha and not found.implies_full_range]  # fmt: skip
    fitting = [each for each in known if not (odd_x and each.shift_x) and not (odd_y and each.shift_y)]
    if not fitting:
        raise OutputFormatUnsupported(f"{codec} cannot hold a picture of {size[0]}x{size[1]}")
    # a gray picture has no chroma to lose; 4:2:0 is what every player shows
    want_x, want_y = (1, 1) if layout.family == "gray" else (layout.shift_x, layout.shift_y)

    def loss(each: PlaneLayout) -> tuple[int, int, int, int]:
        fewer_bits, more_bits = max(0, layout.depth - each.depth), max(0, each.depth - layout.depth)
        less_chroma = max(0, each.shift_x - want_x) + max(0, each.shift_y - want_y)
        more_chroma = max(0, want_x - each.shift_x) + max(0, want_y - each.shift_y)
        return fewer_bits, less_chroma, more_bits, more_chroma

    return min(fitting, key=loss)
