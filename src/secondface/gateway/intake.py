"""Bytes of callers on their way to the object store: hashed as they come, never whole in memory.

Decides under which keys uploads lie. Must not look at what they are: that is the probe's work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import anyio
from anyio import CapacityLimiter, from_thread, to_thread

from secondface.control.uploads import PLACE
from secondface.domain.ports import ObjectStore, Stored
from secondface.errors import ObjectMissing, RateLimited

_BLOCK_BYTES = 1 << 20


def upload_key(account: str, upload_id: str) -> str:
    """Where an account's upload lies."""
    return f"{PLACE}{account}/{upload_id}"


class Intake:
    """Streams into the store, so many at once and no more."""

    def __init__(self, objects: ObjectStore, at_once: int) -> None:
        self._objects = objects
        self._limiter = CapacityLimiter(at_once)

    async def store(self, key: str, stream: AsyncIterator[bytes], content_type: str, most_bytes: int) -> Stored:
        """Store a stream whole or not at all. Raises MediaTooLarge, DiskFull, RateLimited, and what the stream does."""
        try:
            self._limiter.acquire_on_behalf_of_nowait(stream)
        except anyio.WouldBlock:
            raise RateLimited("Too many uploads at once; try again in 5 s.", retry_after_s=5) from None
        try:
            blocks = _blocks(stream)
            # A thread of its own limiter: slow senders must not take the threads of all other requests.
            return await to_thread.run_sync(
                lambda: self._objects.put(key, _pulled(blocks), content_type, most_bytes=most_bytes),
                limiter=CapacityLimiter(1),
            )
        finally:
            self._limiter.release_on_behalf_of(stream)

    def found(self, account: str, upload_id: str) -> Stored:
        """An upload of the account. Raises ObjectMissing."""
        try:
            return self._objects.head(upload_key(account, upload_id))
        except ObjectMissing:
            raise ObjectMissing(f"There is no upload {upload_id}.", upload=upload_id) from None


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
