"""Where words go: for people (colour, panels, a bar), for scripts (only problems), for programs (one JSON object)."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Literal, cast

import click
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from secondface.cli.details import said
from secondface.cli.exits import CLOSED_PIPE, exit_code
from secondface.cli.language import gettext as _
from secondface.errors import Cancelled, DiskFull, SecondfaceError

Mode = Literal["people", "quiet", "json"]
_ENDLESS = 1_000_000
ACCENT = "#d9432f"
"""Vermilion, the colour of a seal."""


class _Pipe(Console):
    """A console that ends the command with its own exit code when nobody reads any more (`| head`)."""

    def on_broken_pipe(self) -> None:
        self.give_up()
        raise click.exceptions.Exit(CLOSED_PIPE)

    def give_up(self) -> None:
        """Write to nowhere from now on; else Python complains about the stream once more when it flushes on exit."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


class _Remarks:
    """A text stream for what may go unread: a terminal that is gone changes nothing of what is being done."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def open_closed_streams() -> None:
    """Give the standard streams that the caller closed a place to go; else the next file opened takes their number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            with contextlib.suppress(OSError):
                os.fstat(number)
                continue
            # The lowest free number is taken, and all below are open by now.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


class Screen:
    """Results go to stdout; progress and problems to stderr, so that a pipe receives results alone."""

    def __init__(self, mode: Mode = "people") -> None:
        self.mode: Mode = mode
        self.out = _Pipe(highlight=False, markup=False, soft_wrap=True)
        if not self.out.file.isatty():
            self.out.width = _ENDLESS  # a pipe or a file has no edge: what is cut or broken there cannot be used
        self.err = Console(file=cast("IO[str]", _Remarks(sys.stderr)), highlight=False, markup=False)

    def object(self, value: Mapping[str, object]) -> None:
        """The one JSON object of a run with --json."""
        self._result(json.dumps(value, ensure_ascii=False, indent=2))

    def json_line(self, value: Mapping[str, object]) -> None:
        """One of several JSON objects, each on a line of its own."""
        self._result(json.dumps(value, ensure_ascii=False, default=str))

    def line(self, text: str, style: str = "") -> None:
        if self.mode == "people":
            self._result(Text(text, style=style))

    def complain(self, text: str) -> None:
        """A line on stderr. That nobody can read it changes nothing of what happened."""
        with contextlib.suppress(OSError):
            click.echo(text, err=True)

    def heading(self, text: str) -> None:
        self.line(text, f"bold {ACCENT}")

    def rows(
        self, rows: Sequence[Sequence[str]], right: Sequence[int] = (), dim: Sequence[int] = (),
        whole: Sequence[int] = (),
    ) -> None:  # fmt: skip
        """Aligned columns without lines: `right` figures, `dim` side remarks, `whole` what is copied from there."""
        if self.mode != "people" or not rows:
            return
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for column in range(len(rows[0])):
            table.add_column(
                justify="right" if column in right else "left",
                style="dim" if column in dim else "",
                overflow="fold",
                no_wrap=column in right or column in whole,
            )
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self._result(table, soft_wrap=False)

    def _result(self, what: str | Text | Table, *, soft_wrap: bool = True) -> None:
        try:
            self.out.print(what, soft_wrap=soft_wrap)
        except OSError as error:
            self.out.give_up()
            self.mode = "quiet"
            if error.errno == errno.EIO:
                # The terminal was closed.
                raise click.exceptions.Exit(CLOSED_PIPE) from error
            raise DiskFull(f"stdout: {error.strerror}") from error

    def note(self, text: str) -> None:
        """A side remark on stderr, for people only."""
        if self.mode == "people":
            self.err.print(Text(text, style="yellow"), soft_wrap=True)

    def problem(self, error: SecondfaceError, hint: str = "") -> None:
        """What went wrong, its code, what to do about it, and where to read more."""
        title, remedy, detail = _(type(error).title()), _(_remedy(error)), said(error.detail)
        if self.mode == "json":
            self.object({"error": problem_object(error, hint)})
            return
        where = _("code {code}, exit {exit} · docs/errors/{code}.md").format(code=error.code, exit=exit_code(error))
        if not self.err.is_terminal:
            # A log or a pipe wants lines that can be searched, not a box.
            lines = [_("error: {title}").format(title=title), detail, remedy, hint, where]
            self.complain("\n  ".join(line for line in lines if line))
            return
        body = Text(title, style="bold")
        for text, style in ((detail, ""), (remedy, "green"), (hint, "yellow"), (where, "dim")):
            if text:
                body.append("\n" + text, style=f"not bold {style}".strip())
        heading = _("stopped") if isinstance(error, Cancelled) else _("secondface could not do it")
        self.err.print(Panel(body, title=heading, border_style=ACCENT, padding=(0, 1)))


def _remedy(error: SecondfaceError) -> str:
    """A service advises in the words of its API; here those of the command line serve, unless it knows better."""
    api = type(error).advice("api")
    return type(error).advice("command") if error.facts.get("remedy") == api else error.remedy


def problem_object(error: SecondfaceError, hint: str = "") -> dict[str, object]:
    """An error as the JSON modes print it."""
    return {
        "code": error.code,
        "title": _(type(error).title()),
        "detail": said(error.detail),
        "remedy": _(_remedy(error)),
        "hint": hint,
        "fault": error.fault,
        "retryable": error.retryable,
        "exit_code": exit_code(error),
    }
