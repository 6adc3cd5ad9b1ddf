"""Which encoder writes the picture, in which pixel format, with which options.

Decides defaults per container and codec, and what happens where a machine lacks an encoder; must not know streams,
files or frames.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Literal

from av.codec import Codec
from av.codec.context import CodecContext
from av.codec.hwaccel import HWAccel
from av.error import FFmpegError

from secondface import processors
from secondface.errors import CodecUnavailable, InvalidOption, OutputFormatUnsupported
from secondface.media.encoder_options import (
    CPU_ENCODERS,
    GPU_MAKERS,
    WORST_QUALITY,
    codec_of,
    family_of,
    ffmpeg_options,
)
from secondface.media.layouts import PlaneLayout, layout_of
from secondface.media.mastering import MasteringLight

CodecName = Literal["h264", "hevc", "vp9", "av1"]
Depth = Literal[8, 10]
CONTAINERS = {".mp4": "mp4", ".m4v": "mp4", ".mov": "mov", ".mkv": "matroska", ".webm": "webm"}
ANY_GPU = "gpu"
"""In the place of an encoder's name: the first GPU encoder that works here, or else the processor, with a note."""
_ALLOWED: dict[str, tuple[str, ...]] = {
    "mp4": ("h264", "hevc", "vp9", "av1"),
    "mov": ("h264", "hevc"),
    "matroska": ("h264", "hevc", "vp9", "av1"),
    "webm": ("vp9", "av1"),
}
_EVEN_ONLY = ("h264", "hevc")
"""H.264 and H.265 count the crop of 4:2:0 in whole chroma samples, so an odd size needs full chroma."""
_ALPHA = ("yuva420p",)
"""libvpx lists others with alpha and then refuses them."""
_SEMIPLANAR = {"nv12": "yuv420p", "p010le": "yuv420p10le", "nv16": "yuv422p", "p210le": "yuv422p10le"}
"""What GPUs take, and the planes that hold the same."""
_LONGEST_SIDE = 16_384
_FASTEST = 1000


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """How a video is written; None takes the default of the container and codec. Raises InvalidOption."""

    codec: CodecName | None = None
    """None: H.264 for 8 bits, HEVC for more; in WebM VP9, AV1 for more than 8 bits; VP9 where alpha can be kept."""
    encoder: str | None = None
    """FFmpeg's name of an encoder (h264_nvenc), or `gpu` for any that works here; None for the processor's."""
    quality: int | None = None
    """Constant rate factor: lower is better and larger; 0..51 for H.264 and HEVC, 0..63 for VP9 and AV1."""
    preset: str | None = None
    """A speed as x264 names it (default veryfast), a number for VP9 (cpu-used) and AV1, or the encoder's own name."""
    rate: Fraction | None = None
    """Frames per second, constant: frames are left out or shown again, time runs as before. None keeps each stamp."""
    scale: tuple[int, int] | None = None
    """Width and height in pixels; None keeps those of the frames. The shape that is shown stays."""
    audio: bool = True
    """False leaves the sound out."""
    volume: Fraction | None = None
    """Factor of the sound's amplitude; None or 1 copies it."""
    depth: Depth | None = None
    """Bits of a colour value; None keeps the input's."""
    sdr: bool = False
    """HDR becomes what an ordinary display shows of it."""
    keep_metadata: bool = False
    """Also tags that name places, devices and people, and comments."""

    def __post_init__(self) -> None:
        if self.codec is not None and self.codec not in CPU_ENCODERS:
            raise InvalidOption(f"codec {self.codec}: choose one of {', '.join(CPU_ENCODERS)}")
        if self.encoder not in (None, ANY_GPU) and self.codec not in (None, codec_of(self.encoder or "")):
            raise InvalidOption(f"encoder {self.encoder}: it does not write {self.codec}")
        if self.quality is not None and not 0 <= self.quality <= WORST_QUALITY[self.codec or "vp9"]:
            raise InvalidOption(f"quality {self.quality}: choose 0 to {WORST_QUALITY[self.codec or 'vp9']}")
        if self.rate is not None and not 0 < self.rate <= _FASTEST:
            raise InvalidOption(f"rate {self.rate}: choose more than 0 and at most {_FASTEST} frames per second")
        sides = self.scale or (1, 1)
        if not all(1 <= side <= _LONGEST_SIDE for side in sides):
            raise InvalidOption(f"scale {sides[0]}x{sides[1]}: choose sides from 1 to {_LONGEST_SIDE}")
        if self.volume is not None and not 0 <= self.volume <= 100:
            raise InvalidOption(f"volume {self.volume}: choose 0 to 100, 1 changes nothing")


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """A complete choice: FFmpeg's encoder, the layout of its pictures, how it is fed, its options, tag and notes."""

    codec: str
    encoder: str
    layout: PlaneLayout
    fed_as: str
    """FFmpeg's pixel format of `layout` for this encoder."""
    options: dict[str, str]
    threads: int
    """One for each core, up to 8."""
    tag: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def hardware(self) -> HWAccel | None:
        """The device to which pictures must be sent, for encoders that do not find it themselves."""
        return HWAccel("vaapi") if self.encoder.endswith("_vaapi") else None


