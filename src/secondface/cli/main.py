"""The door of the command line: language, commands, and every way in which a call can end."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper

import click

from secondface import __version__, observe
from secondface.cli.commands import Commands, Session, service_options, shared_options
from secondface.cli.exits import CLOSED_PIPE, OK, USAGE, exit_code
from secondface.cli.language import asked_for, choose_language, speak
from secondface.cli.language import gettext as _
from secondface.cli.logbook import append_to_log
from secondface.cli.screen import Screen, open_closed_streams
from secondface.errors import Cancelled, InternalFault, InvalidSetting, SecondfaceError


def build() -> click.Group:
    """All commands, with help in the language that was chosen."""
    from secondface.cli import (
        billing,
        config,
        demo,
        doctor,
        jobs,
        keys,
        models,
        protected,
        quote,
        reviews,
        run,
        serve,
        steps,
        verify,
        worker,
    )

    return Commands(
        "secondface",
        params=[
            *shared_options(),
            *service_options(),
            click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
                         help=_("Print the version.")),
        ],
        commands=[
            run.command(), quote.command(), demo.command(), steps.command(), models.group(), doctor.command(),
            config.group(), verify.command(), serve.command(), worker.command(),
            jobs.group(), reviews.group(), keys.group(), protected.group(), *billing.commands(),
        ],
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        no_args_is_help=True,
        help=_(
            "A second face, paid by the second: swaps and restores faces in pictures and video, on this machine.\n\n"
            "\b\n"
            "Examples:\n"
            "  secondface demo\n"
            "  secondface run -s me.jpg -t clip.mp4 -o out.mp4\n"
            "  secondface --source me.jpg --target photo.jpg --output out.png\n\n"
            "Every result carries a visible label, an invisible watermark, metadata and a signature that say it was "
            "made by AI."
        ),
        epilog=_("Exit codes: 0 done, 1 answer no, 2 usage, 3 request, 4 file, 5 face, 6 our fault, 7 some files "
                 "failed, 8 key or budget, 9 job, 10 not allowed to be used, 130 cancelled."),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; the result is the exit code."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the run.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    wanted, broken = _wanted_language(args)
    language = choose_language(wanted, os.environ)
    speak(language)
    own = Session(language, Screen("json" if "--json" in args else "people"))
    if "--debug" in args:
        observe.configure(sys.stderr, "debug")
    try:
        if broken and not {"-h", "--help", "--version"} & set(args):
            return _show_error(broken, own)
        return _run(args, own)
    except click.exceptions.Exit as gone:
        # Nobody reads the problem that was to be told.
        return gone.exit_code


def _run(args: Sequence[str], own: Session) -> int:
    try:
        code: object = build().main(args, prog_name="secondface", standalone_mode=False, obj=own)
    except click.UsageError as error:
        code = _show_usage(error, own.screen)
    except SystemExit:
        # click's own way out when nobody reads a help text.
        code = CLOSED_PIPE
    except (click.Abort, KeyboardInterrupt):
        code = _show_error(Cancelled(), own)
    except SecondfaceError as error:
        code = _show_error(error, own)
    except Exception as error:  # noqa: BLE001  the last door: whatever comes here is our bug and must say so
        code = _show_fault(error, own, debug="--debug" in args)
    return code if isinstance(code, int) else OK


def _wanted_language(args: Sequence[str]) -> tuple[str, InvalidSetting | None]:
    """What --lang says, else the settings; a broken configuration is reported in the language of the system."""
    if asked := asked_for(args):
        return asked, None
    from secondface.settings import load_settings

    try:
        return load_settings().lang, None
    except InvalidSetting as error:
        return "auto", error


def _print_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"secondface {__version__}")
        context.exit()


def _show_error(error: SecondfaceError, own: Session) -> int:
    own.screen.problem(error)
    return exit_code(error)


def _show_usage(error: click.UsageError, screen: Screen) -> int:
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        screen.complain(message)
        return USAGE
    if screen.mode == "json":
        screen.object({"error": {"code": "usage", "title": message, "exit_code": USAGE}})
        return USAGE
    if error.ctx is not None:
        screen.complain(error.ctx.get_usage())
        hint = _("`{command} --help` explains each option with examples.").format(command=error.ctx.command_path)
        message = f"{message}\n{hint}"
    screen.complain(_("error: {title}").format(title=message))
    return USAGE


def _show_fault(error: Exception, own: Session, *, debug: bool) -> int:
    details = "".join(traceback.format_exception(error))
    try:
        log_file = own.settings.log_file
        append_to_log(log_file, details)
        hint = _("Details were added to {path}.").format(path=log_file)
    except SecondfaceError:
        hint = _("Run it again with --debug to see the details.")
    fault = InternalFault(f"{type(error).__name__}: {error}")
    own.screen.problem(fault, hint)
    if debug:
        own.screen.complain(details)
    return exit_code(fault)
