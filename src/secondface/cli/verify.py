"""`secondface verify FILE`: which marks of an AI-made file are there."""

from __future__ import annotations

from pathlib import Path

import click

from secondface.cli.commands import Command, json_option, session
from secondface.cli.exits import NEGATIVE, OK
from secondface.cli.language import gettext as _


def command() -> click.Command:
    return Command(
        "verify",
        params=[click.Argument(["file"], metavar=_("FILE")), json_option()],
        callback=click.pass_context(_verify),
        short_help=_("Say which marks of an AI-made file are there."),
        help=_(
            "Say which marks of an AI-made file are there. Ends with 1 if there is none.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface verify out.mp4"
        ),
    )


def _verify(context: click.Context, file: str, json: bool) -> int:
    from secondface.provenance.metadata import read_marks

    own = session(context)
    marks = read_marks(Path(file))
    return OK if marks else NEGATIVE
