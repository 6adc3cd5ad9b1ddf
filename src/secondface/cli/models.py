"""`secondface models list`: which models are here, whether their bytes are right, and under which licence."""

from __future__ import annotations

import click

from secondface.cli.commands import Command, json_option, session, subgroup
from secondface.cli.exits import NEGATIVE, OK
from secondface.cli.language import gettext as _


def group() -> click.Group:
    return subgroup("models", _("The models on this machine."), [_list_command()])


def _list_command() -> click.Command:
    return Command(
        "list",
        params=[json_option()],
        callback=click.pass_context(_list),
        short_help=_("List the models with version, licence and state."),
        help=_("List the models with version, licence and state. Each file is read and checked against its manifest."),
    )


def _list(context: click.Context, json: bool) -> int:
    from secondface.models.store import describe

    own, found = session(context), describe()
    if json:
        own.screen.object(
            {
                "models": [
                    {**status.manifest.model_dump(mode="json"), "state": status.state, "detail": status.detail}
                    for status in found
                ]
            }
        )
    states = {"ready": _("ready"), "missing": _("missing"), "corrupt": _("corrupt")}
    header = (_("model"), _("version"), _("task"), _("size"), _("licence"), _("state"))
    own.screen.rows(
        [
            header,
            *(
                (
                    status.manifest.name, status.manifest.version, status.manifest.task,
                    f"{status.manifest.size_bytes / 1e6:.1f} MB", status.manifest.licence,
                    f"{states[status.state]} {status.detail}".strip(),
                )
                for status in found
            ),
        ],
        right=(3,),
    )  # fmt: skip
    return OK if all(status.state == "ready" for status in found) else NEGATIVE
