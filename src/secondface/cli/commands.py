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
    return click.Option(["--json"], is_flag=True, help=_("Print JSON and nothing else."))


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


@dataclass(frozen=True)
class Section:
    """Options that belong together, under a heading of their own in --help."""

    title: str
    options: list[click.Parameter]


class SectionedCommand(Command):
    """A command with many options: its --help shows them in sections."""

    def __init__(self, name: str, *, sections: Sequence[Section], **attrs: object) -> None:
        self._sections = sections
        super().__init__(name, params=[option for each in sections for option in each.options], **attrs)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections first, then the options that every command has."""
        shown = {id(option) for each in self._sections for option in each.options}
        rest = [option for option in self.get_params(ctx) if id(option) not in shown]
        for section in (*self._sections, Section(_("Always"), rest)):
            rows = [row for option in section.options if (row := option.get_help_record(ctx))]
            with formatter.section(section.title):
                formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-s a.jpg b.jpg` is read as `-s a.jpg -s b.jpg`, so that what a shell makes of a pattern works."""
        return super().parse_args(ctx, repeat_options(args))


class Commands(click.Group):
    """The group; options without a command are those of `run`, the container's form."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, name_run(args))


_REPEATED = ("-s", "--source", "-t", "--target")


def repeat_options(args: Sequence[str]) -> list[str]:
    """Repeat -s and -t before each further word that follows them, up to the next option."""
    repeated: list[str] = []
    name = ""
    fresh = False
    for arg in args:
        if arg.startswith("-") and arg != "-" and not (name and fresh):
            name = arg if arg in _REPEATED else ""
            fresh = True
        elif name and not fresh:
            repeated.append(name)
        else:
            fresh = False
        repeated.append(arg)
    return repeated


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
