"""`secondface demo`: a service of its own swaps the face in a clip of people who do not exist, and sends the bill."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from secondface.cli.commands import Command, Session, json_option, quiet_option, session
from secondface.cli.job_bar import JobBar, job_bar
from secondface.cli.job_views import job_object, receipt_object, show_entries, show_job_receipt
from secondface.cli.language import gettext as _
from secondface.cli.local_service import LocalService, local_service
from secondface.cli.receipts import price_of, show_tiers, tiers_object
from secondface.cli.run import set_mode
from secondface.cli.signals import cancel_on_signals
from secondface.domain.pricing import Usage

if TYPE_CHECKING:
    from secondface.spec.views import JobView, LedgerEntryView, ReceiptView


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
        help=_(
            "Swap a face in a bundled clip and print the receipt: a service starts on this machine, takes the job, and "
            "is gone again. The people shown do not exist. Needs no network."
        ),
    )  # fmt: skip


def _demo(context: click.Context, output: str, person: str, quiet: bool, json: bool) -> None:
    own = session(context)
    set_mode(own, quiet=quiet, json=json)
    price_of(own.settings.tier, own.settings.market)  # a tier without a price is said before anything starts
    own.screen.line(
        _("Giving the face of person {person} to the woman in a clip of 60 frames ...").format(person=person.upper())
    )
    with cancel_on_signals(), as_file(files("secondface.cli") / "sample") as folder, job_bar(own.screen, 1) as bar:
        bar.say(_("starting a service"))
        with local_service(own.settings) as service:
            source, target = folder / f"person_{person}.jpg", folder / "clip.mp4"
            job, receipt, entries = _job(own, service, bar, (source, target), Path(output))
    usage = _usage(receipt)
    if own.screen.mode == "json":
        own.screen.object({
            "output": output, "job": job_object(job), "receipt": receipt_object(receipt),
            "ledger": [entry.model_dump() for entry in entries], "tiers": tiers_object(usage),
        })  # fmt: skip
        return
    show_job_receipt(own.screen, receipt, job.tier)
    own.screen.heading(_("Ledger of the job"))
    show_entries(own.screen, entries, with_subject=False)
    show_tiers(own.screen, usage)
    own.screen.heading(_("The clip is {path}").format(path=Path(output).absolute()))


def _job(
    own: Session, service: LocalService, bar: JobBar, given: tuple[Path, Path], output: Path
) -> tuple[JobView, ReceiptView, list[LedgerEntryView]]:
    from secondface.sdk import Client

    source, target = given
    with Client(service.url, service.key) as client:
        bar.say(_("sending {name}").format(name=target.name))
        job = client.submit([source], target, label={"languages": _label(own)})
        bar.begin(job)
        job = client.wait(job.id, bar.tell)
        client.download(job.id, output)
        entries = [entry for entry in client.ledger().data if entry.subject == job.id]
        return job, client.receipt(job.id), entries


def _label(own: Session) -> str:
    return "zh+en" if own.settings.label == "both" else own.settings.label


def _usage(receipt: ReceiptView) -> Usage:
    """What the device did, for the prices of other tiers."""
    active_ms = sum(line.length_ms for line in receipt.lines if line.item == "device")
    return Usage(run_ms=active_ms, device_active_ms=active_ms)
