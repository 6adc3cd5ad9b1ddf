"""Files by key in memory, for tests and trials; gone with the process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from secondface.domain.ports import Method, Stored
from secondface.errors import LinkInvalid, MediaTooLarge, ObjectMissing
from secondface.storage.links import Links, checked_key


class MemoryObjects:
    """An object store in a dictionary."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._objects: dict[str, tuple[Stored, bytes]] = {}

    def put(self, key: str, chunks: Iterable[bytes], content_type: str, *, most_bytes: int | None = None) -> Stored:
        checked_key(key)
        for other in self._objects:
            if other.startswith(f"{key}/") or key.startswith(f"{other}/"):
                raise LinkInvalid("Another file's name is in the way of this one.", key=key)
        content = bytearray()
        for chunk in chunks:
            content += chunk
            if most_bytes is not None and len(content) > most_bytes:
                raise MediaTooLarge(f"The file is over {most_bytes} bytes.", most_bytes=most_bytes)
        digest = hashlib.sha256(content).hexdigest()
        stored = Stored(key=key, size_bytes=len(content), sha256=digest, content_type=content_type)
        self._objects[key] = stored, bytes(content)
        return stored

    def read(self, key: str, first: int = 0, last: int | None = None) -> Iterator[bytes]:
        content = self._found(key)[1]
        return iter([content[first : None if last is None else last + 1]])

    def head(self, key: str) -> Stored:
        return self._found(key)[0]

    def delete(self, key: str) -> None:
        self._objects.pop(checked_key(key), None)

    def keys(self, prefix: str) -> Sequence[str]:
        return sorted(key for key in self._objects if key.startswith(prefix))

    def link(self, key: str, method: Method, seconds: int) -> str:
        return self._links.sign(key, method, seconds)

    def _found(self, key: str) -> tuple[Stored, bytes]:
        if checked_key(key) not in self._objects:
            raise ObjectMissing(key=key)
        return self._objects[key]
