"""A look at the marks of a stranger's file: the work that is done inside the cage.

Decides which layers are read and that one that cannot be read leaves the others alone. Must not import anything after
it has begun, for nothing can be opened then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO

from secondface.errors import BadMedia, MediaEmpty, MediaTooLarge, MediaUnsupported
from secondface.media.caged_process import Given
from secondface.media.handed import open_bytes
from secondface.media.inspection import LATE_MODULES as READERS
from secondface.media.inspection import inspect, refusal
from secondface.media.limits import Limits
from secondface.media.marks import read_stored_marks
from secondface.media.signatures import sniff
from secondface.pipeline.watermarking import readings_in
from secondface.provenance.credentials import (
    FORMATS,
    Credentials,
    allow_streams_in_cages,
    context_of,
    read_credentials,
)
from secondface.provenance.metadata import Marks, read_marks
from secondface.provenance.verdicts import TRACES, Findings
from secondface.spec.marks import watermark_text

LATE_MODULES = (*READERS, "numpy.fft")
BEFORE_CAGES = (allow_streams_in_cages,)
_BLOCK_BYTES = 1 << 20


def examine(path: Path, limits: Limits, roots: bytes) -> Findings:
    """What is found of marks in `path`. Raises FileUnreadable, MediaUnsupported, MediaTooLarge or MediaEmpty.

    A file that is damaged is no refusal: that is what is to be found out.
    """
    name = sniff(path).format_name
    problems: list[str] = []
    credentials = _credentials(path, FORMATS.get(name), roots, problems)
    marks = _marks(path, limits, problems)
    has_traces = credentials is not None or (name in FORMATS and _has_traces(path))
    watermarks = () if marks is None else _watermarks(path, limits, problems)
    return Findings(name, marks, credentials, has_traces, watermarks, tuple(problems))


def examine_given(given: Given) -> Iterator[object]:
    """Inside the cage: `{"findings": ...}` of the one file, or `{"code": ..., "detail": ...}`, as JSON values."""
    limits, roots = Limits.of_words(given.argument["limits"]), str(given.argument["roots"]).encode()
    (path,) = given.paths
    try:
        yield {"findings": asdict(examine(path, limits, roots))}
    except BadMedia as error:
        yield refusal(path, error)


def _credentials(path: Path, media_type: str | None, roots: bytes, problems: list[str]) -> Credentials | None:
    if media_type is None:
        return None
    try:
        with open_bytes(path) as file:
            return read_credentials(file, media_type, context_of(roots))
    except ValueError as error:
        problems.append(str(error))
        return None


def _marks(path: Path, limits: Limits, problems: list[str]) -> Marks | None:
    try:
        inspect(path, limits)
        stored = read_stored_marks(path)
    except (MediaUnsupported, MediaTooLarge, MediaEmpty):
        raise
    except BadMedia as error:
        problems.append(error.detail)
        return None
    return read_marks(stored.xmp, stored.tags)


def _watermarks(path: Path, limits: Limits, problems: list[str]) -> tuple[str, ...]:
    try:
        return tuple(watermark_text(each.identity) for each in readings_in(path, limits))
    except BadMedia as error:  # its head is whole, its pixels are not
        problems.append(error.detail)
        return ()


def _has_traces(path: Path) -> bool:
    longest = max(map(len, TRACES)) - 1
    with open_bytes(path) as file:
        return any(trace in window for window in _windows(file, longest) for trace in TRACES)


def _windows(file: IO[bytes], overlap: int) -> Iterator[bytes]:
    kept = b""
    while block := file.read(_BLOCK_BYTES):
        yield kept + block
        kept = block[-overlap:]
