"""`secondface verify FILE`: which marks of an AI-made file are there."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from secondface.cli.commands import Command, json_option, session
from secondface.cli.exits import NEGATIVE, OK
from secondface.cli.language import gettext as _

if TYPE_CHECKING:
    from secondface.provenance.aigc import AigcLabel


def command() -> click.Command:
    return Command(
        "verify",
        params=[click.Argument(["file"], metavar=_("FILE")), json_option()],
        callback=click.pass_context(_verify),
        short_help=_("Say which marks of an AI-made file are there."),
        help=_(
            "Say which marks of an AI-made file are there: the AIGC label and the IPTC digital source type. "
            "Ends with 1 if none says so.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface verify out.mp4"
        ),
    )


def _verify(context: click.Context, file: str, json: bool) -> int:
    from secondface.compose import marks_of

    own, path = session(context), Path(file)
    marks = marks_of(path)
    if json:
        own.screen.object({"file": str(path), "says_ai_made": marks.says_ai_made, **asdict(marks)})
    answer = (
        _("{path} says that it was made by AI.") if marks.says_ai_made else _("{path} does not say that AI made it.")
    )
    own.screen.heading(answer.format(path=path))
    label, missing = marks.label, _("not there")
    own.screen.rows([
        ("  " + _("AIGC label"), _("there") if label else missing),
        *(_label_rows(label) if label else ()),
        ("  " + _("digital source type"), marks.digital_source_type or missing),
        *(("  " + _("problem"), problem) for problem in marks.problems),
    ])  # fmt: skip
    return OK if marks.says_ai_made else NEGATIVE


def _label_rows(label: AigcLabel) -> list[tuple[str, str]]:
    return [
        ("  " + _("made by"), label.content_producer or _("not named")),
        ("  " + _("id"), label.produce_id or _("none")),
    ]
