"""Clips made on the spot, so that every test knows each pixel, stamp and packet that it puts in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

MakeClip = Callable[..., Path]


def moving_picture(index: int, width: int, height: int) -> np.ndarray:
    """A smooth picture [h,w,3] with a bright square that moves."""
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    rgb = np.stack([x, y, (x + y) / 2], -1).astype(np.uint8)
    left = 4 * index % max(1, width - 24)
    rgb[8:24, left : left + 24] = (250, 240, 20)
    return rgb


@pytest.fixture
def make_clip(tmp_path: Path) -> MakeClip:
    def make(
        name: str = "clip.mp4", *, size: tuple[int, int] = (160, 96),
        stamps: Sequence[int] = tuple(range(0, 6144, 512)),
        time_base: Fraction = Fraction(1, 12800), codec: str = "libx264", pix_fmt: str = "yuv420p",
        sound_s: float = 0.0, rotation: tuple[float, bool, bool] | None = None,
        options: dict[str, str] | None = None, tags: dict[str, str] | None = None,
    ) -> Path:  # fmt: skip
        path = tmp_path / name
        with av.open(str(path), "w", format={".mkv": "matroska"}.get(path.suffix)) as output:
            output.metadata.update(tags or {})
            stream: Any = output.add_stream(codec, rate=25, options=options or {"crf": "10", "bf": "2"})
            stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
            stream.codec_context.time_base = stream.time_base = time_base
            if rotation is not None:
                stream.set_display_rotation(*rotation)
            sound: Any = output.add_stream("aac", rate=48000) if sound_s else None
            for index, pts in enumerate(stamps):
                frame = av.VideoFrame.from_ndarray(moving_picture(index, *size), "rgb24").reformat(format=pix_fmt)
                frame.pts, frame.time_base = pts, time_base
                output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
            if sound is not None:
                wave = np.sin(np.arange(int(48000 * sound_s)) / 20).astype(np.float32)
                for at in range(0, len(wave), 1024):
                    part = np.ascontiguousarray(np.stack([wave[at : at + 1024]] * 2))
                    samples = av.AudioFrame.from_ndarray(part, "fltp", "stereo")
                    samples.sample_rate, samples.pts = 48000, at
                    output.mux(sound.encode(samples))
                output.mux(sound.encode(None))
        return path

    return make
