"""Bytes of callers on their way to the object store: hashed as they come, never whole in memory, scanned before use.

The one place that every input passes: what is sent to a link, a part of a form, a file at an address, and an upload
that a request names. Decides under which keys uploads lie. Must not look at what they are: that is the probe's work.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator

import anyio
from anyio import CapacityLimiter, from_thread, to_thread

from secondface.control.screening import Screening, Verdict
from secondface.control.upload_shelf import UploadShelf
from secondface.control.uploads import PLACE, account_of
from secondface.domain.accounts import Actor
from secondface.domain.ports import ObjectStore, Stored
from secondface.errors import MalwareFound, ObjectMissing, RateLimited, ScannerUnavailable

_BLOCK_BYTES = 1 << 20
_SCANS_AT_ONCE = 8
"""Fewer than clamd has threads by default: those who wait for it wait here, where it costs nothing."""

Scanned = Callable[[Verdict, float], None]
"""Hears what each scan came to, and how many seconds it took."""


def upload_key(account: str, upload_id: str) -> str:
    """Where an account's upload lies."""
    return f"{PLACE}{account}/{upload_id}"


class Intake:
    """Streams into the store, so many at once and no more."""

    def __init__(
        self, objects: ObjectStore, shelf: UploadShelf, at_once: int, screening: Screening | None = None,
        scanned: Scanned = lambda _verdict, _seconds: None,
    ) -> None:  # fmt: skip
        self._objects, self._shelf, self._screening, self._scanned = objects, shelf, screening, scanned
        self._limiter = CapacityLimiter(at_once)
        self._scans = CapacityLimiter(_SCANS_AT_ONCE)

    async def store(
        self, key: str, stream: AsyncIterator[bytes], content_type: str, most_bytes: int, actor: Actor,
        announced_bytes: int = 0,
    ) -> Stored:  # fmt: skip
        """Store a stream whole and scanned, or not at all; none of it is read where what was announced has no room.

        Raises MediaTooLarge, UploadsFull, DiskFull, RateLimited, MalwareFound, ScannerUnavailable, and what the stream
        does.
        """
        try:
            self._limiter.acquire_on_behalf_of_nowait(stream)
        except anyio.WouldBlock:
            raise RateLimited("Too many uploads at once; try again in 5 s.", retry_after_s=5) from None
        try:
            blocks = _blocks(stream)
            # A thread of its own limiter: slow senders must not take the threads of all other requests.
            stored = await to_thread.run_sync(
                lambda: self._shelf.put(
                    key, _pulled(blocks), content_type, most_bytes=most_bytes, announced_bytes=announced_bytes
                ),
                limiter=CapacityLimiter(1),
            )
            try:
                await self._screened(stored, actor)
            except (MalwareFound, ScannerUnavailable):
                await to_thread.run_sync(self._objects.delete, key)
                raise
            return stored
        finally:
            self._limiter.release_on_behalf_of(stream)

    async def found(self, account: str, upload_id: str, actor: Actor) -> Stored:
        """An upload of the account, scanned. Raises ObjectMissing, MalwareFound, ScannerUnavailable."""
        try:
            stored = await to_thread.run_sync(self._objects.head, upload_key(account, upload_id))
            # It may come from before there was a scanner, and in a sender's hands it can be another file by now.
            await self._screened(stored, actor)
        except ObjectMissing:
            raise ObjectMissing(f"There is no upload {upload_id}.", upload=upload_id) from None
        return stored

    async def _screened(self, stored: Stored, actor: Actor) -> None:
        if (screening := self._screening) is None:
            return
        account = account_of(stored.key)
        began = time.perf_counter()
        verdict: Verdict = "unavailable"
        try:
            verdict = await to_thread.run_sync(screening.require_clean, stored, account, actor, limiter=self._scans)
        except MalwareFound:
            verdict = "found"
            raise
        finally:
            self._scanned(verdict, time.perf_counter() - began)


def _pulled(blocks: AsyncIterator[bytes]) -> Iterator[bytes]:
    """The blocks, asked for from a thread, one after another."""
    while (block := from_thread.run(_next, blocks)) is not None:
        yield block


async def _next(blocks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(blocks, None)


async def _blocks(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    block = bytearray()
    async for chunk in stream:
        block += chunk
        if len(block) >= _BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)
