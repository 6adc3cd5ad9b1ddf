"""`secondface serve`: the whole service on this machine, with its workers, in one command."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from secondface.cli.commands import Command, Session, json_option, session
from secondface.cli.language import gettext as _
from secondface.confidential import open_to_others
from secondface.errors import InvalidSetting
from secondface.settings import secret_files, unknown_variables

if TYPE_CHECKING:
    from fastapi import FastAPI

    from secondface.settings import Settings

_STOP_S = 10
"""How long open requests may go on after the first signal; a second one ends them."""
_IDLE_S = 15
_BACKLOG = 512


def command() -> click.Command:
    return Command(
        "serve",
        params=[
            click.Option(["--host"], metavar=_("ADDRESS"), help=_("Address to listen on; this machine only if empty.")),
            click.Option(["--port"], type=click.IntRange(0, 65535), metavar=_("PORT"), help=_("0 takes a free one.")),
            click.Option(
                ["--new-key"], is_flag=True, help=_("Print another operator's key, for when the first one was lost.")
            ),
            json_option(),
        ],
        callback=click.pass_context(_serve),
        short_help=_("Serve jobs over HTTP, with workers on this machine."),
        help=_(
            "Serve jobs over HTTP, with workers on this machine. The first start makes an account with a budget and "
            "an operator's key, which is printed once. /openapi.json describes every address.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface serve\n"
            "  curl -H 'Authorization: Bearer KEY' -F source=@me.jpg -F target=@photo.jpg \\\n"
            "       -o out.png http://127.0.0.1:8080/v1/swap"
        ),
    )


def _serve(context: click.Context, host: str | None, port: int | None, new_key: bool, json: bool) -> None:
    from secondface.compose.gateway import address_of, http_service

    own = session(context)
    own.screen.mode = "json" if json else "people"
    asked = {"listen_host": host, "listen_port": port}
    settings = own.settings.model_copy(update={name: value for name, value in asked.items() if value is not None})
    with _listening(settings) as bound:
        settings = settings.model_copy(update={"listen_port": bound.getsockname()[1]})
        service, app = http_service(settings)
        if not service.accounts.start(lambda key: _greet(own, address_of(settings), key), new_key=new_key):
            _greet(own, address_of(settings), None)
        _run(app, settings, bound)


def _listening(settings: Settings) -> socket.socket:
    """The socket, before anything else is opened: a port that is taken is said at once. Raises InvalidSetting."""
    host, port = settings.listen_host, settings.listen_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InvalidSetting(f"Cannot listen on {host}, port {port}: {error.strerror}.") from error
    # Connections inherit it. Without it an answer's body waits 40 ms for the receipt of its headers.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


def _greet(own: Session, address: str, key: str | None) -> None:
    if own.screen.mode == "json":
        own.screen.json_line({"url": address, "key": key})
        return
    own.screen.heading(_("secondface serves on {address}").format(address=address))
    if key is not None:
        own.screen.line("  " + _("operator's key, shown this once: {key}").format(key=key), "bold")
    for name in unknown_variables(os.environ):
        own.screen.line("  " + _("{name} names no setting; is it a slip of the pen?").format(name=name))
    for path in _readable_by_others():
        own.screen.line("  " + _("{path} holds a secret, and others may read it: chmod 600.").format(path=path))
    own.screen.line("  " + _("Ctrl-C ends it."), "dim")


def _readable_by_others() -> list[Path]:
    return [path for path in secret_files() if path.exists() and open_to_others(path)]


def _run(app: FastAPI, settings: Settings, bound: socket.socket) -> None:
    import uvicorn

    from secondface.gateway.connections import PatientProtocol
    from secondface.gateway.desk import desk_of_application

    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="on", timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_STOP_S, ws="none", http=PatientProtocol,
        # Whoever calls may write such a header: it counts where the operator named the proxy that writes it.
        proxy_headers=bool(settings.trusted_proxies), forwarded_allow_ips=settings.trusted_proxies,
    )  # fmt: skip

    def ended(_number: int, _frame: Any) -> None:
        """The server hands a signal on when it has stopped; by then there is nothing left to do."""

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            desk_of_application(app).closing.set()  # streams of events would hold the server until its patience ends
            super().handle_exit(sig, frame)

    before = {number: signal.signal(number, ended) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        Server(config).run(sockets=[bound])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
