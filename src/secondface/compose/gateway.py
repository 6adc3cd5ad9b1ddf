"""From settings to the HTTP application over a whole service."""

from __future__ import annotations

from ipaddress import ip_network

from fastapi import FastAPI

from secondface.compose.service import server
from secondface.errors import InvalidSetting
from secondface.gateway.app import application
from secondface.gateway.bodies import BodyLimits
from secondface.gateway.options import GatewayOptions
from secondface.gateway.service import Service
from secondface.settings import Settings


def http_service(settings: Settings) -> tuple[Service, FastAPI]:
    """A service on this machine and its application; starting the application starts the service's workers.

    Raises StorageUnavailable, InvalidSetting.
    """
    options = gateway_options(settings)
    service = server(settings, f"{address_of(settings)}/v1/files")
    return service, application(service, options)


def address_of(settings: Settings) -> str:
    """Where callers find the service."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    host = "127.0.0.1" if settings.listen_host in ("0.0.0.0", "::") else settings.listen_host  # noqa: S104 - compared
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.listen_port}"


def gateway_options(settings: Settings) -> GatewayOptions:
    """How the settings want the HTTP side. Raises InvalidSetting."""
    networks = _words(settings.private_networks)
    try:
        for network in networks:
            ip_network(network)
    except ValueError as error:
        raise InvalidSetting(f"private_networks: {error}.") from error
    return GatewayOptions(
        bodies=BodyLimits(file_bytes=settings.upload_most_mb << 20), origins=_words(settings.web_origins),
        private_networks=networks,
    )  # fmt: skip


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
