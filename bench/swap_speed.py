"""Wall time of `run` over that of a plain decode and encode of the same clip with the same encoder settings.

Both are taken in turn in one process, so that whatever else the machine does meets both. Usage:
    python -m bench.swap_speed [--rounds 3] [--heights 360 720 1080]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
from av.video.frame import PictureType

from bench.clips import enlarged, sample, source
from bench.tables import machine, told
from secondface.compose import Local, local
from secondface.media.encoders import VideoOptions, choose_encoder
from secondface.media.read import DECODER_THREADS, VideoReader
from secondface.pipeline.report import RunReport


def clip_of(height: int) -> Path:
    """The same talking head at that height; 1080 is the 720 one, enlarged."""
    if height == 1080:
        return enlarged(sample("videos/synth_talk_P006_720p25.mp4"), (1920, 1080))
    return sample(f"videos/synth_talk_P006_{height}p25.mp4")


@dataclass(frozen=True)
class Spent:
    """Seconds of a pass on the wall, and of all cores together, which a busy machine stretches less."""

    wall_s: float
    cores_s: float


class Watch:
    """Stopped by spent()."""

    def __init__(self) -> None:
        self._wall, self._cores = time.perf_counter(), time.process_time()

    def spent(self) -> Spent:
        return Spent(time.perf_counter() - self._wall, time.process_time() - self._cores)


def plain_pass(clip: Path, output: Path) -> Spent:
    """Decode and encode `clip`, its sound copied, by PyAV alone."""
    with VideoReader(clip) as reader:
        choice = choose_encoder("mp4", VideoOptions(), reader.picture.layout, (reader.info.width, reader.info.height))
    watch = Watch()
    with av.open(str(clip)) as container, av.open(str(output), "w", options={"movflags": "+faststart"}) as written:
        picture = container.streams.video[0]
        picture.codec_context.thread_count, picture.thread_type = DECODER_THREADS, "AUTO"
        encoder: Any = written.add_stream(choice.encoder, rate=picture.average_rate, options=choice.options)
        encoder.width, encoder.height, encoder.pix_fmt = picture.width, picture.height, choice.layout.name
        encoder.codec_context.time_base = encoder.time_base = picture.time_base
        encoder.codec_context.thread_count = choice.threads
        copies = {stream.index: written.add_stream_from_template(stream) for stream in container.streams.audio}
        for packet in container.demux():
            if packet.stream.index in copies and packet.dts is not None:
                packet.stream = copies[packet.stream.index]
                written.mux(packet)
            elif packet.stream is picture:
                for frame in picture.decode(packet):
                    frame.pict_type = PictureType.NONE
                    written.mux(encoder.encode(frame))
        written.mux(encoder.encode(None))
    return watch.spent()


def swap_pass(runner: Local, clip: Path, output: Path) -> tuple[Spent, RunReport]:
    """`run` on `clip`, and its report."""
    watch = Watch()
    report = runner.run(runner.request([source()], clip, output))
    return watch.spent(), report


def measured(height: int, rounds: int, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The median of `rounds` rounds, and what each of the run's stages took of its wall time in percent."""
    clip, plain, swapped = clip_of(height), list[Spent](), list[tuple[Spent, RunReport]]()
    # a runner of its own: the first round of each height loads the models too, as a command does
    runner = local()
    for _ in range(rounds):
        plain.append(plain_pass(clip, folder / "plain.mp4"))
        swapped.append(swap_pass(runner, clip, folder / "swapped.mp4"))
    alone = sorted(plain, key=lambda each: each.wall_s)[len(plain) // 2]
    run, report = sorted(swapped, key=lambda each: each[0].wall_s)[len(swapped) // 2]
    row = {
        "clip": f"{height}p",
        "frames": report.frames,
        "swapped": report.swapped_frames,
        "plain s": alone.wall_s,
        "run s": run.wall_s,
        "first run s": swapped[0][0].wall_s,
        "plain fps": report.frames / alone.wall_s,
        "run fps": report.frames / run.wall_s,
        "ratio": statistics.median(one.wall_s / other.wall_s for (one, _), other in zip(swapped, plain, strict=True)),
        "plain core ms": 1000 * alone.cores_s / report.frames,
        "run core ms": 1000 * run.cores_s / report.frames,
    }
    stages = {stage.name: round(stage.busy_ms / run.wall_s / 10) for stage in report.stages}
    return row, {"clip": f"{height}p"} | stages


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--heights", type=int, nargs="+", default=[360, 720, 1080], choices=[360, 720, 1080])
    options = parser.parse_args(arguments)
    for height in options.heights:
        clip_of(height)
    before = machine()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(height, options.rounds, Path(folder)) for height in options.heights]
    speed, stages = ([row[part] for row in rows] for part in (0, 1))
    told("swap_speed", {"Swap against plain decode and encode": speed, "Stages, busy % of wall time": stages}, before)


if __name__ == "__main__":
    main()
