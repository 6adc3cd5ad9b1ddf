"""What is found out about the marks of a file, layer by layer, and what to make of it.

Decides when a layer is there, when it is proven, and when somebody changed it. Must not know how a file is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from secondface.provenance.aigc import AigcLabel
from secondface.provenance.credentials import FORMATS, Credentials, State
from secondface.provenance.metadata import Marks
from secondface.provenance.xmp import DIGITAL_SOURCE_TYPE
from secondface.spec.marks import watermark_of, watermark_text

Layer = Literal["watermark", "metadata", "signature"]
Verdict = Literal["intact", "present", "altered", "absent", "impossible"]
"""Proven unchanged; there, and nothing speaks against it; damaged or changed; not there; this format can't hold it."""

LABELLED = frozenset({*FORMATS, "matroska,webm"})
"""Formats that hold an AIGC label."""
TRACES = (b"c2pa\x00\x11\x00\x10\x80\x00\x00\xaa\x00\x38\x9b\x71", b"c2pa.assertions", b"c2pa.signature")
"""Of content credentials, also where damage hides them from a reader."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a look into one file brought to light."""

    format_name: str
    marks: Marks | None = None
    """None where the file is too damaged to be read."""
    credentials: Credentials | None = None
    has_traces: bool = False
    """Whether the bytes of content credentials are in the file, readable or not."""
    watermarks: tuple[str, ...] = ()
    """Ids of the invisible watermarks in its pixels, the surest first."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """What the marks of a file say, and how far they can be believed."""

    format_name: str
    ai_made: bool
    """Whether any mark says so that is there: absence proves nothing."""
    layers: Mapping[Layer, Verdict]
    signed: State | None = None
    """Whether the signature holds, and whether it is of somebody trusted; None without one."""
    credentials: Credentials | None = None
    label: AigcLabel | None = None
    digital_source_type: str | None = None
    produce_id: str | None = None
    """Of the run that made the file."""
    watermark: str | None = None
    """The id in the pixels: the produce_id of a file of ours begins with it."""
    problems: tuple[str, ...] = field(default=())

    @property
    def job(self) -> str | None:
        """The job of ours that made the file, by a signature that is trusted; a word of anybody else proves nothing."""
        trusted = self.credentials if self.signed == "trusted" else None
        return (trusted.job or None) if trusted else None

    @property
    def is_sound(self) -> bool:
        """Whether a mark says that AI made the file, and none was altered."""
        return self.ai_made and "altered" not in self.layers.values()


def judge(found: Findings) -> Verification:
    """The verdict on each layer, and on the whole file."""
    credentials, marks = found.credentials, found.marks
    signature = _signature(found)
    label = marks.label if marks else None
    says = (marks is not None and marks.says_ai_made) or (
        credentials is not None and DIGITAL_SOURCE_TYPE in credentials.source_types
    )
    signed_id = credentials.produce_id if credentials else ""
    produce_id = signed_id or (label.produce_id if label else "") or None
    return Verification(
        format_name=found.format_name,
        ai_made=says or bool(found.watermarks),
        layers={
            "watermark": _watermark(found, produce_id),
            "metadata": _metadata(found, signature),
            "signature": signature,
        },
        signed=credentials.state if credentials else "invalid" if signature == "altered" else None,
        credentials=credentials,
        label=label,
        digital_source_type=marks.digital_source_type if marks else None,
        produce_id=produce_id,
        watermark=_own(found, produce_id) or next(iter(found.watermarks), None),
        problems=(*(marks.problems if marks else ()), *found.problems),
    )


def _own(found: Findings, produce_id: str | None) -> str | None:
    wanted = watermark_text(watermark_of(produce_id)) if produce_id else ""
    return wanted if wanted in found.watermarks else None


def _watermark(found: Findings, produce_id: str | None) -> Verdict:
    """What is in the pixels proves something where the other marks name the same run."""
    if not found.watermarks:
        return "absent"
    if produce_id is None:
        return "present"
    return "intact" if _own(found, produce_id) else "altered"


def _signature(found: Findings) -> Verdict:
    if found.credentials is not None:
        return "altered" if found.credentials.state == "invalid" else "intact"
    if found.format_name not in FORMATS:
        return "impossible"
    return "altered" if found.has_traces else "absent"


def _metadata(found: Findings, signature: Verdict) -> Verdict:
    if found.marks is None:
        return "altered" if found.has_traces else "absent"
    if found.marks.problems:
        return "altered"
    if found.marks.label is None and found.marks.digital_source_type is None:
        return "absent" if found.format_name in LABELLED else "impossible"
    return "intact" if signature == "intact" else "present"
