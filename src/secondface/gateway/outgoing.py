"""Requests that the service makes itself: inputs from addresses of callers, and webhooks. No proxy, no surprise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from urllib.parse import urljoin

import httpx

from secondface.gateway.addresses import AddressGuard, Pinned
from secondface.gateway.refusals import FetchFailed

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 3
_CONNECT_S = 10.0


class Outgoing:
    """Connects to judged addresses only."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._agent = f"secondface/{version('secondface')}"
        self._tls = httpx.create_ssl_context(trust_env=False)  # reading all authorities takes longer than a request

    @asynccontextmanager
    async def download(self, url: str, seconds: float) -> AsyncGenerator[AsyncIterator[bytes]]:
        """The bytes at an address; each redirect is judged like the first. Raises AddressForbidden, FetchFailed."""
        until = asyncio.get_running_loop().time() + seconds
        try:
            async with AsyncExitStack() as opened:
                client = await opened.enter_async_context(self._client())
                for _ in range(_MOST_REDIRECTS + 1):
                    reply = await opened.enter_async_context(self._answer(client, url, until))
                    if reply.status_code in _REDIRECTS and "location" in reply.headers:
                        url = urljoin(url, reply.headers["location"])
                        continue
                    if reply.status_code != 200:
                        raise FetchFailed(f"It answered {reply.status_code}.", status=reply.status_code)
                    yield _until(reply.aiter_raw(), until)
                    return
                raise FetchFailed("It redirects too often.")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FetchFailed(type(error).__name__) from error

    @asynccontextmanager
    async def _answer(self, client: httpx.AsyncClient, url: str, until: float) -> AsyncGenerator[httpx.Response]:
        """The head of an answer. Each piece of it comes within the client's time-out, but a drip of them never ends."""
        async with AsyncExitStack() as opened:
            try:
                async with asyncio.timeout_at(until):
                    pinned = await self._guard.pin(url)
                    headers, name = _headers(pinned, self._agent, {}), {"sni_hostname": pinned.name}
                    asked = client.stream("GET", pinned.url, headers=headers, extensions=name)
                    reply = await opened.enter_async_context(asked)
            except TimeoutError:
                raise FetchFailed("It took too long.") from None
            yield reply

    async def post(self, url: str, body: bytes, headers: dict[str, str], seconds: float) -> int:
        """Send a body, follow nothing, and read no answer but its status. Raises AddressForbidden, FetchFailed."""
        pinned = await self._guard.pin(url)
        sent = _headers(pinned, self._agent, {**headers, "content-type": "application/json"})
        try:
            async with (
                asyncio.timeout(seconds),
                self._client() as client,
                client.stream(
                    "POST", pinned.url, content=body, headers=sent, extensions={"sni_hostname": pinned.name}
                ) as reply,
            ):
                return reply.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FetchFailed(type(error).__name__) from error
        except TimeoutError:
            raise FetchFailed(f"It took more than {seconds:.0f} s.") from None

    def _client(self) -> httpx.AsyncClient:
        # One client a request: no cookie and no connection of one caller is ever another's. Proxies of the
        # environment would resolve names anew, behind the guard.
        return httpx.AsyncClient(
            verify=self._tls, trust_env=False, follow_redirects=False, timeout=httpx.Timeout(_CONNECT_S)
        )


def _headers(pinned: Pinned, agent: str, more: dict[str, str]) -> dict[str, str]:
    return {"user-agent": agent, "accept-encoding": "identity", **more, "host": pinned.host}


async def _until(chunks: AsyncIterator[bytes], until: float) -> AsyncIterator[bytes]:
    """The chunks while there is time: each comes within the client's time-out, but a drip of them never ends."""
    loop = asyncio.get_running_loop()
    async for chunk in chunks:
        if loop.time() > until:
            raise FetchFailed("It took too long.")
        yield chunk
