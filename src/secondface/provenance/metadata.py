"""The metadata marks of an output: what is written, and what a finished file is found to hold.

Decides values, not bytes on disk: `media` stores and extracts the XMP packet of stills and the tags of containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from secondface.errors import MarkMissing
from secondface.provenance.aigc import AigcLabel
from secondface.provenance.xmp import DIGITAL_SOURCE_TYPE, XmpMarks, parse_xmp, xmp_packet

AIGC_TAG = "AIGC"
"""Key of the label in a container: `moov.udta.meta` of MP4 and MOV, a tag in MKV and WebM."""


@dataclass(frozen=True, slots=True)
class MetadataMarks:
    """What one output is to carry: an XMP packet for stills, container tags for video. Both replace the input's own."""

    label: AigcLabel

    @property
    def xmp(self) -> bytes:
        return xmp_packet(self.label)

    @property
    def tags(self) -> Mapping[str, str]:
        return {AIGC_TAG: self.label.to_json()}


@dataclass(frozen=True, slots=True)
class Marks:
    """The metadata marks found in a finished file."""

    label: AigcLabel | None
    digital_source_type: str | None
    problems: tuple[str, ...] = ()
    """What is wrong with the marks that are there: damaged, or more than one."""

    @property
    def says_ai_made(self) -> bool:
        """Whether an intact mark declares the file as AI-made."""
        return self.label is not None or self.digital_source_type == DIGITAL_SOURCE_TYPE


def metadata_marks(produce_id: str, content_producer: str = "") -> MetadataMarks:
    """The marks of one run; raises InvalidSetting where a value is not visible ASCII without spaces."""
    return MetadataMarks(AigcLabel(content_producer=content_producer, produce_id=produce_id))


def read_marks(xmp: bytes | None, tags: Mapping[str, str]) -> Marks:
    """The marks in what `media.marks` took out of a file; never raises for what a file says."""
    problems: list[str] = []
    found = XmpMarks()
    if xmp is not None:
        try:
            found = parse_xmp(xmp)
        except ValueError as error:
            problems.append(str(error))
    texts = [*found.aigc, *(value for key, value in tags.items() if _is_aigc_key(key))]
    if len(texts) > 1:
        problems.append(f"{len(texts)} AIGC labels where one belongs")
    labels: list[AigcLabel] = []
    for text in texts:
        try:
            labels.append(AigcLabel.from_json(text))
        except ValueError as error:
            problems.append(str(error))
    source_types = found.digital_source_types
    return Marks(labels[0] if labels else None, source_types[0] if source_types else None, tuple(problems))


def require_marks(found: Marks, written: MetadataMarks, *, is_still: bool) -> None:
    """Raise MarkMissing unless a finished output holds exactly what was to be written."""
    lacking = list(found.problems)
    if found.label != written.label:
        lacking.append("the AIGC label is missing or altered")
    if is_still and found.digital_source_type != DIGITAL_SOURCE_TYPE:
        lacking.append("the IPTC digital source type is missing or altered")
    if lacking:
        raise MarkMissing("; ".join(lacking), problems=tuple(lacking))


def _is_aigc_key(key: str) -> bool:
    return key.rsplit(".", 1)[-1].casefold() == AIGC_TAG.casefold()
