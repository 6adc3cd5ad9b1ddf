"""One-time codes and what is left of ended jobs, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from secondface.domain.one_time_codes import CodeBook
from secondface.domain.retention import Remains


class MemoryCodes:
    """Codes inside one transaction."""

    def __init__(self, codes: dict[str, CodeBook]) -> None:
        self._codes = codes

    def save(self, book: CodeBook) -> None:
        self._codes[book.key_id] = book

    def lock(self, key_id: str) -> CodeBook | None:
        return self._codes.get(key_id)

    def drop(self, key_id: str) -> bool:
        return self._codes.pop(key_id, None) is not None


class MemoryRemains:
    """What is left, inside one transaction."""

    def __init__(self, remains: dict[str, Remains]) -> None:
        self._remains = remains

    def save(self, remains: Remains) -> None:
        self._remains[remains.job_id] = remains

    def find(self, job_ids: Iterable[str]) -> Mapping[str, Remains]:
        return {job_id: self._remains[job_id] for job_id in job_ids if job_id in self._remains}

    def due(self, at_ms: int, inputs_h: int, output_h: int, limit: int = 100) -> Sequence[Remains]:
        found = [
            each for each in self._remains.values() if each.under_way or each.due(at_ms, inputs_h, output_h)
        ]  # fmt: skip
        return sorted(found, key=lambda each: (each.ended_ms, each.job_id))[:limit]

    def set_hours(self, account: str, inputs_h: int | None, output_h: int | None) -> None:
        for job_id, each in self._remains.items():
            if each.account == account:
                self._remains[job_id] = replace(each, inputs_h=inputs_h, output_h=output_h)
