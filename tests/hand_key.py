"""The service's own keys for tests: real ones, whose last word is kept in memory."""

from __future__ import annotations

import secrets
from pathlib import Path

from secondface.storage.sealing import AesSealer
from secondface.storage.signing import AuditKey


class HandKey(AuditKey):
    """Signs like the product's; a test may take its last word away or put another in its place."""

    def __init__(self) -> None:
        super().__init__(secrets.token_bytes(32), Path("nowhere"))
        self.word: str | None = None

    def keep(self, text: str) -> None:
        self.word = text

    def kept(self) -> str | None:
        return self.word


def hand_sealer() -> AesSealer:
    """Seals with a key of its own."""
    return AesSealer(secrets.token_bytes(32))
