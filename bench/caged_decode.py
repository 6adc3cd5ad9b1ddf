"""What a caged child does with damaged files: look at each as the probe does, and decode some of it."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from secondface.errors import SecondfaceError
from secondface.media.animations import AnimationReader, is_animation
from secondface.media.caged_process import Given
from secondface.media.images import read_still
from secondface.media.inspection import LATE_MODULES, inspect
from secondface.media.limits import Limits
from secondface.media.read import VideoReader
from secondface.media.signatures import sniff

__all__ = ["LATE_MODULES", "decode_given"]

FRAMES = 3
DECODE = f"{__name__}:decode_given"


def decode_given(given: Given) -> Iterator[object]:
    """For each file `[what came of it, seconds of CPU, peak memory so far in bytes]`."""
    for path in given.paths:
        started = time.process_time()
        outcome = _outcome(path)
        yield [outcome, time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]


def _outcome(path: Path) -> str:
    limits = Limits(still_pixels=1 << 24, video_pixels=1 << 24)
    try:
        inspect(path, limits)
        if sniff(path).kind == "still":
            moves = is_animation(path, limits)
            frames = sum(1 for _ in islice(AnimationReader(path, limits).frames(), FRAMES)) if moves else 1
            return f"works: {frames} of {read_still(path, limits).info.width}"
        with VideoReader(path, limits, threads=1) as reader:
            return f"works: {sum(1 for _ in islice(reader.frames(), FRAMES))}"
    except SecondfaceError as error:
        return error.code
    except Exception as fault:  # noqa: BLE001  whatever is not an error of ours is what is looked for
        place = fault.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else ""
        return f"fault: {type(fault).__name__}: {fault} at {where}"
