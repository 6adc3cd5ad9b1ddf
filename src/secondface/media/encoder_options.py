"""What each encoder calls quality and speed, in FFmpeg's options.

Decides defaults, the presets that an encoder has, and how a quality becomes its own number; must not know layouts,
containers or streams.
"""

from __future__ import annotations

from dataclasses import dataclass

from secondface.errors import InvalidOption

_X26X_PRESETS = (
    "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo",
)  # fmt: skip
_VP9_SPEEDS = {
    "ultrafast": "8", "superfast": "7", "veryfast": "6", "faster": "5", "fast": "4", "medium": "3", "slow": "2",
    "slower": "1", "veryslow": "0",
}  # fmt: skip
_AV1_SPEEDS = {
    "ultrafast": "12", "superfast": "11", "veryfast": "9", "faster": "8", "fast": "7", "medium": "6", "slow": "4",
    "slower": "3", "veryslow": "2",
}  # fmt: skip
_QUALITY = {"h264": 18, "hevc": 20, "vp9": 24, "av1": 24}
WORST_QUALITY = {"h264": 51, "hevc": 51, "vp9": 63, "av1": 63}
"""The end of the scale of each codec."""


@dataclass(frozen=True, slots=True)
class EncoderFamily:
    """How the encoders of one maker are told what to do."""

    presets: tuple[str, ...]
    default: str | None
    is_gpu: bool = True

    def option(self, encoder: str, preset: str | None) -> str | None:
        """The preset to give to `encoder`; InvalidOption for one that it has not."""
        if preset is None:
            return self.default
        if preset not in self.presets:
            known = f"choose one of {', '.join(self.presets)}" if self.presets else "it has none"
            raise InvalidOption(f"preset {preset}: {encoder} has no such preset; {known}")
        return preset


_CPU = {
    "libx264": EncoderFamily(_X26X_PRESETS, "veryfast", is_gpu=False),
    "libx265": EncoderFamily(_X26X_PRESETS, "veryfast", is_gpu=False),
    # "good" costs four times as much for the same picture at these speeds
    "libvpx-vp9": EncoderFamily((*_VP9_SPEEDS, *map(str, range(-8, 9))), "6", is_gpu=False),
    "libsvtav1": EncoderFamily((*_AV1_SPEEDS, *map(str, range(14))), "9", is_gpu=False),
}
_GPU = {
    "nvenc": EncoderFamily(("p1", "p2", "p3", "p4", "p5", "p6", "p7", "fast", "medium", "slow"), "p4"),
    "qsv": EncoderFamily(("veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"), "veryfast"),
    "amf": EncoderFamily(("speed", "balanced", "quality"), "balanced"),
    "vaapi": EncoderFamily((), None),
    "videotoolbox": EncoderFamily((), None),
}
GPU_MAKERS = tuple(_GPU)
"""The ends of the names of GPU encoders, in the order in which they are tried."""
_CARDS = frozenset({*GPU_MAKERS, "gpu", "cuvid", "cuda", "vdpau", "vulkan", "drm", "opencl"})


def family_of(encoder: str) -> EncoderFamily:
    """The family of FFmpeg's encoder `encoder`; InvalidOption for one that is not known here."""
    found = _CPU.get(encoder) or _GPU.get(encoder.partition("_")[2])
    if found is None or (found.is_gpu and encoder.partition("_")[0] not in WORST_QUALITY):
        gpu = ", ".join(f"CODEC_{maker}" for maker in GPU_MAKERS)
        raise InvalidOption(f"encoder {encoder}: choose one of {', '.join(_CPU)}, {gpu} (as h264_nvenc), or gpu")
    return found


def is_of_card(name: str | None) -> bool:
    """Whether an encoder, decoder or device of that name is a graphics card's."""
    return name is not None and name.rpartition("_")[2] in _CARDS


def codec_of(encoder: str) -> str:
    """The codec that `encoder` writes."""
    family_of(encoder)
    return next((codec for codec, name in CPU_ENCODERS.items() if name == encoder), encoder.partition("_")[0])


CPU_ENCODERS = {"h264": "libx264", "hevc": "libx265", "vp9": "libvpx-vp9", "av1": "libsvtav1"}
"""The encoder of each codec that every machine has."""


_QUICK_X264 = {"bf": "0", "partitions": "i8x8,i4x4"}
"""B frames of the fast preset pulse in tone, 1.3 times the source's own flicker; they would save a third of the bytes,
which any slower preset does without pulsing. Motion of parts of a macroblock takes a quarter of the encoder's time,
for as many bytes and 0.1 dB."""


def ffmpeg_options(encoder: str, quality: int | None, preset: str | None, threads: int, light: str) -> dict[str, str]:
    """The options of `encoder`; `light` is what mastering.py says of HDR, in the encoder's own words."""
    codec = codec_of(encoder)
    speed = family_of(encoder).option(encoder, preset)
    rate = str(_QUALITY[codec] if quality is None else quality)
    match encoder:
        case "libx264":
            return {"crf": rate, "preset": speed or "veryfast", **(_QUICK_X264 if preset is None else {})}
        case "libx265":
            parameters = ":".join(filter(None, ("log-level=none", f"pools={threads}", light)))
            return {"crf": rate, "preset": speed or "veryfast", "x265-params": parameters}
        case "libvpx-vp9":
            speed = _VP9_SPEEDS.get(speed or "", speed) or "6"
            return {"crf": rate, "cpu-used": speed, "deadline": "realtime", "lag-in-frames": "16", "row-mt": "1"}
        case "libsvtav1":
            speed = _AV1_SPEEDS.get(speed or "", speed) or "9"
            return {"crf": rate, "preset": speed, "svtav1-params": ":".join(filter(None, (f"lp={threads}", light)))}
        case _:
            return _gpu_options(encoder.partition("_")[2], codec, rate, speed)


def _gpu_options(maker: str, codec: str, rate: str, preset: str | None) -> dict[str, str]:
    match maker:
        case "nvenc":
            # 0 would mean "as the encoder likes"
            return {"rc": "vbr", "cq": str(max(1, int(rate))), "preset": preset or "p4"}
        case "qsv":
            return {"global_quality": str(max(1, int(rate))), "preset": preset or "veryfast"}
        case "amf":
            return {"rc": "cqp", "qp_i": rate, "qp_p": rate, "quality": preset or "balanced"}
        case "vaapi":
            return {"rc_mode": "CQP", "qp": rate} if codec in ("h264", "hevc") else {"global_quality": rate}
        case _:
            # Apple counts from 0 to 100, the best last, in steps of FFmpeg's lambda
            share = 100 - round(100 * int(rate) / WORST_QUALITY[codec])
            return {"flags": "+qscale", "global_quality": str(118 * max(1, share))}
