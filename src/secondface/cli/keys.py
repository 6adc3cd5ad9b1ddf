"""`secondface keys`: who may use a service, for its operators."""

from __future__ import annotations

from typing import get_args

import click

from secondface.cli.commands import Command, json_option, service_options, subgroup
from secondface.cli.job_views import moment, short_moment
from secondface.cli.language import gettext as _
from secondface.cli.remote import asked
from secondface.spec.service import RoleName
from secondface.spec.trust import NewCodesView
from secondface.spec.views import KeyView


def group() -> click.Group:
    return subgroup(
        "keys", _("The keys of a service.\n\nThis is for its operators: it needs a key with the scope admin."),
        [_list_command(), _create_command(), _revoke_command(), _codes_command()],
    )  # fmt: skip


def _account_option() -> click.Option:
    return click.Option(["--account"], metavar=_("ACCOUNT"), help=_("Another account than your own."))


def _list_command() -> Command:
    return Command(
        "list", params=[_account_option(), *service_options(), json_option()], callback=click.pass_context(_list),
        short_help=_("List keys, without their texts."), help=_("List the keys of an account, without their texts."),
    )  # fmt: skip


def _create_command() -> Command:
    return Command(
        "create",
        params=[
            click.Argument(["role"], type=click.Choice(get_args(RoleName)), metavar=_("ROLE")),
            click.Option(["--name"], metavar=_("NAME"), help=_("Whose or what it is for.")),
            click.Option(["--person"], metavar=_("NAME"),
                         help=_("Who gets it; without it, it counts as your own. Nobody approves their own jobs with "
                                "another key.")),
            click.Option(["--days"], type=click.IntRange(1, 3_660), metavar=_("NUMBER"),
                         help=_("It ends after so many days; without it, it holds until it is revoked.")),
            _account_option(), *service_options(), json_option(),
        ],
        callback=click.pass_context(_create),
        short_help=_("Make a key; its text is shown this once."),
        help=_(
            "Make a key; its text is shown this once.\n\n"
            "\b\n"
            "owner      submits, reads, approves, sees the bills\n"
            "developer  submits and reads\n"
            "viewer     reads\n"
            "approver   reads and approves\n"
            "billing    sees the bills\n"
            "reviewer   looks at held results of all accounts\n"
            "operator   all of it, and accounts, keys and prices\n\n"
            "\b\n"
            "Example:\n"
            "  secondface keys create developer --name \"build server\" --days 90"
        ),
    )  # fmt: skip


def _revoke_command() -> Command:
    return Command(
        "revoke",
        params=[click.Argument(["key_id"], metavar=_("ID")), _account_option(), *service_options(), json_option()],
        callback=click.pass_context(_revoke),
        short_help=_("Make a key useless from now on."),
        help=_("Make a key useless from now on; `secondface keys list` shows the ids."),
    )


def _codes_command() -> Command:
    return Command(
        "one-time-codes",
        params=[
            click.Argument(["key_id"], metavar=_("ID")),
            click.Option(["--off"], is_flag=True, help=_("Take the key's codes away.")),
            _account_option(), *service_options(), json_option(),
        ],
        callback=click.pass_context(_codes),
        short_help=_("Give a key one-time codes, as a second authorisation."),
        help=_(
            "Give a key one-time codes (TOTP), as a second authorisation of its jobs. The address that is printed goes "
            "into an authenticator; it is shown this once, and codes from before no longer count.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface keys one-time-codes key_01k9a5"
        ),
    )  # fmt: skip


def _list(context: click.Context, account: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        page = client.keys(account)
    if json:
        own.screen.object(page.model_dump())
        return
    heads = (_("id"), _("name"), _("person"), _("state"), _("created"), _("scopes"))
    own.screen.rows([heads, *((key.id, key.name, key.person, _state(key), short_moment(key.created_ms),
                               ", ".join(key.scopes)) for key in page.data)], dim=(5,), whole=(0,))  # fmt: skip


def _create(
    context: click.Context, role: RoleName, *, name: str | None, person: str | None, days: int | None,
    account: str | None, json: bool,
) -> None:  # fmt: skip
    own, client = asked(context, json=json)
    with client:
        made = client.create_key(
            role, name, expires_s=days * 86_400 if days else None, account_id=account, person=person
        )  # fmt: skip
    if json:
        own.screen.object(made.model_dump())
        return
    own.screen.line(made.key, "bold")
    own.screen.line(_("{id}, {role} of {account}; the text above is shown this once.").format(
        id=made.id, role=made.role, account=made.account), "dim")  # fmt: skip


def _revoke(context: click.Context, key_id: str, account: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        revoked = client.revoke_key(key_id, account_id=account)
    if json:
        own.screen.object(revoked.model_dump())
    else:
        own.screen.line(f"{revoked.id}: {_state(revoked)}")


def _codes(context: click.Context, key_id: str, off: bool, account: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        made = client.drop_codes(key_id, account_id=account) if off else client.enrol_codes(key_id, account_id=account)
    if json:
        own.screen.object(made.model_dump())
    elif isinstance(made, NewCodesView):
        own.screen.line(made.uri, "bold")
        own.screen.line(_("one-time codes of {id}; the address above, with its secret, is shown this once.").format(
            id=made.key_id), "dim")  # fmt: skip
    else:
        own.screen.line(_("{id} has no one-time codes.").format(id=made.key_id))


def _state(key: KeyView) -> str:
    if key.revoked_ms is not None:
        return _("revoked")
    return _("holds") if key.expires_ms is None else _("until {moment}").format(moment=moment(key.expires_ms))
