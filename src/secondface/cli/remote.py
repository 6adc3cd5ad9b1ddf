"""The service that a command speaks to: from the options and settings to a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from secondface.cli.commands import Session, session
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


def asked(context: click.Context, *, json: bool) -> tuple[Session, Client]:
    """What a command about a service needs: its session, for people or as JSON, and a client. Raises InvalidOption."""
    own = session(context)
    own.screen.mode = "json" if json else "people"
    return own, service(own)


def _address(own: Session) -> str:
    return own.settings.server if own.server is None else own.server
