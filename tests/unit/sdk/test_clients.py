"""Both clients carry out the same flows over httpx, and offer the same methods."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from secondface import errors
from secondface.sdk import AsyncClient, Client, Retries
from secondface.sdk.wire import client_options

PRICES = {"currency": "CNY", "data": []}
CONTENT = b"picture" * 1000


class Trickle(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body in small pieces; it breaks off where `broken`."""

    def __init__(self, content: bytes, *, broken: bool = False) -> None:
        self._content, self._broken = content, broken

    def __iter__(self) -> Iterator[bytes]:
        for at in range(0, len(self._content), 1000):
            yield self._content[at : at + 1000]
        if self._broken:
            raise httpx.ReadError("cut")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class Service:
    """Answers like a service, and keeps what was asked."""

    def __init__(self) -> None:
        self.seen: list[httpx.Request] = []
        self.breaks = 1

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        match request.url.path:
            case "/v1/prices":
                return httpx.Response(200, json=PRICES)
            case "/v1/uploads":
                place = {"id": "upl_1", "method": "PUT", "url": "http://files/u?s=1", "expires_ms": 1, "most_bytes": 9}
                return httpx.Response(201, json=place)
            case "/u":
                content = request.content
                digest = hashlib.sha256(content).hexdigest()
                return httpx.Response(200, json={"id": "upl_1", "size_bytes": len(content), "sha256": digest})
            case "/v1/jobs/job_1/result":
                begin = int(request.headers.get("range", "bytes=0-")[6:-1])
                etag = {"etag": f'"{hashlib.sha256(CONTENT).hexdigest()}"'}
                end, broken = (begin + 2000, True) if self.breaks else (len(CONTENT), False)
                self.breaks = max(0, self.breaks - 1)
                stream = Trickle(CONTENT[begin:end], broken=broken)
                return httpx.Response(206 if begin else 200, headers=etag, stream=stream)
            case "/v1/jobs/job_1/events":
                data = {"number": 1, "kind": "job.succeeded", "at_ms": 1, "facts": {}}
                text = f"id: 1\nevent: job.succeeded\ndata: {json.dumps(data)}\n\n".encode()
                return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Trickle(text))
            case "/v1/swap":
                return httpx.Response(200, content=b"png", headers={"content-type": "image/png", "x-job-id": "job_2"})
            case path:
                raise httpx.ConnectError(f"nobody at {path}")


QUICK = Retries(first_s=0.001)


def test_the_blocking_client(tmp_path: Path) -> None:
    service = Service()
    path = tmp_path / "me.jpg"
    path.write_bytes(CONTENT)
    with Client("http://here:1/", "sf_k", retries=QUICK, transport=httpx.MockTransport(service)) as client:
        assert client.prices().currency == "CNY"
        assert client.upload(path).sha256 == hashlib.sha256(CONTENT).hexdigest()
        assert client.download("job_1", tmp_path / "out.png").read_bytes() == CONTENT
        assert [event.kind for event in client.events("job_1")] == ["job.succeeded"]
        assert client.swap(path, path).job_id == "job_2"
        with pytest.raises(errors.ProviderFault, match="nobody at /v1/account"):
            client.account()
    _check(service)


def test_the_asynchronous_client(tmp_path: Path) -> None:
    service = Service()
    path = tmp_path / "me.jpg"
    path.write_bytes(CONTENT)

    async def use() -> None:
        transport = httpx.MockTransport(service)
        async with AsyncClient("http://here:1/", "sf_k", retries=QUICK, transport=transport) as client:
            assert (await client.prices()).currency == "CNY"
            assert (await client.upload(path)).sha256 == hashlib.sha256(CONTENT).hexdigest()
            assert (await client.download("job_1", tmp_path / "out.png")).read_bytes() == CONTENT
            assert [event.kind async for event in client.events("job_1")] == ["job.succeeded"]
            assert (await client.swap(path, path)).job_id == "job_2"
            with pytest.raises(errors.ProviderFault, match="nobody at /v1/account"):
                await client.account()

    asyncio.run(use())
    _check(service)


def _check(service: Service) -> None:
    keys = {request.url.path: request.headers.get("authorization") for request in service.seen}
    assert keys["/v1/prices"] == "Bearer sf_k"
    assert keys["/u"] is None, "a signed link needs no key, and a key does not go to strangers"
    sent = next(request for request in service.seen if request.url.path == "/u")
    assert sent.headers["content-length"] == str(len(CONTENT))
    swap = next(request for request in service.seen if request.url.path == "/v1/swap")
    assert swap.headers["content-type"].startswith("multipart/form-data")
    assert swap.headers["idempotency-key"]


def test_both_offer_the_same() -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        own = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
        return {name: list(inspect.signature(value).parameters) for name, value in own.items()}

    assert methods(Client) == methods(AsyncClient)
    for name in methods(Client):
        assert getattr(Client, name).__doc__ == getattr(AsyncClient, name).__doc__


@pytest.mark.parametrize(
    ("server", "asks_proxies"),
    [
        ("http://127.0.0.1:8080", False),
        ("http://[::1]:1", False),
        ("http://localhost", False),
        ("https://far.org", True),
    ],
)
def test_proxies_are_for_other_machines(server: str, asks_proxies: bool) -> None:
    assert client_options(server, None)["trust_env"] is asks_proxies


@pytest.mark.parametrize("server", ["", "here:1", "ftp://here", "http://", "http://here:port"])
def test_what_is_no_address_is_refused(server: str) -> None:
    with pytest.raises(errors.InvalidOption, match="server"):
        Client(server)
