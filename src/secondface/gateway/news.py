"""Word that something happened to a job, from any thread to the requests that wait for it.

A hint and nothing more: whoever hears it asks the store, and asks now and then without it, for a job may be worked on
where no word comes from.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


class Listener:
    """One request that waits for word of one job."""

    def __init__(self) -> None:
        self._loop, self._heard = asyncio.get_running_loop(), asyncio.Event()

    def tell(self) -> None:
        """Wake it, from any thread."""
        with suppress(RuntimeError):  # its server has ended
            self._loop.call_soon_threadsafe(self._heard.set)

    async def wait(self, seconds: float) -> None:
        """Until there is word that was not waited for before, or for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        self._heard.clear()


class News:
    """Who waits for word of which job."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._listeners: dict[str, set[Listener]] = {}

    def spread(self, job_id: str) -> None:
        """Wake everybody who waits for that job."""
        with self._guard:
            listeners = tuple(self._listeners.get(job_id, ()))
        for each in listeners:
            each.tell()

    @contextmanager
    def listen(self, job_id: str) -> Generator[Listener]:
        """Hear of a job from here on; look at it after this began, or word may come between."""
        listener = Listener()
        with self._guard:
            self._listeners.setdefault(job_id, set()).add(listener)
        try:
            yield listener
        finally:
            with self._guard:
                self._listeners[job_id].discard(listener)
                if not self._listeners[job_id]:
                    del self._listeners[job_id]
