"""What second authorisation, deletion, shares of uploads and the audit need from the world, as interfaces.

ports.py has all others. Must not know which store, key or file answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from secondface.domain.one_time_codes import CodeBook
from secondface.domain.retention import Remains
from secondface.domain.uploads import UploadShare


class CodeBooks(Protocol):
    """One-time codes by the key that they belong to."""

    def save(self, book: CodeBook) -> None:
        """Store a new book, or a changed one under its key."""
        ...

    def lock(self, key_id: str) -> CodeBook | None:
        """A key's book; nobody else changes it before this transaction ends."""
        ...

    def drop(self, key_id: str) -> bool:
        """Remove a key's book; whether there was one."""
        ...


class RemainsStore(Protocol):
    """What is kept of jobs that ended."""

    def save(self, remains: Remains) -> None:
        """Store what is left of a job, or a change of it. The job is locked."""
        ...

    def find(self, job_ids: Iterable[str]) -> Mapping[str, Remains]:
        """What is left of some jobs, by their ids."""
        ...

    def due(self, at_ms: int, inputs_h: int, output_h: int, limit: int = 100) -> Sequence[Remains]:
        """Those with a part that was kept long enough, or with a deletion under way, oldest first."""
        ...

    def set_hours(self, account: str, inputs_h: int | None, output_h: int | None) -> None:
        """Let what is left of an account's jobs be kept as its plan now says."""
        ...


class UploadShares(Protocol):
    """What uploads take of their accounts' room."""

    def save(self, share: UploadShare) -> None:
        """Store a new share, or a changed one under its id. The account is locked."""
        ...

    def held_bytes(self, account: str, besides: str = "") -> int:
        """All that an account's shares take, beside the one of that id."""
        ...

    def of_key(self, key: str) -> Sequence[UploadShare]:
        """Shares of the file under a key: several while another one is put in its place."""
        ...

    def all(self, account: str | None = None) -> Sequence[UploadShare]:
        """Shares of an account (None: of all), in the order of their ids."""
        ...

    def drop(self, share_ids: Iterable[str]) -> None:
        """Remove shares; one that is not there is removed already."""
        ...


class Signer(Protocol):
    """The key that vouches for the audit, and a place outside of the database for its last word."""

    @property
    def public_key(self) -> str:
        """By which others check its signatures, as hexadecimal digits."""
        ...

    def sign(self, words: bytes) -> str: ...

    def holds(self, public_key: str, words: bytes, signature: str) -> bool:
        """Whether a signature is one of that public key over these bytes."""
        ...

    def keep(self, text: str) -> None:
        """Put a text where only the service itself writes, in place of the last one. Raises StorageUnavailable."""
        ...

    def kept(self) -> str | None:
        """The text that was put there last."""
        ...


class Sealer(Protocol):
    """Encrypts small secrets for a store that others may read."""

    def seal(self, secret: str, belongs_to: str) -> str:
        """The secret as a text that says nothing, bound to its owner's name."""
        ...

    def open(self, sealed: str, belongs_to: str) -> str:
        """The secret again. Raises InternalFault where it is another owner's, or was sealed with another key."""
        ...
