"""`secondface config show`: each setting, its value, where that came from, and what it means."""

from __future__ import annotations

import os

import click

from secondface.cli.commands import Command, json_option, session, subgroup
from secondface.cli.language import gettext as _


def group() -> click.Group:
    return subgroup("config", _("The settings of this machine."), [_show_command()])


def _show_command() -> click.Command:
    return Command(
        "show",
        params=[json_option()],
        callback=click.pass_context(_show),
        short_help=_("Show each setting, its source and its meaning."),
        help=_(
            "Show each setting, where its value came from, and what it means.\n\n"
            "A setting is read from an environment variable (SECONDFACE_THREADS=4), then from the TOML file that "
            "SECONDFACE_CONFIG names (else config.toml in the folder secondface of your configuration folder), "
            "then from its default. A secret is not shown; it can lie in a file of its own, which a variable with "
            "_FILE behind its name points to (SECONDFACE_API_KEY_FILE=/run/secrets/key)."
        ),
    )


def _show(context: click.Context, json: bool) -> None:
    from secondface.settings import config_file, setting_rows, unknown_variables

    own = session(context)
    rows, strangers = setting_rows(own.settings), unknown_variables(os.environ)
    if json:
        own.screen.object({
            "file": str(config_file()),
            "file_exists": config_file().exists(),
            "settings": [
                {
                    "name": row.name, "variable": row.variable, "value": row.value, "source": row.source,
                    "description": _(row.description),
                }
                for row in rows
            ],
            "unknown_variables": strangers,
        })  # fmt: skip
        return
    own.screen.line(
        (_("file {path}") if config_file().exists() else _("file {path} (does not exist)")).format(path=config_file())
    )
    own.screen.rows(
        [
            (_("setting"), _("value"), _("source"), _("meaning")),
            *(
                (
                    row.name,
                    row.value or '""',
                    _("default") if row.source == "default" else row.source,
                    _(row.description),
                )
                for row in rows
            ),
        ],
        dim=(2,),
    )
    for name in strangers:
        own.screen.note(_("{name} names no setting; is it a slip of the pen?").format(name=name))
