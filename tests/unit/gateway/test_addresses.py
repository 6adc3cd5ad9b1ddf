"""Which addresses may be connected to, whatever a name says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from secondface.gateway.addresses import AddressGuard, Pinned
from secondface.gateway.refusals import AddressForbidden


def pin(url: str, *numbers: str, allowed: Sequence[str] = ()) -> Pinned:
    async def resolve(_name: str, _port: int) -> Sequence[str]:
        return numbers

    return asyncio.run(AddressGuard(resolve, allowed).pin(url))


@pytest.mark.parametrize(
    ("url", "numbers", "pinned"),
    [
        ("https://example.org/a?b=c", ["93.184.216.34"],
         Pinned("https://93.184.216.34:443/a?b=c", "example.org", "example.org")),
        ("http://example.org:8080", ["93.184.216.34"],
         Pinned("http://93.184.216.34:8080/", "example.org:8080", "example.org")),
        ("https://example.org/#part", ["2606:2800:220:1::1", "93.184.216.34"],
         Pinned("https://[2606:2800:220:1::1]:443/", "example.org", "example.org")),
    ],
)  # fmt: skip
def test_a_public_name_is_pinned_to_the_number_that_was_judged(url: str, numbers: list[str], pinned: Pinned) -> None:
    assert pin(url, *numbers) == pinned


@pytest.mark.parametrize(
    "number",
    [
        "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
        "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1",
        "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::",
        "2002:a9fe:a9fe::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2001:db8::1", "2001:0:0:0:0:0:80ff:fffe",
        "fec0::1", "feff::1", "192.0.0.8", "192.0.0.170", "192.88.99.1", "::ffff:192.0.0.8", "64:ff9b:1::1", "3fff::1",
        "4000::1",
        "nonsense", "",
    ],
)  # fmt: skip
def test_a_name_that_leads_inside_is_refused(number: str) -> None:
    with pytest.raises(AddressForbidden):
        pin("https://example.org/", number)


def test_one_private_number_among_public_ones_is_a_trap() -> None:
    with pytest.raises(AddressForbidden, match="not public"):
        pin("https://example.org/", "93.184.216.34", "127.0.0.1")


def test_a_name_without_a_number_is_refused() -> None:
    with pytest.raises(AddressForbidden, match="no address"):
        pin("https://example.org/")


def test_a_resolver_that_fails_or_hangs_is_a_refusal() -> None:
    async def failing(_name: str, _port: int) -> Sequence[str]:
        raise OSError("no such name")

    with pytest.raises(AddressForbidden, match="no address"):
        asyncio.run(AddressGuard(failing).pin("https://example.org/"))


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "//example.org/", "ftp://example.org/", "file:///etc/passwd", "gopher://example.org/",
        "http://", "http:///x", "http://user@example.org/", "http://u:p@example.org/", "http://example.org:99999/",
        "http://example.org:x/", "http://exa mple.org/", "http://example.org/\r\nX: y", "http://exämple.org/",
        "http://[::1", "http://example.org\\@127.0.0.1/", "javascript:alert(1)", "http://example.org/\x00",
        "data:text/plain,x", "http://<x>/",
    ],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused(url: str) -> None:
    with pytest.raises(AddressForbidden):
        pin(url, "93.184.216.34")


def test_numbers_in_disguise_are_resolved_like_names() -> None:
    """What 0x7f.1 or 2130706433 mean, the resolver of the machine says; the guard judges what it said."""
    for name in ("0x7f.1", "2130706433", "127.1", "localhost", "[::1]", "127.0.0.1"):
        with pytest.raises(AddressForbidden):
            asyncio.run(AddressGuard().pin(f"http://{name}/"))


def test_an_operator_can_let_a_private_network_in() -> None:
    assert pin("http://hooks.internal/", "10.1.2.3", allowed=["10.1.0.0/16"]).url == "http://10.1.2.3:80/"
    with pytest.raises(AddressForbidden):
        pin("http://hooks.internal/", "10.2.2.3", allowed=["10.1.0.0/16"])
    assert pin("http://x/", "::ffff:10.1.2.3", allowed=["10.1.0.0/16"]).url == "http://[::ffff:a01:203]:80/"


def test_a_name_is_looked_up_once() -> None:
    asked: list[str] = []

    async def changing(name: str, _port: int) -> Sequence[str]:
        asked.append(name)
        return ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"]

    guard = AddressGuard(changing)
    assert asyncio.run(guard.pin("http://example.org/")).url == "http://93.184.216.34:80/"
    assert asked == ["example.org"]
    with pytest.raises(AddressForbidden):
        asyncio.run(guard.pin("http://example.org/"))
