"""Files by key in a folder: whole or not there, hashed on the way in, read by ranges.

A file is written under a name of its own, locked while it grows, and gets its key when it is complete; a file of facts
beside it is the seal. The port has the shape of S3, whose adapter needs none of this.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from secondface.confidential import make_private
from secondface.domain.ports import Method, Stored
from secondface.errors import DiskFull, LinkInvalid, MediaTooLarge, ObjectMissing, StorageUnavailable
from secondface.storage.links import Links, checked_key

_CHUNK_BYTES = 1 << 20
_SEAL = "~"
"""Ends the name of a file of facts; no key can hold it, so facts of one key are never in the way of another."""


class FolderStore:
    """An object store in one folder, which several processes of one machine may share."""

    def __init__(self, folder: Path, links: Links) -> None:
        self._files, self._facts, self._parts = folder / "files", folder / "facts", folder / "parts"
        self._sealing = folder / "sealing"
        self._links = links
        with _failures():
            for each in (self._files, self._facts, self._parts):
                make_private(each)

    def put(self, key: str, chunks: Iterable[bytes], content_type: str, *, most_bytes: int | None = None) -> Stored:
        goal = self._files / checked_key(key)
        digest, size = hashlib.sha256(), 0
        with self._part() as (part, file):
            for chunk in chunks:  # what goes wrong in here is the sender's failure, and keeps its name
                size += len(chunk)
                if most_bytes is not None and size > most_bytes:
                    raise MediaTooLarge(f"The file is over {most_bytes} bytes.", most_bytes=most_bytes)
                digest.update(chunk)
                with _failures(key):
                    _write(file, chunk)
            stored = Stored(key=key, size_bytes=size, sha256=digest.hexdigest(), content_type=content_type)
            with _failures(key):
                os.fsync(file.fileno())
                self._seal(part, goal, stored)
        return stored

    def read(self, key: str, first: int = 0, last: int | None = None) -> Iterator[bytes]:
        size = self.head(key).size_bytes  # here, not at the first chunk: a missing file is known before any answer
        end = size if last is None else min(last + 1, size)
        try:
            descriptor = os.open(self._files / key, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError as error:
            raise ObjectMissing(key=key) from error
        return _range(os.fdopen(descriptor, "rb"), first, end)

    def head(self, key: str) -> Stored:
        try:
            facts = json.loads((self._facts / f"{checked_key(key)}{_SEAL}").read_bytes())
            size = os.stat(self._files / key, follow_symlinks=False).st_size  # noqa: PTH116 - no link is followed
        except (OSError, ValueError) as error:
            raise ObjectMissing(key=key) from error
        stored = Stored(**facts)
        if stored.size_bytes != size:
            raise ObjectMissing("The stored file is not whole.", key=key)
        return stored

    def path(self, key: str) -> Path:
        """Where a whole file lies, for readers on this machine. Raises ObjectMissing."""
        self.head(key)
        return self._files / key

    @contextmanager
    def held(self, stored: Stored) -> Generator[Path]:
        """The path of the very file that `stored` tells of; what is found out of it in the block holds for its bytes.

        Raises ObjectMissing, at the end too, where another file was put under the key meanwhile.
        """
        path = self._files / checked_key(stored.key)
        try:
            # Held open, so that no later file can have its number.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise ObjectMissing(key=stored.key) from error
        try:
            if self.head(stored.key).sha256 != stored.sha256:
                raise ObjectMissing("Another file was put there.", key=stored.key)
            yield path
            if not _is_at(descriptor, path):
                raise ObjectMissing("Another file was put there meanwhile.", key=stored.key)
        finally:
            os.close(descriptor)

    def delete(self, key: str) -> None:
        path, facts = self._files / checked_key(key), self._facts / f"{key}{_SEAL}"
        with _failures(key):
            for each in (facts, path):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                    each.unlink()
            for root, each in ((self._facts, facts), (self._files, path)):
                _remove_empty(each.parent, root)

    def keys(self, prefix: str) -> Sequence[str]:
        with _failures():
            folder = self._facts / prefix.rpartition("/")[0]  # not all of the store for the files of one job
            found = (path.relative_to(self._facts).as_posix() for path in folder.rglob(f"*{_SEAL}"))
            return sorted(name.removesuffix(_SEAL) for name in found if name.startswith(prefix))

    def link(self, key: str, method: Method, seconds: int) -> str:
        return self._links.sign(key, method, seconds)

    def tidy(self) -> int:
        """Remove what dead writers left; returns how many. A file that is still being written is locked, and stays."""
        removed = 0
        with _failures():
            for path in self._parts.glob("*.part"):
                with contextlib.suppress(BlockingIOError, FileNotFoundError), path.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
                    removed += 1
        return removed

    @contextmanager
    def _part(self) -> Generator[tuple[Path, FileIO], None, None]:
        with _failures():
            path, file = self._locked_part()
        try:
            with file:
                yield path, file
        finally:
            path.unlink(missing_ok=True)

    def _locked_part(self) -> tuple[Path, FileIO]:
        while True:
            path = self._parts / f"{secrets.token_hex(12)}.part"
            file = path.open("xb", buffering=0)  # unbuffered: closing it after a failed write cannot fail again
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                return path, file
            file.close()  # a sweep came between opening and locking, and took it for one of the dead

    def _seal(self, part: Path, goal: Path, stored: Stored) -> None:
        """Give a complete file its key. Unsealed first, so that old facts never speak for new bytes."""
        facts = self._facts / f"{stored.key}{_SEAL}"
        with self._part() as (written, file), self._sealing.open("a") as one_at_a_time:
            _write(file, json.dumps(asdict(stored)).encode())
            os.fsync(file.fileno())
            fcntl.flock(one_at_a_time, fcntl.LOCK_EX)  # or two writers of one key could mix bytes and facts
            for each in (goal, facts):
                each.parent.mkdir(parents=True, exist_ok=True)
            facts.unlink(missing_ok=True)
            part.replace(goal)
            written.replace(facts)
        for each in (goal.parent, facts.parent):
            _sync_folder(each)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    except OSError:
        return False


def _write(file: FileIO, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]


def _range(file: BinaryIO, first: int, end: int) -> Generator[bytes, None, None]:
    with file:
        file.seek(first)
        left = end - first
        while left > 0 and (chunk := file.read(min(left, _CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _failures(key: str = "") -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(key=key) from error
        if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG):
            raise LinkInvalid("Another file's name is in the way of this one.", key=key) from error
        raise StorageUnavailable(str(error.strerror), key=key) from error
