"""From what a request names to inputs that are stored and known: uploads, parts of forms, files at addresses.

Every input passes the probe in the cage before a job is made of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from anyio import to_thread

from secondface.control.auth import Caller
from secondface.domain.ports import Stored
from secondface.errors import MalwareFound, ScannerUnavailable, SecondfaceError
from secondface.gateway.intake import Intake, upload_key
from secondface.gateway.options import GatewayOptions
from secondface.gateway.outgoing import Outgoing
from secondface.gateway.service import Service
from secondface.spec.service import InputRef
from secondface.spec.work import InputFacts, StoredInput


@dataclass(frozen=True, slots=True)
class KnownInput:
    """An input in the store, what it is, and what the request calls it."""

    stored: Stored
    facts: InputFacts
    place: str

    def named(self, role: str) -> StoredInput:
        """The input for a worker, under a name of ours."""
        ending = _ENDINGS.get(self.facts.format_name.split(",")[0].lower(), "bin")
        return StoredInput(
            key=self.stored.key, name=f"{role}.{ending}", sha256=self.stored.sha256, size_bytes=self.stored.size_bytes
        )


_ENDINGS = {
    "jpeg": "jpg", "png": "png", "webp": "webp", "avif": "avif", "heif": "heic", "tiff": "tiff", "gif": "gif",
    "bmp": "bmp", "mov": "mp4", "matroska": "mkv", "avi": "avi", "mpegts": "ts",
}  # fmt: skip
SCANNER_SAYS = (MalwareFound, ScannerUnavailable)
"""What an address that takes files can answer where a scanner is set up."""
_MOST_SEEN = 10_000
"""Contents whose facts are kept; the oldest are forgotten first."""


class Inputs:
    """Brings inputs into the store and has them looked at."""

    def __init__(self, service: Service, options: GatewayOptions, intake: Intake, outgoing: Outgoing) -> None:
        self._service, self._options = service, options
        self._intake, self._outgoing = intake, outgoing
        self._seen: dict[str, InputFacts] = {}
        self._looks: dict[str, asyncio.Task[InputFacts]] = {}
        """Looks that are under way."""

    async def part(self, caller: Caller, chunks: AsyncIterator[bytes], content_type: str, place: str) -> Stored:
        """Store an input of a job as an upload of the caller, and begin to look at it."""
        stored = await self.store(caller, chunks, content_type, place)
        self.expect(stored)  # while the next part is on its way
        return stored

    async def store(self, caller: Caller, chunks: AsyncIterator[bytes], content_type: str, place: str) -> Stored:
        """Store bytes as an upload of the caller; what the scanner says of them names their place in the request."""
        key = upload_key(caller.account.id, self._service.ids.new("upl"))
        with told_of(place, key, SCANNER_SAYS):
            return await self._intake.store(
                key, chunks, content_type, self._options.bodies.file_bytes, caller.actor
            )  # fmt: skip

    async def upload(self, caller: Caller, upload_id: str, place: str) -> Stored:
        """An upload that a request names. Raises ObjectMissing, MalwareFound, ScannerUnavailable."""
        with told_of(place, upload_key(caller.account.id, upload_id), SCANNER_SAYS):
            return await self._intake.found(caller.account.id, upload_id, caller.actor)

    async def stored(self, caller: Caller, ref: InputRef, place: str) -> Stored:
        """The stored file of a reference, fetched where it is an address.

        Raises ObjectMissing, AddressForbidden, FetchFailed, MediaTooLarge, UploadsFull, MalwareFound,
        ScannerUnavailable.
        """
        if ref.upload is not None:
            return await self.upload(caller, ref.upload, place)
        assert ref.url is not None
        async with self._outgoing.download(ref.url, self._options.fetch_s) as chunks:
            return await self.part(caller, chunks, "application/octet-stream", place)

    async def known(self, stored: Sequence[tuple[str, Stored]]) -> list[KnownInput]:
        """What each stored file is, with its place in the request; the same bytes are looked at once.

        Raises BadMedia errors that name the first place with that file.
        """
        distinct: dict[str, tuple[str, Stored]] = {}
        for place, each in stored:
            distinct.setdefault(each.sha256, (place, each))
        facts = await asyncio.gather(*(self._facts_at(place, each) for place, each in distinct.values()))
        by_content = dict(zip(distinct, facts, strict=True))
        return [KnownInput(each, by_content[each.sha256], place) for place, each in stored]

    def expect(self, stored: Stored) -> None:
        """Begin to look at a file that a job will most likely name, so that the job need not wait for it."""
        if stored.sha256 not in self._seen:
            self._look(stored).add_done_callback(_left)

    async def _facts_at(self, place: str, stored: Stored) -> InputFacts:
        with told_of(place, stored.key):
            return await self._facts(stored)

    async def _facts(self, stored: Stored) -> InputFacts:
        facts = self._seen.get(stored.sha256)
        # A caller who goes away must not end a look for which others wait.
        return facts if facts is not None else await asyncio.shield(self._look(stored))

    def _look(self, stored: Stored) -> asyncio.Task[InputFacts]:
        """The look at this file that is under way, or a new one."""
        look = self._looks.get(stored.key)
        if look is None:
            look = self._looks[stored.key] = asyncio.create_task(self._inspected(stored))
        return look

    async def _inspected(self, stored: Stored) -> InputFacts:
        try:
            facts = await to_thread.run_sync(self._service.inspect, stored)
        finally:
            del self._looks[stored.key]
        if len(self._seen) >= _MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[stored.sha256] = facts
        return facts


@contextmanager
def told_of(
    place: str, key: str, kinds: tuple[type[SecondfaceError], ...] = (SecondfaceError,)
) -> Generator[None]:  # fmt: skip
    """Let an error about a stored file name the caller's place for it, in place of a name of ours.

    The error is a new one: several requests may wait for the same look, and each has places of its own.
    """
    try:
        yield
    except kinds as error:
        own = key.rpartition("/")[2]
        placed = ": ".join(filter(None, (place, error.detail)))
        told = error.detail.replace(own, place) if own in error.detail else placed
        raise type(error)(told, **error.facts) from error


def _left(look: asyncio.Task[InputFacts]) -> None:
    """What is wrong with a file is said to the job that names it, not to nobody."""
    if not look.cancelled():
        look.exception()
