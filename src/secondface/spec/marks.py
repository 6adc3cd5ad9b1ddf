"""The ids in an output's marks: which job they belong to, without a table that would have to be kept.

Pure rules. The AIGC label holds the ProduceID, the invisible watermark its first 64 bits: whoever has one of a job's
ids has them all.
"""

from __future__ import annotations

import hashlib
import re

_HEX_ID = re.compile(r"[0-9a-f]{32}")


def produce_id_of_job(job_id: str) -> str:
    """The id in the marks of a job's output, 32 hex digits: the same for every attempt at it."""
    return hashlib.sha256(job_id.encode()).hexdigest()[:32]


def watermark_of(produce_id: str) -> int:
    """The 64 bits that the watermark holds of an output's ProduceID: its first 16 hex digits, or those of its digest.

    Other tools may choose ids of other forms, which cannot be cut without meeting each other; those are digested.
    """
    digits = produce_id if _HEX_ID.fullmatch(produce_id) else hashlib.sha256(produce_id.encode()).hexdigest()
    return int(digits[:16], 16)


def watermark_text_of_job(job_id: str) -> str:
    """What the watermark of a job's output is shown as."""
    return watermark_text(watermark_of(produce_id_of_job(job_id)))


def watermark_text(watermark: int) -> str:
    """A watermark's id as it is shown: 16 hex digits, with which its ProduceID begins."""
    return f"{watermark:016x}"
