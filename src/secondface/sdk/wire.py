"""How httpx carries out calls: the one place that turns them into requests, and answers back into values."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from ipaddress import ip_address
from typing import Any

import httpx

from secondface.errors import InvalidOption
from secondface.sdk.calls import Answer, Call, Unreachable

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
# A stream of events may be silent for as long as the service's own heartbeat, and a swap as long as it is waited for.
TIMEOUT = httpx.Timeout(30.0, connect=10.0, read=150.0)


def client_options(server: str, timeout: httpx.Timeout | None) -> dict[str, Any]:
    """What both kinds of httpx clients are made with. Raises InvalidOption for what is no address."""
    try:
        address = httpx.URL(server.rstrip("/"))
    except httpx.InvalidURL as error:
        raise InvalidOption(f"server {server!r}: {error}", option="server") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidOption(f"server {server!r}: write it as http://HOST:PORT.", option="server")
    return {
        "base_url": address, "timeout": timeout or TIMEOUT, "follow_redirects": False,
        # A proxy of the environment knows no way back to this very machine.
        "trust_env": not _is_here(address.host),
    }  # fmt: skip


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def request_options(call: Call, key: str) -> dict[str, Any]:
    """A call as httpx wants it, its streamed body apart."""
    headers = {"user-agent": agent(), **call.headers}
    if key and not call.is_signed:
        headers["authorization"] = f"Bearer {key}"
    options: dict[str, Any] = {"method": call.method, "url": call.path, "headers": headers}
    if call.query:
        options["params"] = list(call.query)
    if call.words is not None:
        options["json"] = call.words
    if call.form:
        options["files"] = [(part.name, (part.name, part.content)) for part in call.form]
    return options


def answer_of(response: httpx.Response, body: bytes = b"") -> Answer:
    return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


def unreachable(error: httpx.HTTPError) -> Unreachable:
    reason = f"{type(error).__name__}: {error}".rstrip(": ")
    return Unreachable(reason, sent=not isinstance(error, _NEVER_SENT))


@lru_cache(maxsize=1)
def agent() -> str:
    """What this client calls itself."""
    return f"secondface-sdk/{version('secondface')}"
