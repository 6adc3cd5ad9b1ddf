"""One-time codes, what is left of ended jobs and what uploads take, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from secondface.domain.one_time_codes import CodeBook
from secondface.domain.retention import Remains
from secondface.domain.uploads import UploadShare


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


class MemoryUploads:
    """Shares inside one transaction."""

    def __init__(self, shares: dict[str, UploadShare]) -> None:
        self._shares = shares

    def save(self, share: UploadShare) -> None:
        self._shares[share.id] = share

    def held_bytes(self, account: str, besides: str = "") -> int:
        return sum(each.size_bytes for each in self.all(account) if each.id != besides)

    def of_key(self, key: str) -> Sequence[UploadShare]:
        return [each for each in self.all() if each.key == key]

    def all(self, account: str | None = None) -> Sequence[UploadShare]:
        found = [each for each in self._shares.values() if account in (None, each.account)]
        return sorted(found, key=lambda each: each.id)

    def drop(self, share_ids: Iterable[str]) -> None:
        for each in share_ids:
            self._shares.pop(each, None)
