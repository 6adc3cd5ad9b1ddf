"""Results that belong to nobody: those of attempts that did not end the job, left by workers that died.

Decides which stored files of a job are kept. Must not know how they are stored.
"""

from __future__ import annotations

import re

from secondface.domain.jobs import Job
from secondface.domain.ports import ObjectStore, Transactions
from secondface.errors import JobMissing

_RESULT = re.compile(r"jobs/([^/]+)/([0-9]+)/.+")


class Leftovers:
    """The sweep of results. A job that was found clean after its end is not looked at again by this process, unless
    other files lie there than did then: those of a worker that did not hear of the end, and died."""

    def __init__(self, transactions: Transactions, objects: ObjectStore) -> None:
        self._transactions, self._objects = transactions, objects
        self._clean: dict[str, int] = {}
        """A digest of the keys that were there."""

    def step(self) -> int:
        """Remove what is left over; returns how many files."""
        found: dict[str, list[tuple[int, str]]] = {}
        for key in self._objects.keys("jobs/"):
            if parts := _RESULT.fullmatch(key):
                found.setdefault(parts[1], []).append((int(parts[2]), key))
        return sum(self._tidy(job_id, keys) for job_id, keys in found.items() if _seen(keys) != self._clean.get(job_id))

    def _tidy(self, job_id: str, keys: list[tuple[int, str]]) -> int:
        try:
            with self._transactions.view() as work:
                job = work.jobs.get(job_id)
        except JobMissing:
            return 0  # jobs are never removed: this is no folder of ours
        wanted = _wanted(job)
        left = [key for number, key in keys if number not in wanted]
        for key in left:
            self._objects.delete(key)
        if job.ended:
            self._clean[job_id] = _seen([each for each in keys if each[0] in wanted])
        return len(left)


def _seen(keys: list[tuple[int, str]]) -> int:
    return hash(tuple(sorted(keys)))


def _wanted(job: Job) -> set[int]:
    """Attempts whose files are kept: the one that gave the result, also while a reviewer looks at it, or while there
    is none the one that runs and those of finished segments."""
    if job.ended or job.pending is not None:
        parts = _RESULT.fullmatch(job.result or job.pending or "")
        return {int(parts[2])} if parts is not None and parts[1] == job.id else set()
    segments = {segment.attempt for segment in job.segments if segment.attempt is not None}
    return segments | ({job.current.number} if job.current is not None else set())
