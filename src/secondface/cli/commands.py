"""The shape of the command line: what all commands share, and how arguments are read before click sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import click

from secondface.cli.language import Language
from secondface.cli.language import gettext as _
from secondface.cli.screen import Screen

if TYPE_CHECKING:
    from secondface.settings import Settings

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@dataclass
class Session:
    """What one call of the command carries from option to option: its screen, language and settings."""

    language: Language
    screen: Screen = field(default_factory=Screen)

    @cached_property
    def settings(self) -> Settings:
        """Read when first needed, so that --help works with a broken configuration. Raises InvalidSetting."""
        from secondface.settings import load_settings

        return load_settings()


def session(context: click.Context) -> Session:
    """The Session of a call."""
    found = context.find_object(Session)
    if found is None:
        raise LookupError("commands are started by secondface.cli.main.main, which gives them a Session")
    return found


def shared_options() -> list[click.Parameter]:
    """Options that every command takes; they are read before parsing, here they only exist."""
    return [
        click.Option(
            ["--lang"], type=click.Choice(["en", "zh"]), expose_value=False, help=_("Language of messages: en or zh.")
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            help=_("Log events to stderr as JSON lines, and show the traceback of a fault."),
        ),
    ]


def json_option() -> click.Option:
    return click.Option(["--json"], is_flag=True, help=_("Print one JSON object and nothing else."))


def quiet_option() -> click.Option:
    return click.Option(["-q", "--quiet"], is_flag=True, help=_("Print nothing but problems."))


class Command(click.Command):
    """A command with the shared options and -h."""

    def __init__(self, name: str, *, params: Sequence[click.Parameter] = (), **attrs: object) -> None:
        super().__init__(
            name, params=[*params, *shared_options()], context_settings=_CONTEXT, **attrs  # type: ignore[arg-type]
        )  # fmt: skip


def subgroup(name: str, text: str, commands: Sequence[click.Command]) -> click.Group:
    """A word that only holds commands, such as `models`."""
    return click.Group(
        name, help=text, commands=commands, params=shared_options(), context_settings=_CONTEXT, no_args_is_help=True
    )


class RunCommand(Command):
    """`-s a.jpg b.jpg` is read as `-s a.jpg -s b.jpg`, so that a shell pattern works."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread_sources(args))


class Commands(click.Group):
    """The group; options without a command are those of `run`, the container's form."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, name_run(args))


def spread_sources(args: Sequence[str]) -> list[str]:
    """Repeat -s before each further word that follows it, up to the next option."""
    spread: list[str] = []
    name = ""
    fresh = False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            name = arg if arg in ("-s", "--source") else ""
            fresh = True
        elif name and not fresh:
            spread.append(name)
        else:
            fresh = False
        spread.append(arg)
    return spread


def name_run(args: Sequence[str]) -> list[str]:
    """Put `run` in front of the first option that does not belong to the group itself."""
    at = 0
    while at < len(args) and args[at].startswith("-"):
        if args[at] in ("-h", "--help", "--version"):
            return list(args)
        if args[at] == "--lang":
            at += 2
        elif args[at].startswith("--lang=") or args[at] == "--debug":
            at += 1
        else:
            return [*args[:at], "run", *args[at:]]
    return list(args)
