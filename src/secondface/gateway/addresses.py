"""Which addresses the service connects to on behalf of callers: none that is private, and each looked up only once.

A name is resolved here, every address that it has is judged, and the connection is made to one of those very addresses:
a name that means something else a moment later leads nowhere new.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit, urlunsplit

from secondface.gateway.refusals import AddressForbidden

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Name and port to addresses in text; raises OSError."""
_Address = IPv4Address | IPv6Address
_NAT64 = IPv6Network("64:ff9b::/96")
_UNICAST = IPv6Network("2000::/3")
_NEVER = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")))
"""Reserved, but the standard library calls it public; which of it, depends on its version."""
_RESOLVE_S = 5.0


@dataclass(frozen=True, slots=True)
class Pinned:
    """An address that may be connected to: the URL with the number in place of the name, and the name beside it."""

    url: str
    host: str
    """What the Host header says."""
    name: str
    """What the certificate must be for."""


class AddressGuard:
    """Judges URLs of callers."""

    def __init__(self, resolve: Resolve | None = None, private_networks: Sequence[str] = ()) -> None:
        self._resolve = resolve or system_resolve
        self._allowed = tuple(ip_network(each) for each in private_networks)

    async def pin(self, url: str) -> Pinned:
        """The URL's address, resolved and judged. Raises AddressForbidden."""
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise AddressForbidden("The address cannot be read.") from None
        name = parts.hostname
        plain = url.isascii() and url.isprintable() and not set(' "<>\\^`{|}') & set(url)
        if parts.scheme not in ("http", "https") or not name or not plain:
            raise AddressForbidden("It must be a plain http or https address.")
        if parts.username is not None or parts.password is not None:
            raise AddressForbidden("An address carries no user and no password.")
        number = await self._number(name, port)
        shown = f"[{number}]" if isinstance(number, IPv6Address) else str(number)
        host = f"[{name}]" if ":" in name else name
        if parts.port is not None:
            host = f"{host}:{parts.port}"
        goal = urlunsplit((parts.scheme, f"{shown}:{port}", parts.path or "/", parts.query, ""))
        return Pinned(goal, host, name)

    async def _number(self, name: str, port: int) -> _Address:
        try:
            async with asyncio.timeout(_RESOLVE_S):
                texts = await self._resolve(name, port)
            numbers = [ip_address(text.partition("%")[0]) for text in texts]
        except (OSError, ValueError, UnicodeError, TimeoutError):
            raise AddressForbidden(f"{name} has no address.") from None
        if not numbers:
            raise AddressForbidden(f"{name} has no address.")
        if not all(map(self._may, numbers)):  # one private address among public ones is a trap, not an accident
            raise AddressForbidden(f"{name} leads to an address that is not public.")
        return numbers[0]

    def _may(self, number: _Address) -> bool:
        inner = _inner(number)
        if any(inner in network for network in self._allowed if network.version == inner.version):
            return True
        special = inner.is_multicast or inner.is_reserved or inner.is_unspecified or inner.is_link_local
        # Site-local addresses are private, and count as public: of IPv6 nothing is but what was ever given out.
        special = special or (isinstance(inner, IPv6Address) and inner not in _UNICAST)
        return inner.is_global and not special and not any(inner in network for network in _NEVER)


def _inner(number: _Address) -> _Address:
    """The address that a wrapped one leads to in the end."""
    if isinstance(number, IPv4Address):
        return number
    if number in _NAT64:
        return IPv4Address(int(number) & 0xFFFFFFFF)
    return number.ipv4_mapped or number.sixtofour or (number.teredo[1] if number.teredo else number)


async def system_resolve(name: str, port: int) -> Sequence[str]:
    """The addresses that this machine knows for a name."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]