def container_for(path: str | os.PathLike[str]) -> str:
    """FFmpeg's muxer for the output name `path`; OutputFormatUnsupported for any other name."""
    suffix = Path(path).suffix.lower()
    if suffix not in CONTAINERS:
        known = ", ".join(CONTAINERS)
        raise OutputFormatUnsupported(f"{suffix or 'no extension'}: videos are written as {known}")
    return CONTAINERS[suffix]


def require_encodable(path: str | os.PathLike[str], options: VideoOptions) -> None:
    """Refuse what can be known to fail before any file is opened: name, codec, preset, encoder.

    Raises OutputFormatUnsupported, InvalidOption or CodecUnavailable.
    """
    container = container_for(path)
    codec = _asked_codec(options) or _ALLOWED[container][0]
    _require_held(container, codec)
    encoder = options.encoder if options.encoder not in (None, ANY_GPU) else CPU_ENCODERS[codec]
    family = family_of(encoder)
    candidates = [encoder]
    if options.encoder == ANY_GPU:
        candidates += [f"{codec}_{maker}" for maker in GPU_MAKERS]
    if not any(options.preset in (None, *family_of(each).presets) for each in candidates):
        family.option(encoder, options.preset)
    if options.quality is not None and options.quality > WORST_QUALITY[codec]:
        raise InvalidOption(f"quality {options.quality}: {codec} takes 0 to {WORST_QUALITY[codec]}")
    if family.is_gpu and (reason := why_not(encoder)):
        raise CodecUnavailable(f"{encoder}: {reason}", codec=encoder)


def choose_encoder(
    container: str, options: VideoOptions, layout: PlaneLayout, size: tuple[int, int],
    light: MasteringLight | None = None,
) -> EncoderChoice:  # fmt: skip
    """The encoder for frames of `layout` and `size` (width, height) in `container`; `light` is told to it.

    Raises OutputFormatUnsupported, InvalidOption or CodecUnavailable.
    """
    codec = _asked_codec(options) or _default_codec(container, layout, options.depth or layout.depth)
    _require_held(container, codec)
    if options.quality is not None and options.quality > WORST_QUALITY[codec]:
        raise InvalidOption(f"quality {options.quality}: {codec} takes 0 to {WORST_QUALITY[codec]}")
    encoder, preset, notes = _available(codec, options, size)
    if encoder == "libsvtav1":
        # the library writes a page to stderr for each file, and has no other switch
        os.environ.setdefault("SVT_LOG", "1")
    transparent = layout.alpha and codec == "vp9" and encoder == "libvpx-vp9" and container in ("matroska", "webm")
    target, fed_as = _encodable(encoder, codec, layout, size, options.depth or layout.depth, transparent)
    if options.depth is not None and target.depth != options.depth:
        raise InvalidOption(f"depth {options.depth}: {encoder} writes {target.depth} bits here; choose another codec")
    if (target.family, target.depth, target.shift_x, target.shift_y) != (
        layout.family, layout.depth, layout.shift_x, layout.shift_y,
    ):  # fmt: skip
        notes.append(f"{layout.name} is encoded as {target.name}")
    if layout.alpha and not target.alpha:
        notes.append(f"alpha is left out: {codec} in {container} is written without")
    told = {"libx265": light.x265, "libsvtav1": light.svt_av1}.get(encoder, "") if light is not None else ""
    if light is not None and not told:
        notes.append(f"what the film says of its mastering display is left out: {encoder} is not told")
    threads = min(8, processors.usable())
    settings = ffmpeg_options(encoder, options.quality, preset, threads, told)
    if target.alpha:
        settings |= {"auto-alt-ref": "0"}
    tag = "hvc1" if codec == "hevc" and container in ("mp4", "mov") else None
    return EncoderChoice(codec, encoder, target, fed_as, settings, threads, tag, tuple(notes))


@lru_cache(maxsize=32)
def why_not(encoder: str, size: tuple[int, int] = (640, 360)) -> str:
    """Why `encoder` cannot work on this machine for pictures of `size`; empty when it can."""
    formats = _formats_of(encoder)
    if not formats:
        return "this build of FFmpeg has no such encoder"
    try:
        hardware = HWAccel("vaapi") if encoder.endswith("_vaapi") else None
        context = CodecContext.create(encoder, "w", hwaccel=hardware)
        context.options = ffmpeg_options(encoder, None, None, 1, "")
        context.width, context.height = size  # pyright: ignore[reportAttributeAccessIssue]: it is one of video
        context.pix_fmt = next(each for each in ("nv12", "yuv420p", formats[0]) if each in formats)  # pyright: ignore
        context.time_base = Fraction(1, 25)
        context.open()
    except (FFmpegError, ValueError, RuntimeError) as cause:
        reason = cause.strerror if isinstance(cause, FFmpegError) else str(cause)
        return f"it does not start here, for want of a device or its driver ({reason or type(cause).__name__})"
    return ""


