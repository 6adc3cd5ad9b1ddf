"""`secondface run`: files in, marked files out, with the seconds that they cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from secondface.cli.commands import SectionedCommand, Session, session
from secondface.cli.language import gettext as _
from secondface.cli.logbook import note_waiver
from secondface.cli.progress import progress_bar
from secondface.cli.receipts import price_of, result_object, show_result
from secondface.cli.remote import asks_a_service
from secondface.cli.run_options import RunOptions, request_of, sections
from secondface.cli.signals import stop_on_signals
from secondface.domain.pricing import PriceRow
from secondface.errors import InvalidOption, OutputOccupied

if TYPE_CHECKING:
    from secondface.models.devices import DeviceChoice
    from secondface.pipeline.report import RunReport
    from secondface.spec.schemas import RunRequest


def command() -> click.Command:
    return SectionedCommand(
        "run",
        sections=sections(),
        callback=click.pass_context(_run),
        short_help=_("Swap or restore the faces of pictures and videos."),
        help=_(
            "Swap or restore the faces of pictures and videos.\n\n"
            "\b\n"
            "One face:\n"
            "  secondface run -s me.jpg -t clip.mp4 -o out.mp4\n"
            "Several pictures of the same person give a better likeness:\n"
            "  secondface run -s me1.jpg me2.jpg --same-person -t clip.mp4 -o out.mp4\n"
            "Two people, from left to right:\n"
            "  secondface run -s ann.jpg bob.jpg -t two.mp4 -o out.mp4\n"
            "Two people, each onto a certain face:\n"
            "  secondface run -s ann.jpg bob.jpg -t two.mp4 -o out.mp4 --map ann.jpg=1 --map bob.jpg=0\n"
            "Everyone in the picture becomes one person:\n"
            "  secondface run -s me.jpg -t group.jpg -o out.png --faces all\n"
            "Ten seconds of a clip, half as large, for the web:\n"
            "  secondface run -s me.jpg -t clip.mov -o out.mp4 --from 00:01:00 --to 00:01:10 --scale 50%\n"
            "A folder; run it again to do only what is not done yet:\n"
            "  secondface run -s me.jpg -t clips/ -o done/\n"
            "The same on a service, which charges by the second:\n"
            "  secondface --server http://gpu.example:8080 run -s me.jpg -t clip.mp4 -o out.mp4 --max-cost 0.30\n"
            "Only restore and enlarge, without a swap:\n"
            "  secondface run -t old.jpg -o out.png --pipeline denoise,face_restore,upscale"
        ),
    )


def _run(context: click.Context, **raw: Any) -> int | None:
    from secondface.cli.folder_run import run_folder
    from secondface.cli.inputs import gather

    own, options = session(context), cast("RunOptions", raw)
    set_mode(own, quiet=options["quiet"], json=options["json"])
    settings = own.settings
    gathered = gather(options["target"], options["output"])
    if asks_a_service(own):
        from secondface.cli.remote_run import run_remotely

        return run_remotely(own, options, gathered)
    require_no_service_options(options)
    price = price_of(options["tier"] or settings.tier, options["market"] or settings.market)
    if gathered.into_folder:
        return run_folder(own, options, gathered, price)
    request = request_of(options, settings, gathered.files[0], options["output"])
    _ask_before_overwriting(request.output, own, yes=options["yes"])
    report = execute(own, request, price, device=options["device"])
    if own.screen.mode == "json":
        own.screen.object(result_object(report, price))
    else:
        show_result(own.screen, report, price)
    return None


def set_mode(own: Session, *, quiet: bool, json: bool) -> None:
    """Who reads the output: --quiet and --json choose. Raises UsageError for both at once."""
    if quiet and json:
        raise click.UsageError(_("--quiet and --json exclude each other."))
    own.screen.mode = "quiet" if quiet else "json" if json else "people"


def require_no_service_options(options: RunOptions) -> None:
    """Refuse what only a service can do, instead of leaving it out in silence. Raises InvalidOption."""
    for name in ("max_cost", "priority", "deadline", "likeness_confirmed", "one_time_code", "detach"):
        if options[name] is not None and options[name] is not False:  # an empty word and a 0 were said too
            raise InvalidOption(f"--{name.replace('_', '-')} is for a service; give --server.", option=name)


def execute(own: Session, request: RunRequest, price: PriceRow, device: DeviceChoice | None = None) -> RunReport:
    """Run a request with a bar; a signal cancels it. Raises Cancelled with the signal, and all errors of a run."""
    from secondface.media.caged_task import start_inspection

    with stop_on_signals() as stop, progress_bar(own.screen, price) as tell:
        start_inspection()  # it loads its libraries while this process loads its own
        from secondface.compose import local

        report = local(own.settings, device=device).run(request, on_progress=tell, cancel=stop)
    note_waiver(own.settings.log_file, report)
    return report


def _ask_before_overwriting(output: Path, own: Session, *, yes: bool) -> None:
    if yes or not _is_there(output):
        return
    if own.screen.mode == "people" and sys.stdin.isatty() and own.screen.err.is_terminal:
        question = _("{path} exists already. Overwrite it?").format(path=output)
        if click.confirm(question, err=True):
            return
    raise OutputOccupied(str(output), path=str(output))


def _is_there(output: Path) -> bool:
    try:
        return output.is_file()
    except OSError:
        # A name that cannot be is refused, with its reason, when the output is looked at.
        return False
