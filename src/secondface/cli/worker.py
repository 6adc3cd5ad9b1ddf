"""`secondface worker`: one worker process of a service; `secondface serve` starts its own."""

from __future__ import annotations

import signal
import sys
from types import FrameType

import click

from secondface.cli.commands import Command, session
from secondface.cli.language import gettext as _


def command() -> click.Command:
    return Command(
        "worker",
        params=[
            click.Option(["--name"], metavar=_("NAME"), help=_("Its name in leases; without it, one is made.")),
            click.Option(["--line"], type=int, hidden=True),
        ],
        callback=click.pass_context(_work),
        short_help=_("Run jobs of a service until it is told to end."),
        help=_(
            "Run jobs of a service until it is told to end: models stay loaded, small jobs share the device. "
            "`secondface serve` starts its own workers; more of them find work through the same settings.\n\n"
            "\b\n"
            "Example:\n"
            "  SECONDFACE_DATA_DIR=/srv/secondface secondface worker"
        ),
    )


def _work(context: click.Context, name: str | None, line: int | None) -> None:
    from secondface import observe
    from secondface.compose.work import worker

    if line is not None:
        observe.configure(
            sys.stderr, "warning"
        )  # its fleet keeps what it writes, and shows the end of it after a crash
    process = worker(session(context).settings, name, line)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        process.drain()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    process.run()