def gpu_encoders() -> dict[str, str]:
    """The GPU encoders that FFmpeg has, each with why it cannot work on this machine; empty when it can."""
    names = [f"{codec}_{maker}" for maker in GPU_MAKERS for codec in CPU_ENCODERS]
    return {name: why_not(name) for name in names if _formats_of(name)}


def _asked_codec(options: VideoOptions) -> str | None:
    if options.encoder in (None, ANY_GPU):
        return options.codec
    return codec_of(options.encoder or "")


def _require_held(container: str, codec: str) -> None:
    if codec not in _ALLOWED[container]:
        raise OutputFormatUnsupported(f"{container} cannot hold {codec}; it can hold {', '.join(_ALLOWED[container])}")


def _available(codec: str, options: VideoOptions, size: tuple[int, int]) -> tuple[str, str | None, list[str]]:
    """The encoder to use, the preset that it understands, and what there is to say of it."""
    if options.encoder is None:
        return CPU_ENCODERS[codec], options.preset, []
    if options.encoder != ANY_GPU:
        if family_of(options.encoder).is_gpu and (reason := why_not(options.encoder, size)):
            raise CodecUnavailable(f"{options.encoder}: {reason}", codec=options.encoder)
        return options.encoder, options.preset, []
    refused: list[str] = []
    for maker in GPU_MAKERS:
        encoder = f"{codec}_{maker}"
        if not why_not(encoder, size):
            return encoder, *_preset_for(encoder, options.preset)
        refused.append(encoder)
    encoder = CPU_ENCODERS[codec]
    preset, notes = _preset_for(encoder, options.preset)
    return encoder, preset, [f"no GPU encoder works here ({', '.join(refused)}): {encoder} is used", *notes]


def _preset_for(encoder: str, preset: str | None) -> tuple[str | None, list[str]]:
    """The preset for an encoder that nobody named: its own where it has none of that name, which is said."""
    if preset is None or preset in family_of(encoder).presets:
        return preset, []
    return None, [f"{encoder} has no preset {preset}: its own is used"]


def _default_codec(container: str, layout: PlaneLayout, depth: int) -> str:
    if layout.alpha and container in ("webm", "matroska"):
        return "vp9"
    if container == "webm":
        return "vp9" if depth == 8 else "av1"
    return "h264" if depth == 8 else "hevc"


@lru_cache(maxsize=32)
def _formats_of(encoder: str) -> tuple[str, ...]:
    try:
        formats = Codec(encoder, "w").video_formats
    except (FFmpegError, ValueError):
        return ()
    return tuple(each.name for each in formats or [])


def _encodable(
    encoder: str, codec: str, layout: PlaneLayout, size: tuple[int, int], depth: int, transparent: bool,
) -> tuple[PlaneLayout, str]:  # fmt: skip
    """The layout nearest to `layout` that `encoder` takes, and its name there: never fewer bits than `depth` or less
    chroma if that can be had."""
    odd_x, odd_y = (side % 2 == 1 and codec in _EVEN_ONLY for side in size)
    known = [(found, name) for name in _formats_of(encoder)
             if (found := layout_of(_SEMIPLANAR.get(name, name))) and found.family == "yuv"
             and (not found.alpha or (transparent and name in _ALPHA)) and not found.implies_full_range]  # fmt: skip
    fitting = [(each, name) for each, name in known if not (odd_x and each.shift_x) and not (odd_y and each.shift_y)]
    if not fitting:
        raise OutputFormatUnsupported(f"{encoder} cannot hold a picture of {size[0]}x{size[1]}")
    # a gray picture has no chroma to lose; 4:2:0 is what every player shows
    want_x, want_y = (1, 1) if layout.family == "gray" else (layout.shift_x, layout.shift_y)

    def loss(candidate: tuple[PlaneLayout, str]) -> tuple[int, ...]:
        each, name = candidate
        fewer_bits, more_bits = max(0, depth - each.depth), max(0, each.depth - depth)
        less_chroma = max(0, each.shift_x - want_x) + max(0, each.shift_y - want_y)
        more_chroma = max(0, want_x - each.shift_x) + max(0, want_y - each.shift_y)
        # planes as they are come before the same ones interleaved
        return int(transparent and not each.alpha), fewer_bits, less_chroma, more_bits, more_chroma, name in _SEMIPLANAR

    return min(fitting, key=loss)
