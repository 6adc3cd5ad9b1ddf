"""What a file is, found out in a caged child process before anything else reads it.

Decides what a child's answer, silence or death means to the caller; the looking itself is in `inspection`.
Must not trust what comes back, and must not read the file in this process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from secondface.errors import (
    BadMedia,
    CageUnavailable,
    FileUnreadable,
    InternalFault,
    MediaCorrupt,
    MediaEmpty,
    MediaTooLarge,
    MediaUnsupported,
)
from secondface.media.cage import Cage, can_cage
from secondface.media.caged_task import INSPECTION, Outcome, caged_task
from secondface.media.handed import without_places
from secondface.media.info import MediaInfo
from secondface.media.inspection import inspect
from secondface.media.limits import Limits

PROBE_CAGE = Cage(memory_bytes=1 << 30, cpu_s=4, wall_s=30)
"""CPU time ends what works; the clock on the wall, which a busy machine stretches, only what sleeps."""
_MOST_BYTES = 1 << 18
_MOST_DETAIL = 500
_REFUSALS: dict[str, type[BadMedia]] = {
    error.code: error for error in (FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge, MediaEmpty)
}


def probe(path: str | os.PathLike[str], limits: Limits | None = None, cage: Cage = PROBE_CAGE) -> MediaInfo:
    """What `path` holds, from its bytes (an animation is a video); a still is not decoded.

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty; CageUnavailable; InternalFault.
    """
    path, limits = Path(path), limits or Limits()
    with opened_alone(path) as descriptor:
        if not can_cage():
            return inspect(path, limits)
        outcome = caged_task(INSPECTION).call([(descriptor, path.name)], limits.words(), cage, _MOST_BYTES)
    return answer_of(path.name, outcome, cage)


@contextmanager
def opened_alone(path: Path) -> Generator[int, None, None]:
    """A descriptor of the ordinary file `path`, for a caged process. Raises FileUnreadable."""
    try:
        # a pipe or a device could block for ever or never end
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as cause:
        raise FileUnreadable(f"{path}: {getattr(cause, 'strerror', None) or cause}") from cause
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileUnreadable(f"{path}: not an ordinary file")
        yield descriptor
    finally:
        os.close(descriptor)


def answer_of(name: str, outcome: Outcome, cage: Cage) -> MediaInfo:
    """What the child's first line says; raises what probe() does."""
    refuse_dead(name, outcome, cage)
    try:
        words: Any = _anything().validate_json(outcome.lines[0])
        if "info" in words:
            return _infos().validate_python(words["info"])
        if "unavailable" in words:
            raise CageUnavailable(legible(words["unavailable"]))
        if "fault" in words:
            raise InternalFault(f"{name}: {legible(words['fault'])}")
        raise _REFUSALS[words["code"]](legible(words["detail"]))
    except (ValidationError, LookupError, TypeError, ZeroDivisionError, OverflowError) as cause:
        raise MediaCorrupt(f"{name}: the process that looked at it answered nonsense") from cause


def refuse_dead(name: str, outcome: Outcome, cage: Cage) -> None:
    """Raise for a child that gave no whole answer, saying how it ended."""
    if outcome.overran or outcome.signal_name == "SIGXCPU":
        raise MediaCorrupt(f"{name}: it could not be understood within {cage.cpu_s} s of computing")
    if outcome.signal_name:
        raise MediaCorrupt(f"{name}: the process that looked at it was ended by {outcome.signal_name}")
    if outcome.too_wordy or not outcome.lines:
        raise MediaCorrupt(f"{name}: the process that looked at it gave no answer")


def legible(text: object) -> str:
    """A hostile child's words as one short line without control characters and places in its cage."""
    short = without_places(str(text))[:_MOST_DETAIL]
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in short)


@lru_cache(maxsize=1)
def _infos() -> TypeAdapter[MediaInfo]:
    return TypeAdapter(MediaInfo)


@lru_cache(maxsize=1)
def _anything() -> TypeAdapter[dict[str, Any]]:
    return TypeAdapter(dict[str, Any])
