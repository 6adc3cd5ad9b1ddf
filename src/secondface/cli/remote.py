"""The service that a command speaks to: from the options and settings to a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondface.cli.commands import Session
from secondface.errors import InvalidOption

if TYPE_CHECKING:
    from secondface.sdk import Client


def asks_a_service(own: Session) -> bool:
    """Whether the work is done by a service, and not by this machine."""
    return bool(_address(own))


def service(own: Session) -> Client:
    """A client of the service that was named. Raises InvalidOption where none was."""
    from secondface.sdk import Client

    address = _address(own)
    if not address:
        raise InvalidOption(
            "No service is named: give --server http://HOST:PORT, or set SECONDFACE_SERVER.", option="server"
        )
    return Client(address, own.settings.api_key.get_secret_value() if own.key is None else own.key)


def _address(own: Session) -> str:
    return own.settings.server if own.server is None else own.server
