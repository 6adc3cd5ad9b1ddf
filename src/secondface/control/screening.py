"""Whether bytes of a caller may be used: the scanner looks at them once, and its word on their content is kept a day.

Where there is no word there is no use: a scanner that is away lets nothing pass. Must not know HTTP, or which scanner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from secondface.domain.accounts import Actor
from secondface.domain.jobs import Event, Fact
from secondface.domain.ports import ObjectStore, Scanner, Stored, Transactions
from secondface.errors import MalwareFound, ObjectMissing, ScannerUnavailable

Verdict = Literal["clean", "known", "found", "unavailable"]
_KEPT_S = 86_400
"""How long a good word holds. Scanners learn of new malware by the day, so an older file is looked at once more."""


@dataclass(frozen=True, slots=True)
class Screening:
    """Asks the scanner about stored files of callers."""

    scanner: Scanner
    objects: ObjectStore
    transactions: Transactions

    def require_clean(self, stored: Stored, account: str, actor: Actor) -> Verdict:
        """Let a file pass: "clean" where it was scanned now, "known" where its content was before.

        Raises MalwareFound, having removed the file; ScannerUnavailable; ObjectMissing where the file was replaced.
        """
        if self._known(stored.sha256):
            return "known"
        reading = _Reading(self.objects.read(stored.key))
        try:
            found = self.scanner.scan(reading)
            if reading.sha256 != stored.sha256:
                # Else a good word for one file could be had for another, put under the same key for a moment.
                raise ObjectMissing("Another file was put there meanwhile.", key=stored.key)
            if found is not None:
                raise MalwareFound(found, signature=found)
        except (MalwareFound, ScannerUnavailable) as error:
            if isinstance(error, MalwareFound):
                self.objects.delete(stored.key)
            self._tell(stored, account, actor, error)
            raise
        with self.transactions.begin() as work:
            work.cache.put(_word(stored.sha256), "clean", _KEPT_S)
        return "clean"

    def _known(self, sha256: str) -> bool:
        with self.transactions.view() as work:
            return work.cache.get(_word(sha256)) is not None

    def _tell(self, stored: Stored, account: str, actor: Actor, error: MalwareFound | ScannerUnavailable) -> None:
        facts: dict[str, Fact] = {
            "code": error.code, "detail": error.detail, "sha256": stored.sha256, "size_bytes": stored.size_bytes,
        }  # fmt: skip
        subject = stored.key.rpartition("/")[2]
        with self.transactions.begin() as work:
            event = Event(subject, "upload.refused", work.now_ms(), facts)
            work.journal.record(account, actor, [event])


def _word(sha256: str) -> str:
    return f"scan:{sha256}"


class _Reading:
    """Chunks on their way to the scanner, hashed as they pass."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._digest = chunks, hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._digest.update(chunk)
            yield chunk

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()
