"""`secondface demo`: swaps the face in the bundled clip of a person who does not exist, and prints the receipt."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import click

from secondface.cli.commands import Command, json_option, quiet_option, session
from secondface.cli.language import gettext as _
from secondface.cli.receipts import price_of, result_object, show_result, show_tiers, tiers_object, usage_of
from secondface.cli.run import execute, set_mode


def command() -> click.Command:
    return Command(
        "demo",
        params=[
            click.Option(["-o", "--output"], default="secondface-demo.mp4", show_default=True, metavar=_("FILE"),
                         help=_("Where the result goes; it is overwritten.")),
            click.Option(["--person"], type=click.Choice(["a", "b"]), default="a", show_default=True,
                         help=_("Which of the two bundled faces is given.")),
            quiet_option(),
            json_option(),
        ],
        callback=click.pass_context(_demo),
        short_help=_("Swap a face in a bundled clip and print the receipt."),
        help=_("Swap a face in a bundled clip and print the receipt. The people shown do not exist. Needs no network."),
    )  # fmt: skip


def _demo(context: click.Context, output: str, person: str, quiet: bool, json: bool) -> None:
    from secondface.spec.schemas import RunRequest

    own = session(context)
    set_mode(own, quiet=quiet, json=json)
    with as_file(files("secondface.cli") / "sample") as folder:
        own.screen.line(
            _("Giving the face of person {person} to the woman in a clip of 60 frames ...").format(
                person=person.upper()
            )
        )
        request = RunRequest.of_files([folder / f"person_{person}.jpg"], folder / "clip.mp4", Path(output))
        report = execute(own, request, price := price_of(own.settings.tier, own.settings.market))
    usage = usage_of(report)
    if own.screen.mode == "json":
        own.screen.object({**result_object(report, price), "tiers": tiers_object(usage)})
        return
    show_result(own.screen, report, price)
    show_tiers(own.screen, usage)
    own.screen.heading(_("The clip is {path}").format(path=Path(output).absolute()))
