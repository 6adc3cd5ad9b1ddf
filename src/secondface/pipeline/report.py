"""What a run says when it is over: counts, milliseconds, memory, and what became of each stream.

Decides names and units only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from secondface.media.side_streams import StreamReport
from secondface.pipeline.guard import Finding
from secondface.pipeline.meter import Phase, StageUsage
from secondface.provenance.signing import Statement


@dataclass(frozen=True, slots=True)
class RunReport:
    """The figures of one finished run. Milliseconds of the phases add up to the wall time."""

    output: Path
    kind: Literal["still", "video"]
    width: int
    """Of the output, in pixels."""
    height: int
    frames: int
    faces: int
    """Different people seen in the target."""
    faces_swapped: int
    """Faces that got a source, summed over all frames."""
    swapped_frames: int
    unswapped: Sequence[tuple[int, int]]
    """The first runs of frames, both ends included, in which nothing was swapped."""
    phases_ms: dict[Phase, int]
    wall_ms: int
    device_active_ms: int
    stages: tuple[StageUsage, ...]
    peak_rss_bytes: int
    streams: tuple[StreamReport, ...]
    notes: tuple[str, ...]
    produce_id: str
    """The id in the AIGC label of the output."""
    label_waiver: str | None = None
    """The acknowledgement under which the visible label was left off."""
    statement: Statement | None = None
    """What the signature says about the output; whoever signs it afterwards needs it."""
    findings: tuple[Finding, ...] = ()
    """What was found in the pictures and needs somebody's eyes."""
    watermark: str = ""
    """The id in the invisible watermark, 16 hex digits: the produce_id begins with it."""
    watermark_held: bool = False
    """Whether the watermark could be read back from the finished output."""
