"""`secondface run`: files in, one marked file out, with the seconds that it cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

import click

from secondface.cli.commands import RunCommand, Session, json_option, quiet_option, session
from secondface.cli.language import gettext as _
from secondface.cli.logbook import append_to_log
from secondface.cli.progress import progress_bar
from secondface.cli.receipts import price_of, result_object, show_result
from secondface.cli.signals import stop_on_signals
from secondface.domain.pricing import Market, PriceRow
from secondface.errors import Cancelled, InvalidOption, OutputOccupied

if TYPE_CHECKING:
    from secondface.models.devices import DeviceChoice
    from secondface.pipeline.report import RunReport
    from secondface.settings import Settings
    from secondface.spec.schemas import RunRequest


class RunOptions(TypedDict):
    """The options of `run` as click hands them over; None where the settings or the input decide."""

    source: tuple[str, ...]
    target: str
    output: str
    faces: str
    mapping: tuple[str, ...]
    same_person: bool
    allow_no_face: bool
    restore: str | None
    pipeline: str | None
    shape: float | None
    label: str | None
    acknowledge: str | None
    codec: str | None
    crf: int | None
    preset: str | None
    quality: int | None
    lossless: bool
    device: DeviceChoice | None
    tier: str | None
    market: Market | None
    yes: bool
    quiet: bool
    json: bool


def command() -> click.Command:
    return RunCommand(
        "run",
        params=[*_file_options(), *_face_options(), *_look_options(), *_output_options(), *_machine_options()],
        callback=click.pass_context(_run),
        short_help=_("Swap or restore the faces of a picture or video."),
        help=_(
            "Swap or restore the faces of a picture or video.\n\n"
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
            "Only restore and enlarge, without a swap:\n"
            "  secondface run -t old.jpg -o out.png --pipeline denoise,face_restore,upscale"
        ),
    )


def _file_options() -> list[click.Parameter]:
    return [
        click.Option(["-s", "--source"], multiple=True, metavar=_("PICTURE..."),
                     help=_("Picture of the face to give. Several: several people, or one with --same-person.")),
        click.Option(["-t", "--target"], required=True, metavar=_("FILE"),
                     help=_("Picture or video that receives the face.")),
        click.Option(["-o", "--output"], required=True, metavar=_("FILE"),
                     help=_("Result; its ending chooses the format ("
                            ".mp4 .mov .mkv .webm, .png .jpg .webp .avif .tiff).")),
        click.Option(["-y", "--yes"], is_flag=True, help=_("Overwrite the output without asking.")),
    ]  # fmt: skip


def _face_options() -> list[click.Parameter]:
    return [
        click.Option(["--faces"], default="auto", metavar=_("RULE"),
                     help=_("Which faces: largest, all, left-to-right, numbers from the left such as 0,2, or "
                            "like:PICTURE. Without it: the largest for one source, left to right for several.")),
        click.Option(["--map", "mapping"], multiple=True, metavar=_("SOURCE=FACE"),
                     help=_("Give a source to one face: SOURCE=NUMBER from the left, or SOURCE=PICTURE of who "
                            "is replaced. May be repeated.")),
        click.Option(["--same-person"], is_flag=True,
                     help=_("All source pictures show one person; combine them.")),
        click.Option(["--allow-no-face"], is_flag=True,
                     help=_("Write the output unchanged, but marked, where the target has no face.")),
    ]  # fmt: skip


def _look_options() -> list[click.Parameter]:
    return [
        click.Option(["--restore"], metavar="off|auto|0..1",
                     help=_("How much the face is restored; auto: as much as it needs to be as sharp as the target.")),
        click.Option(["--shape"], type=click.FloatRange(0, 1), metavar="0..1",
                     help=_("How far the features move toward the source's proportions.")),
        click.Option(["--pipeline"], metavar=_("STEPS|FILE"),
                     help=_("Your own steps, separated by commas, or a .yaml or .json file; see `secondface steps`.")),
        click.Option(["--label"], type=click.Choice(["zh", "en", "both", "off"]),
                     help=_("Language of the visible label. off needs --acknowledge; the metadata marks always stay.")),
        click.Option(["--acknowledge"], metavar=_("TEXT"),
                     help=_("With --label off: who labels the result elsewhere, and how. It is kept in the log.")),
    ]  # fmt: skip


def _output_options() -> list[click.Parameter]:
    return [
        click.Option(["--codec"], type=click.Choice(["h264", "hevc", "vp9", "av1"]),
                     help=_("Video codec; chosen by the container and the input if left out.")),
        click.Option(["--crf"], type=click.IntRange(0, 63), metavar="0..63",
                     help=_("Video quality: smaller is better and larger; 18 looks like the input.")),
        click.Option(["--preset"], metavar=_("NAME"), help=_("Speed of the video encoder, such as veryfast or slow.")),
        click.Option(["--quality"], type=click.IntRange(1, 100), metavar="1..100", help=_("Picture quality.")),
        click.Option(["--lossless"], is_flag=True, help=_("Lossless WebP; PNG and TIFF are always lossless.")),
    ]  # fmt: skip


def _machine_options() -> list[click.Parameter]:
    return [
        click.Option(["--device"], type=click.Choice(["auto", "cpu", "cuda", "tensorrt"]),
                     help=_("Where the models run; `secondface doctor` says what works here.")),
        click.Option(["--tier"], metavar=_("NAME"), help=_("Device class whose price is shown: cpu, t4, a10g, v100.")),
        click.Option(["--market"], type=click.Choice(["on_demand", "spot"]), help=_("Market whose price is shown.")),
        quiet_option(),
        json_option(),
    ]  # fmt: skip


def _run(context: click.Context, **raw: Any) -> None:
    own, options = session(context), cast("RunOptions", raw)
    set_mode(own, quiet=options["quiet"], json=options["json"])
    settings = own.settings
    price = price_of(options["tier"] or settings.tier, options["market"] or settings.market)
    request = request_of(options, settings)
    _ask_before_overwriting(request.output, own, yes=options["yes"])
    report = execute(own, request, price, device=options["device"])
    if own.screen.mode == "json":
        own.screen.object(result_object(report, price))
    else:
        show_result(own.screen, report, price)


def set_mode(own: Session, *, quiet: bool, json: bool) -> None:
    """Who reads the output: --quiet and --json choose. Raises UsageError for both at once."""
    if quiet and json:
        raise click.UsageError(_("--quiet and --json exclude each other."))
    own.screen.mode = "quiet" if quiet else "json" if json else "people"


def execute(own: Session, request: RunRequest, price: PriceRow, device: DeviceChoice | None = None) -> RunReport:
    """Run a request with a bar; a signal cancels it. Raises Cancelled with the signal, and all errors of a run."""
    from secondface.compose import local

    with stop_on_signals() as stop, progress_bar(own.screen, price) as tell:
        try:
            report = local(own.settings, device=device).run(request, on_progress=tell, cancel=stop)
        except Cancelled as cancelled:
            cancelled.facts["signal"] = stop.received
            raise
    if report.label_waiver:
        append_to_log(own.settings.log_file, f"{report.produce_id} has no visible label: {report.label_waiver}")
    return report


def request_of(options: RunOptions, settings: Settings) -> RunRequest:
    """The options as the request that the pipeline understands. Raises BadRequest errors."""
    from secondface.spec.schemas import RunRequest

    restore = options["restore"] or settings.restore
    return RunRequest.of_files(
        options["source"],
        options["target"],
        options["output"],
        same_person=options["same_person"],
        faces=options["faces"],
        mapping=options["mapping"],
        pipeline=_pipeline(options, restore),
        restore="auto" if options["shape"] is not None or options["pipeline"] else _restore(restore),
        label=_label(options, settings.label),
        video={"codec": options["codec"], "crf": options["crf"], "preset": options["preset"]},
        still={"quality": options["quality"], "lossless": options["lossless"]},
        allow_no_face=options["allow_no_face"],
        limits=settings.limits(),
    )


def _restore(word: str) -> str | float:
    if word in ("off", "auto"):
        return word
    try:
        strength = float(word)
    except ValueError:
        strength = -1.0
    if not 0 <= strength <= 1:
        raise InvalidOption(f"--restore {word!r}: write off, auto, or a number from 0 to 1.")
    return strength


def _pipeline(options: RunOptions, restore: str) -> str | None:
    """--pipeline as given; --shape turns into the default pipeline with that parameter."""
    shape = options["shape"]
    if options["pipeline"]:
        if shape is not None:
            raise InvalidOption("--shape belongs to the default pipeline; in your own, write face_swap:shape=N.")
        if options["restore"]:
            raise InvalidOption(
                "--restore belongs to the default pipeline; in your own, write face_restore:strength=N."
            )
        return options["pipeline"]
    if shape is None:
        return None
    if not options["source"]:
        raise InvalidOption("--shape needs a source picture (-s).")
    swap = f"face_swap:shape={shape}"
    return swap if _restore(restore) == "off" else f"{swap},face_restore:strength={restore}"


def _label(options: RunOptions, usual: str) -> dict[str, object] | None:
    """What the options say of the label, else the settings; None leaves it to a pipeline."""
    language, acknowledgement = options["label"], options["acknowledge"]
    if language == "off":
        if not acknowledgement:
            raise InvalidOption("--label off needs --acknowledge TEXT: who labels the result elsewhere, and how.")
        return {"visible": False, "acknowledgement": acknowledgement}
    if acknowledgement:
        raise InvalidOption("--acknowledge belongs to --label off.")
    if language is None and options["pipeline"]:
        return None
    word = language or usual
    return {"languages": "zh+en" if word == "both" else word}


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
