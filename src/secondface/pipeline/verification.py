"""Reading the marks of any file back: looked at in a caged child process, judged here.

Decides what a child's answer, silence or death means to the caller. Must not read the file in this process.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from secondface.errors import (
    BadMedia,
    CageUnavailable,
    FileUnreadable,
    InternalFault,
    InvalidSetting,
    MediaCorrupt,
    MediaEmpty,
    MediaTooLarge,
    MediaUnsupported,
)
from secondface.media.cage import Cage, can_cage
from secondface.media.caged_task import Outcome, caged_task
from secondface.media.limits import Limits
from secondface.media.probe import legible, opened_alone, refuse_dead
from secondface.pipeline.examination import examine
from secondface.provenance.verdicts import Findings, Verification, judge

EXAMINATION = "secondface.pipeline.examination:examine_given"
EXAMINATION_CAGE = Cage(memory_bytes=2 << 30, cpu_s=30, wall_s=90)
_MOST_BYTES = 1 << 18
_REFUSALS: dict[str, type[BadMedia]] = {
    error.code: error for error in (FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge, MediaEmpty)
}


def verify_file(
    path: str | os.PathLike[str], roots: bytes, limits: Limits | None = None, cage: Cage = EXAMINATION_CAGE
) -> Verification:
    """Which marks of an AI-made file `path` holds; `roots` (PEM) say whose signatures are trusted.

    Raises FileUnreadable, MediaUnsupported, MediaTooLarge or MediaEmpty; MediaCorrupt for a file that no look survives;
    CageUnavailable; InternalFault.
    """
    path, limits = Path(path), limits or Limits()
    with opened_alone(path) as descriptor:
        if not can_cage():
            return judge(examine(path, limits, roots))
        argument = {"limits": limits.words(), "roots": roots.decode("ascii")}
        outcome = caged_task(EXAMINATION).call([(descriptor, path.name)], argument, cage, _MOST_BYTES)
    return judge(_answer(path.name, outcome, cage))


def _answer(name: str, outcome: Outcome, cage: Cage) -> Findings:
    refuse_dead(name, outcome, cage)
    try:
        words: Any = _anything().validate_json(outcome.lines[0])
        if "findings" in words:
            return _findings().validate_python(words["findings"])
        if "unavailable" in words:
            raise CageUnavailable(legible(words["unavailable"]))
        if "fault" in words:
            raise InternalFault(f"{name}: {legible(words['fault'])}")
        raise _REFUSALS[words["code"]](legible(words["detail"]))
    except (ValidationError, LookupError, TypeError, InvalidSetting) as cause:
        raise MediaCorrupt(f"{name}: the process that looked at it answered nonsense") from cause


@lru_cache(maxsize=1)
def _findings() -> TypeAdapter[Findings]:
    return TypeAdapter(Findings)


@lru_cache(maxsize=1)
def _anything() -> TypeAdapter[dict[str, Any]]:
    return TypeAdapter(dict[str, Any])
