"""Small secrets in the database, encrypted with a key that lies outside of it (AES-256-GCM)."""

from __future__ import annotations

import base64
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from secondface.errors import InternalFault

_NONCE_BYTES = 12


class AesSealer:
    """Seals with one key of 32 bytes; what was sealed for one owner does not open for another."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key[:32])

    def seal(self, secret: str, belongs_to: str) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, secret.encode(), belongs_to.encode())).decode()

    def open(self, sealed: str, belongs_to: str) -> str:
        try:
            raw = base64.b64decode(sealed, validate=True)
            opened = self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], belongs_to.encode())
        except (InvalidTag, ValueError) as error:
            raise InternalFault("a sealed secret does not open: was codes.key replaced?") from error
        return opened.decode()
