"""`secondface verify FILE`: which marks of an AI-made file are there, whether they hold, and who signed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from secondface.cli.commands import Command, json_option, session
from secondface.cli.details import said
from secondface.cli.exits import NEGATIVE, OK
from secondface.cli.language import gettext as _

if TYPE_CHECKING:
    from secondface.provenance.verdicts import Verification

_Rows = Iterator[tuple[str, str]]


def command() -> click.Command:
    return Command(
        "verify",
        params=[
            click.Argument(["file"], metavar=_("FILE")),
            click.Option(
                ["--roots"], metavar=_("PEM"),
                help=_("Authorities whose signatures count as trusted, beside those of this machine and its settings."),
            ),
            json_option(),
        ],
        callback=click.pass_context(_verify),
        short_help=_("Say which marks of an AI-made file are there, and who signed it."),
        help=_(
            "Say which marks of an AI-made file are there and whether each is intact: the invisible watermark, the "
            "metadata (AIGC label, IPTC digital source type) and the signature (C2PA), and who signed. Nothing is "
            "asked of the network. Ends with 1 if no mark says so, or if one was altered.\n\n"
            "\b\n"
            "Examples:\n"
            "  secondface verify out.mp4\n"
            "  secondface verify out.jpg --roots partner.pem"
        ),
    )  # fmt: skip


def _verify(context: click.Context, file: str, roots: str | None, json: bool) -> int:
    from secondface.compose import verify

    own, path = session(context), Path(file)
    found = verify(path, own.settings, roots)
    if json:
        own.screen.object({
            "file": str(path), "says_ai_made": found.ai_made, "sound": found.is_sound, "job": found.job,
            **asdict(found),
        })  # fmt: skip
    answer = _("{path} says that it was made by AI.") if found.ai_made else _("{path} does not say that AI made it.")
    own.screen.heading(answer.format(path=path))
    own.screen.rows([("  " + name, value) for name, value in _rows(found)])
    return OK if found.is_sound else NEGATIVE


def _rows(found: Verification) -> _Rows:
    words = {
        "intact": _("intact"), "present": _("there"), "altered": _("ALTERED"), "absent": _("not there"),
        "impossible": _("not possible in this format"),
    }  # fmt: skip
    yield _("invisible watermark"), words[found.layers["watermark"]]
    if found.watermark:
        yield _("watermark's id"), found.watermark
    yield _("metadata"), words[found.layers["metadata"]]
    yield from _label_rows(found)
    yield _("signature"), words[found.layers["signature"]]
    yield from _signature_rows(found)
    for problem in found.problems:
        yield _("problem"), said(problem)


def _label_rows(found: Verification) -> _Rows:
    label = found.label
    yield _("AIGC label"), _("there") if label else _("not there")
    if label:
        yield _("made by"), label.content_producer or _("not named")
        yield _("id"), label.produce_id or _("none")
    yield _("digital source type"), found.digital_source_type or _("not there")


def _signature_rows(found: Verification) -> _Rows:
    if found.signed is None:
        return
    verdicts = {
        "trusted": _("trusted"), "unknown": _("valid, unknown signer"),
        "invalid": _("INVALID: the file is not what was signed"),
    }  # fmt: skip
    yield _("signer"), verdicts[found.signed]
    signed = found.credentials
    if signed is None:
        return
    yield _("signed by"), ", ".join(each for each in (signed.signer, signed.issuer) if each) or _("not named")
    if signed.signed_at:
        yield _("signed at"), signed.signed_at
    yield _("signed with"), signed.generator or _("not named")
    if found.job:
        yield _("job"), found.job
    for failure in signed.failures:
        yield _("does not hold"), failure
