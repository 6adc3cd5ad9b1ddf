"""A run that only labels, beside a plain decode and encode: what the engine, the label and the marks cost.

Both are taken in turn in one process, with the same encoder settings. Usage:
    python -m bench.pass_through [--rounds 5] [--heights 720 1080]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.swap_speed import Spent, Watch, clip_of, plain_pass
from bench.tables import machine, told
from secondface.compose import Local, local
from secondface.pipeline.report import RunReport

MOST_RATIO = 1.15


def label_pass(runner: Local, clip: Path, output: Path) -> tuple[Spent, RunReport]:
    """`run --pipeline label` on `clip`, and its report."""
    watch = Watch()
    report = runner.run(runner.request([], clip, output, pipeline="label"))
    return watch.spent(), report


def measured(height: int, rounds: int, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The median of `rounds` rounds, and what each stage took of the run's wall time in percent."""
    clip, runner = clip_of(height), local()
    plain, labelled = list[Spent](), list[tuple[Spent, RunReport]]()
    label_pass(runner, clip, folder / "warm.mp4")
    for _ in range(rounds):
        plain.append(plain_pass(clip, folder / "plain.mp4"))
        labelled.append(label_pass(runner, clip, folder / "labelled.mp4"))
    run, report = sorted(labelled, key=lambda each: each[0].wall_s)[rounds // 2]
    row = {
        "clip": f"{height}p",
        "frames": report.frames,
        "plain s": statistics.median(each.wall_s for each in plain),
        "run s": run.wall_s,
        "ratio": statistics.median(one.wall_s / other.wall_s for (one, _), other in zip(labelled, plain, strict=True)),
        "core ratio": statistics.median(
            one.cores_s / other.cores_s for (one, _), other in zip(labelled, plain, strict=True)
        ),
    }
    return row, {"clip": f"{height}p"} | {stage.name: round(stage.busy_ms / run.wall_s / 10) for stage in report.stages}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--heights", type=int, nargs="+", default=[720, 1080], choices=[360, 720, 1080])
    options = parser.parse_args(arguments)
    for height in options.heights:
        clip_of(height)
    before = machine()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(height, options.rounds, Path(folder)) for height in options.heights]
    ratios, stages = ([row[part] for row in rows] for part in (0, 1))
    told(
        "pass_through", {"Labelling against plain decode and encode": ratios, "Stages, busy % of wall time": stages},
        before,
    )  # fmt: skip
    print(f"largest ratio {max(row['ratio'] for row in ratios):.2f} (at most {MOST_RATIO})")


if __name__ == "__main__":
    main()
