"""A rehearsal: a request's pipeline on a few of the target's own frames, without an output, to see what a frame costs.

Decides how many frames tell enough, and keeps what is done once apart from what is done for each. Must not know prices.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from secondface.frames import Frame, Sessions
from secondface.pipeline.engine import CancelToken
from secondface.pipeline.passage import Conduct, budgeted_frames, pass_frames
from secondface.pipeline.preparation import inspect_inputs, load_models, read_casting
from secondface.pipeline.targets import open_target
from secondface.spec.schemas import RunRequest

FRAMES = 48
"""Two seconds of most videos; with fewer, the search for faces at the start would weigh too much."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a few frames cost here; nothing of it says what they cost on another device."""

    kind: Literal["still", "video"]
    width: int
    """Of the target, in pixels."""
    height: int
    frames: int | None
    """Of the whole target, or of the part that is asked for; None where the file does not say."""
    rehearsed: int
    faces: int
    """Different people seen in the rehearsed frames."""
    once_us: int
    """Device-active microseconds that are spent once: source pictures."""
    frame_us: int
    """Device-active microseconds of a frame."""
    wall_frame_us: int
    """Microseconds from frame to frame, without encoding."""


def rehearse(request: RunRequest, sessions: Sessions, cancel: CancelToken | None = None) -> Rehearsal:
    """Run the pipeline on the first frames. Raises the errors of a run, but none for a face that comes later."""
    conduct = Conduct(sessions, cancel)
    plan = request.plan()
    inspect_inputs(request, conduct)
    with open_target(request) as target:
        casting = replace(read_casting(request, conduct), allow_no_face=True)
        load_models(plan, conduct)
        started: list[tuple[int, int]] = []

        def frames() -> Iterator[Frame]:
            started.append((time.perf_counter_ns(), conduct.active.busy_ns))
            yield from islice(target.frames(), FRAMES)

        in_flight = budgeted_frames(plan, target.frame_bytes, request.limits.in_flight_bytes)
        passage = pass_frames(
            plan, casting, target.stream, frames(), lambda _frame: None, conduct=conduct, in_flight_frames=in_flight
        )
        ended, busy = time.perf_counter_ns(), conduct.active.busy_ns
    (began, once), number = started[0], max(1, passage.engine.items)
    stream = target.stream
    return Rehearsal(
        kind="still" if stream.is_still else "video",
        width=stream.width,
        height=stream.height,
        frames=stream.frame_count,
        rehearsed=passage.engine.items,
        faces=len(passage.tally.people),
        once_us=once // 1000,
        frame_us=(busy - once) // 1000 // number,
        wall_frame_us=(ended - began) // 1000 // number,
    )
