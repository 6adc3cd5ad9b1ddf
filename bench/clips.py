"""The clips that are measured, made once from the sample media and kept in out/bench."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, islice, repeat
from pathlib import Path

import av
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.frame import PictureType

from secondface.media.ratios import exact

ROOT = Path(__file__).parents[1]
MEDIA = ROOT.parent / "shared" / "media"
BUNDLED = ROOT / "src" / "secondface" / "cli" / "sample"
RESULTS = ROOT / "out" / "bench"
SOUND_RATE = 48_000


def sample(name: str) -> Path:
    """A file of ../shared/media; SystemExit, which says so, without it."""
    path = MEDIA / name
    if not path.exists():
        raise SystemExit(f"This needs ../shared/media/{name} beside the checkout.")
    return path


def source() -> Path:
    """The person whose face is put on."""
    return BUNDLED / "person_b.jpg"


def enlarged(clip: Path, size: tuple[int, int], frames: int | None = None) -> Path:
    """`clip` at another size, played again and again until it has `frames` frames, with its sound."""
    target = RESULTS / f"{clip.stem}_{size[0]}x{size[1]}_{frames or 'all'}.mp4"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part.mp4")
        _write(clip, part, size, frames)
        part.replace(target)
    return target


def _write(clip: Path, target: Path, size: tuple[int, int], frames: int | None) -> None:
    with av.open(str(clip)) as container, av.open(str(target), "w", options={"movflags": "+faststart"}) as output:
        picture_stream = container.streams.video[0]
        rate = exact(picture_stream.average_rate) or Fraction(25)
        stream = output.add_stream("libx264", rate=rate, options={"crf": "18", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        sound = output.add_stream("aac", rate=SOUND_RATE) if container.streams.audio else None
        rounds = repeat(clip) if frames else repeat(clip, 1)
        for index, picture in enumerate(islice(chain.from_iterable(map(_pictures, rounds)), frames)):
            scaled = picture.reformat(width=size[0], height=size[1], format="yuv420p", interpolation="BICUBIC")
            scaled.pts, scaled.time_base, scaled.pict_type = index, 1 / rate, PictureType.NONE
            output.mux(stream.encode(scaled))
        output.mux(stream.encode(None))
        if sound is not None:
            _add_sound(output, sound, clip, (frames or picture_stream.frames) / rate)


def _add_sound(output: OutputContainer, stream: AudioStream, clip: Path, length: Fraction) -> None:
    resampler = av.AudioResampler("fltp", "stereo", SOUND_RATE, frame_size=1024)
    written = 0
    for samples in chain.from_iterable(map(_sound, repeat(clip))):
        if written >= length * SOUND_RATE:
            break
        samples.pts = None
        for part in resampler.resample(samples):
            part.pts, part.time_base = written, Fraction(1, SOUND_RATE)
            written += part.samples
            output.mux(stream.encode(part))
    output.mux(stream.encode(None))


def _pictures(clip: Path) -> Iterator[av.VideoFrame]:
    with av.open(str(clip)) as container:
        container.streams.video[0].thread_type = "AUTO"
        yield from container.decode(video=0)


def _sound(clip: Path) -> Iterator[av.AudioFrame]:
    with av.open(str(clip)) as container:
        yield from container.decode(audio=0)
