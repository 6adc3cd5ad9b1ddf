"""`secondface protected`: people whose faces a service does not give to others."""

from __future__ import annotations

from pathlib import Path

import click

from secondface.cli.commands import Command, json_option, service_options, subgroup
from secondface.cli.job_views import short_moment
from secondface.cli.language import gettext as _
from secondface.cli.remote import asked
from secondface.spec.trust_views import ProtectedView


def group() -> click.Group:
    return subgroup(
        "protected",
        _("People whose faces a service does not give to others.\n\nThis is for its operators: it needs a key with the "
          "scope admin. Of each person numbers and a note are kept, never a picture."),
        [_list_command(), _add_command(), _remove_command()],
    )  # fmt: skip


def _list_command() -> Command:
    return Command(
        "list", params=[*service_options(), json_option()], callback=click.pass_context(_list),
        short_help=_("List the entries."), help=_("List the entries: id, note, and by how many pictures one is known."),
    )  # fmt: skip


def _add_command() -> Command:
    return Command(
        "add",
        params=[
            click.Argument(["pictures"], nargs=-1, required=True, metavar=_("PICTURE...")),
            click.Option(["--note"], metavar=_("TEXT"), default="", help=_("Who asked for it, and when.")),
            click.Option(["--to", "entry"], metavar=_("ID"), help=_("Add the pictures to an entry that is there.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_add),
        short_help=_("Put somebody on the list, by pictures of the face."),
        help=_(
            "Put somebody on the list, by pictures of the face. The service measures them and deletes them; from "
            "several sides and in several lights a person is known better.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface protected add front.jpg side.jpg --note \"letter of 3 May\""
        ),
    )  # fmt: skip


def _remove_command() -> Command:
    return Command(
        "remove", params=[click.Argument(["entry"], metavar=_("ID")), *service_options(), json_option()],
        callback=click.pass_context(_remove), short_help=_("Take somebody off the list."),
        help=_("Take somebody off the list; nothing is kept of them."),
    )  # fmt: skip


def _list(context: click.Context, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        page = client.protected()
    if json:
        own.screen.object(page.model_dump())
        return
    if not page.data:
        own.screen.line(_("The list is empty."))
        return
    own.screen.rows([(_("id"), _("pictures"), _("made at"), _("note")), *map(_row, page.data)], right=(1,), whole=(0,))


def _row(entry: ProtectedView) -> tuple[str, ...]:
    return entry.id, str(entry.faces), short_moment(entry.created_ms), entry.note


def _add(context: click.Context, pictures: tuple[str, ...], note: str, entry: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        made = client.protect([Path(each) for each in pictures], note, entry_id=entry)
    if json:
        own.screen.object(made.model_dump())
    else:
        own.screen.line(_("{id}: known by {faces} picture(s)").format(id=made.id, faces=made.faces))


def _remove(context: click.Context, entry: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        client.unprotect(entry)
    if json:
        own.screen.object({"removed": entry})
    else:
        own.screen.line(_("{id}: removed").format(id=entry))
