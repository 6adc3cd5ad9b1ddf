"""What settings make of the HTTP side: addresses, limits, networks."""

from __future__ import annotations

from typing import Any

import pytest

from secondface.compose.gateway import address_of, gateway_options
from secondface.errors import InvalidSetting
from secondface.settings import Settings


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({}, "http://127.0.0.1:8080"),
        ({"listen_host": "0.0.0.0", "listen_port": 9}, "http://127.0.0.1:9"),
        ({"listen_host": "::1", "listen_port": 9}, "http://[::1]:9"),
        ({"public_url": "https://faces.example/"}, "https://faces.example"),
    ],
)
def test_where_callers_find_the_service(settings: dict[str, Any], address: str) -> None:
    assert address_of(Settings(**settings)) == address


def test_limits_come_from_settings() -> None:
    options = gateway_options(
        Settings(upload_most_mb=3, web_origins="https://a.example, https://b.example", private_networks="10.1.0.0/16,")
    )
    assert options.bodies.file_bytes == 3 << 20
    assert options.origins == ("https://a.example", "https://b.example")
    assert options.private_networks == ("10.1.0.0/16",)
    plain = gateway_options(Settings())
    assert (plain.origins, plain.private_networks) == ((), ())


@pytest.mark.parametrize("networks", ["10.0.0.1/8", "everything", "10.0.0.0/8;11.0.0.0/8"])
def test_a_network_that_is_none_is_refused(networks: str) -> None:
    with pytest.raises(InvalidSetting, match="private_networks"):
        gateway_options(Settings(private_networks=networks))


@pytest.mark.parametrize("url", ["faces.example", "ftp://faces.example", "https://faces.example?x=1"])
def test_a_public_url_is_one(url: str) -> None:
    with pytest.raises(ValueError, match="public_url"):
        Settings(public_url=url)
