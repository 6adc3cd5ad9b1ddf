"""Secrets of a service that are made at its first start and lie in files that only its own user reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from secondface.confidential import make_private
from secondface.errors import StorageUnavailable

SECRET_BYTES = 32


def secret_file(path: Path) -> bytes:
    """The secret in a file, made if there is none. Raises StorageUnavailable."""
    try:
        # Faces, secrets of webhooks, the journal: nobody else on this machine has business there.
        make_private(path.parent)
        if not path.exists():
            fresh = path.with_name(f"{path.stem}.{secrets.token_hex(8)}.new")
            _write(fresh, secrets.token_bytes(SECRET_BYTES))
            try:
                os.link(fresh, path)  # of several processes that start at once, the first one's secret stays
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
        return _checked(path)
    except OSError as error:
        raise StorageUnavailable(f"{error.filename}: {error.strerror}") from error


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # a link or a secret that was given out must not outlive what it was made with


def _checked(path: Path) -> bytes:
    content = path.read_bytes()
    if len(content) < SECRET_BYTES:
        raise StorageUnavailable(f"{path} is not whole; put its backup back.")
    return content
