"""Peak resident memory of `run` on a short and on a long clip: it must not grow with the length.

By default 300 and 900 frames of 1080p; with --long 10 seconds and 10 minutes of 360p. Each run has a process of its
own, whose record the system keeps. Usage:
    python -m bench.memory [--long] [--frames 300 900]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.clips import ROOT, enlarged, sample, source
from bench.tables import machine, told

MOST_MB, MOST_GROWTH_PERCENT = 700, 5
SIZE = (1920, 1080)
LONG_SIZE, LONG_FRAMES = (640, 360), [250, 15_000]


def measured(size: tuple[int, int], frames: int, folder: Path) -> dict[str, Any]:
    """One row: a run in a child process."""
    clip = enlarged(sample("videos/synth_talk_P006_720p25.mp4"), size, frames)
    command = [sys.executable, "-m", "bench.memory", "--run", str(clip), str(folder / "out.mp4")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def run_alone(clip: Path, output: Path) -> None:
    """What the child process does: run, and print its row."""
    from secondface.compose import local  # noqa: PLC0415 - the parent stays small: a child starts with its record

    started, runner = time.perf_counter(), local()
    report = runner.run(runner.request([source()], clip, output))
    row = {
        "clip": f"{report.height}p",
        "frames": report.frames,
        "swapped": report.swapped_frames,
        "run s": round(time.perf_counter() - started, 2),
        "peak MB": round(report.peak_rss_bytes / 2**20, 1),
    }
    print(json.dumps(row))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="10 seconds and 10 minutes of 360p")
    parser.add_argument("--frames", type=int, nargs=2)
    parser.add_argument("--run", type=Path, nargs=2, metavar=("CLIP", "OUTPUT"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        run_alone(*options.run)
        return
    before = machine()
    size, lengths = (LONG_SIZE, LONG_FRAMES) if options.long else (SIZE, [300, 900])
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(size, frames, Path(folder)) for frames in options.frames or lengths]
    told("memory_long" if options.long else "memory", {"Peak resident memory of a swap": rows}, before)
    short, long = (row["peak MB"] for row in rows)
    growth = 100 * (long / short - 1)
    print(f"growth {growth:+.1f} % (at most {MOST_GROWTH_PERCENT}), peak {max(short, long)} MB (at most {MOST_MB})")


if __name__ == "__main__":
    main()
