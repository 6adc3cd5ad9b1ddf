"""Seconds from Ctrl-C in the middle of a command until its process has ended. Usage: python -m bench.stop"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.clips import BUNDLED, sample, source
from bench.tables import machine, told

ROUNDS = 3
PATIENCE_S = 60
CASES = {
    "face_swap, 720p": ("videos/synth_talk_P006_720p25.mp4", "face_swap"),
    "denoise of whole frames": (BUNDLED / "clip.mp4", "denoise:level=strong,face_swap"),
}


def stopped(target: Path, pipeline: str, after_s: float) -> float:
    """Seconds until a run that has been writing for `after_s` seconds is gone."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.mp4"
        command = [sys.executable, "-m", "secondface", "run", "-s", source(), "-t", target, "-o", output, "--quiet"]
        run = subprocess.Popen([*map(str, command), "--pipeline", pipeline], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while not os.listdir(folder) and time.monotonic() < deadline:  # noqa: PTH208 - names only, many times
            time.sleep(0.02)
        time.sleep(after_s)
        if run.poll() is not None:
            raise SystemExit(f"The run on {target.name} ended before it could be stopped.")
        started = time.perf_counter()
        run.send_signal(signal.SIGINT)
        code = run.wait(PATIENCE_S)
        spent = time.perf_counter() - started
        if code != 130 or os.listdir(folder):  # noqa: PTH208
            raise SystemExit(f"Exit code {code}, left: {os.listdir(folder)}")  # noqa: PTH208
    return spent


def measured(name: str) -> dict[str, Any]:
    """One row: the best and the worst of several stops at different moments."""
    clip, pipeline = CASES[name]
    target = clip if isinstance(clip, Path) else sample(clip)
    spent = [stopped(target, pipeline, 0.4 + 0.3 * turn) for turn in range(ROUNDS)]
    return {"run": name, "best s": min(spent), "worst s": max(spent)}


def main() -> None:
    before = machine()
    told("stop", {"From Ctrl-C to the end of the process": [measured(name) for name in CASES]}, before)


if __name__ == "__main__":
    main()
