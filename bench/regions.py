"""What it saves to convert only the regions of a frame that are touched, against the whole frame through RGB.

Both ways do the same work (read the face, change it, put it back), in turn, in one process: the ratio is what counts.
Usage:
    python -m bench.regions [--rounds 20]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.tables import machine, told
from secondface.frames import Box
from secondface.media.layouts import layout_of
from secondface.media.planes import PlanarFrame, planes_from_rgb
from secondface.media.ycbcr import ColourSpace

SIZE = (1920, 1080)
FACE = Box(700, 200, 1180, 760)
KINDS = {
    "8-bit 4:2:0": ("yuv420p", ColourSpace(1, primaries=1, transfer=1)),
    "10-bit 4:2:0": ("yuv420p10le", ColourSpace(1, primaries=1, transfer=1)),
    "10-bit PQ": ("yuv420p10le", ColourSpace(9, primaries=9, transfer=16)),
    "10-bit HLG": ("yuv420p10le", ColourSpace(9, primaries=9, transfer=18)),
}


def by_region(frame: PlanarFrame) -> None:
    """As the pipeline does it."""
    frame.write(FACE, changed(frame.read(FACE)))


def by_whole_frame(frame: PlanarFrame) -> None:
    """As tools do that decode to RGB and encode from RGB."""
    rgb = frame.read()
    region = slice(FACE.y0, FACE.y1), slice(FACE.x0, FACE.x1)
    rgb[region] = changed(rgb[region])
    frame.paint(rgb)


def changed(rgb: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Every pixel moves a little, as under a face."""
    return np.bitwise_xor(rgb, np.uint8(5))


def measured(kind: str, rounds: int) -> dict[str, Any]:
    """One row: the best of `rounds` of either way."""
    name, space = KINDS[kind]
    layout = layout_of(name)
    assert layout is not None
    rgb = np.random.default_rng(0).integers(40, 200, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
    frame = PlanarFrame(planes_from_rgb(rgb, layout, space), layout, space)
    times = [(_seconds(by_region, frame), _seconds(by_whole_frame, frame)) for _ in range(rounds)]
    region, whole = (min(column) for column in zip(*times, strict=True))
    return {"frame": kind, "region ms": region * 1e3, "whole ms": whole * 1e3, "whole / region": whole / region}


def _seconds(way: Callable[[PlanarFrame], None], frame: PlanarFrame) -> float:
    started = time.perf_counter()
    way(frame)
    return time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args(arguments)
    before = machine()
    told("regions", {f"a face of {FACE.width}x{FACE.height} in 1080p": [
        measured(kind, options.rounds) for kind in KINDS]}, before)  # fmt: skip


if __name__ == "__main__":
    main()
