"""`secondface doctor --security`: which guards of a service on this machine are on, which are not, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from secondface.cli import guards_of_books, guards_of_doors, guards_of_files
from secondface.cli.commands import Session
from secondface.cli.details import said
from secondface.cli.exits import NEGATIVE, OK
from secondface.cli.guard import Check, Guard, GuardState
from secondface.cli.language import gettext as _
from secondface.errors import SecondfaceError

_SIGNS: dict[GuardState, str] = {"on": "✓", "note": "·", "off": "✗"}


def checks() -> Sequence[tuple[str, Check]]:
    """Every check with its topic, in the order in which they are shown. A new guard is a row here."""
    return (
        (_("address"), guards_of_doors.listening),
        (_("encryption"), guards_of_doors.encryption),
        (_("proxies"), guards_of_doors.proxies),
        (_("web pages"), guards_of_doors.web_pages),
        (_("private networks"), guards_of_doors.private_networks),
        (_("virus scan"), guards_of_doors.scanner),
        (_("cage"), guards_of_doors.cage),
        (_("cage of jobs"), guards_of_doors.cage_of_jobs),
        (_("user"), guards_of_files.user),
        (_("data folder"), guards_of_files.data_folder),
        (_("secrets"), guards_of_files.secrets),
        (_("uploads"), guards_of_files.uploads),
        (_("debugging"), guards_of_files.debugging),
        (_("database"), guards_of_books.database),
        (_("operators' keys"), guards_of_books.operators_keys),
        (_("visible label"), guards_of_books.visible_label),
        (_("second approval"), guards_of_books.second_approval),
    )


def guards_of(own: Session) -> Iterator[Guard]:
    """All guards, each on its own: a check that fails is a guard that nobody can vouch for, and stops no other."""
    for topic, check in checks():
        try:
            yield from check(own)
        except (SecondfaceError, OSError, ImportError) as error:
            text = error.detail or error.title() if isinstance(error, SecondfaceError) else str(error)
            yield Guard(topic, "off", _("it could not be looked at: {reason}").format(reason=said(text)))


def show_guards(own: Session, *, json: bool) -> int:
    """Print the table, or one object; the exit code says whether a guard is off."""
    guards = list(guards_of(own))
    off = sum(each.state == "off" for each in guards)
    if json:
        own.screen.object({"guards": [asdict(each) for each in guards], "off": off})
    own.screen.rows([(_SIGNS[each.state], each.topic, _words(each)) for each in guards], whole=(0, 1))
    own.screen.line("")
    own.screen.line(
        _("{off} of {all} lines say that a guard is off.").format(off=off, all=len(guards)) if off
        else _("No guard that was looked at is off.")
    )  # fmt: skip
    return NEGATIVE if off else OK


def _words(guard: Guard) -> str:
    return f"{guard.seen}\n→ {guard.remedy}" if guard.remedy else guard.seen
