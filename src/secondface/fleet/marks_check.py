"""Whether what a caged run left holds its metadata marks: asked of another caged process, which has read no input.

Decides what its answer means. The run has read the marks back itself, but whoever took it over would say so too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from pydantic import TypeAdapter, ValidationError

from secondface.errors import BadMedia, InvalidSetting, MarkMissing
from secondface.media.cage import Cage
from secondface.media.caged_process import Given
from secondface.media.caged_task import Outcome
from secondface.media.marks import read_stored_marks
from secondface.media.signatures import Kind
from secondface.provenance.metadata import Marks, MetadataMarks, read_marks, require_marks

READ_MARKS = f"{__name__}:read_given"
READING_CAGE = Cage(memory_bytes=4 << 30, cpu_s=120, wall_s=600)
"""Ample for the largest picture, whose text may stand behind its pixels."""


def read_given(given: Given) -> Iterator[object]:
    """The task: the kind of the one file and its marks; None where it cannot be read."""
    try:
        stored = read_stored_marks(given.paths[0])
    except BadMedia:
        yield None
    else:
        yield [stored.kind, asdict(read_marks(stored.xmp, stored.tags))]


def require_marked(outcome: Outcome | None, written: MetadataMarks) -> None:
    """Raise MarkMissing unless the process found in the file exactly what was to be written."""
    try:
        line = outcome.lines[0] if outcome is not None else b""
        kind, found = TypeAdapter(tuple[Kind, Marks]).validate_json(line)
    except (IndexError, ValidationError, InvalidSetting) as error:
        raise MarkMissing("the marks of an output cannot be read back") from error
    require_marks(found, written, is_still=kind == "still")
