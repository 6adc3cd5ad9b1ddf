"""The key that signs the audit (Ed25519), and the file beside it that holds the last signed word.

Both lie outside of the database, so that who may write the one has not the other.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from secondface.errors import StorageUnavailable
from secondface.storage.secret_files import secret_file

AUDIT_KEY = "audit.key"
_PUBLIC = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")


class AuditKey:
    """A private key of 32 bytes, and where its last word is kept."""

    def __init__(self, private: bytes, last_word: Path) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(private[:32])
        self._last_word = last_word

    @property
    def public_key(self) -> str:
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, words: bytes) -> str:
        return self._key.sign(words).hex()

    def holds(self, public_key: str, words: bytes, signature: str) -> bool:
        return holds(public_key, words, signature)

    def keep(self, text: str) -> None:
        fresh = self._last_word.with_name(f"{self._last_word.name}.{secrets.token_hex(4)}.new")
        try:
            with fresh.open("w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._last_word)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise StorageUnavailable(f"{self._last_word}: {error.strerror}") from error

    def kept(self) -> str | None:
        try:
            return self._last_word.read_text("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageUnavailable(f"{self._last_word}: {error.strerror}") from error


def audit_key(folder: Path) -> AuditKey:
    """The key of the service whose secrets lie in a folder, made at its first start. Raises StorageUnavailable."""
    return AuditKey(secret_file(folder / AUDIT_KEY), folder / "audit.head")


def holds(public_key: str, words: bytes, signature: str) -> bool:
    """Whether a signature is one of a public key over some bytes; both in small hexadecimal digits, the one way."""
    if not _PUBLIC.fullmatch(public_key) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(bytes.fromhex(signature), words)
    except (InvalidSignature, ValueError):
        return False
    return True
