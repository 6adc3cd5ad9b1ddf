"""How much of a request is read, and for how long it is waited for, whatever a route does with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from secondface.gateway.refusals import BodyTooLarge, BodyTooSlow


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimits:
    """What one request may bring."""

    words_bytes: int = 1 << 20
    """Of a body that is read whole: JSON."""
    file_bytes: int = 2 << 30
    """Of a body that goes to the store as it comes."""
    idle_s: float = 20.0
    """Silence after which a body is given up."""
    words_s: float = 30.0
    """For the whole of a JSON body."""
    slowest_bytes_s: int = 16 << 10
    """Files that come slower than this, on the whole, are given up."""


class BodyGuard:
    """ASGI middleware: refuses bodies that are too large or too slow before and while they are read."""

    def __init__(self, app: ASGIApp, limits: BodyLimits, takes_files: Callable[[Scope], bool]) -> None:
        self._app, self._limits, self._takes_files = app, limits, takes_files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reader = _Reader(scope, receive, self._limits, files=self._takes_files(scope))
        await self._app(scope, reader, send)


class _Reader:
    """Hands on the messages of one request while they keep to the limits."""

    def __init__(self, scope: Scope, receive: Receive, limits: BodyLimits, *, files: bool) -> None:
        self._receive, self._limits, self._files = receive, limits, files
        self._most = limits.file_bytes if files else limits.words_bytes
        self._announced = content_length(scope)
        self._size = 0
        self._done = False
        self._loop = asyncio.get_running_loop()
        self._began: float | None = None

    async def __call__(self) -> Message:
        if self._done:
            return await self._receive()  # nothing but the disconnect can follow
        if self._announced > self._most:
            raise BodyTooLarge(f"{self._announced} bytes; it takes {self._most}.", most_bytes=self._most)
        if self._began is None:
            self._began = self._loop.time()
        message = await self._next(self._began)
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self._done = not message.get("more_body", False)
            if self._size > self._most:
                raise BodyTooLarge(f"It takes {self._most} bytes.", most_bytes=self._most)
        return message

    async def _next(self, began: float) -> Message:
        spent = self._loop.time() - began
        allowed = self._limits.words_s
        if self._files:
            allowed += self._size / self._limits.slowest_bytes_s
        wait = min(self._limits.idle_s, allowed - spent)
        if wait > 0:
            try:
                async with asyncio.timeout(wait):
                    return await self._receive()
            except TimeoutError:
                pass
        raise BodyTooSlow(f"{self._size} bytes came in {spent:.0f} s.")


def content_length(scope: Scope) -> int:
    """Bytes that the body is said to have; 0 where nobody says it."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
