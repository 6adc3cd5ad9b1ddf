"""`secondface approvals`: jobs that wait for a second authorisation."""

from __future__ import annotations

import click

from secondface.cli.commands import Command, Session, json_option, service_options, subgroup
from secondface.cli.job_views import job_object, short_moment, show_job
from secondface.cli.language import gettext as _
from secondface.cli.remote import asked
from secondface.domain.pricing import format_micros
from secondface.spec.views import JobView


def group() -> click.Group:
    return subgroup(
        "approvals",
        _("Jobs that wait for a second authorisation.\n\nAnother person approves them, or whoever submitted one "
          "confirms it with a fresh one-time code."),
        [_list_command(), _approve_command(), _refuse_command(), _confirm_command()],
    )  # fmt: skip


def _list_command() -> Command:
    return Command(
        "list",
        params=[
            click.Option(["--limit"], type=click.IntRange(1, 200), default=20, show_default=True,
                         help=_("How many at most.")),
            click.Option(["--after"], metavar=_("JOB"), help=_("Go on after this job.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_list),
        short_help=_("List jobs that wait for approval, newest first."),
        help=_("List jobs that wait for approval, newest first: those of the account, or everybody's for operators."),
    )  # fmt: skip


def _approve_command() -> Command:
    return Command(
        "approve",
        params=[click.Argument(["job"], metavar=_("JOB")), *service_options(), json_option()],
        callback=click.pass_context(_approve), short_help=_("Let a job run that waits for approval."),
        help=_("Let a job run that waits for approval; not with a key of whoever submitted it."),
    )  # fmt: skip


def _refuse_command() -> Command:
    return Command(
        "refuse",
        params=[
            click.Argument(["job"], metavar=_("JOB")),
            click.Option(["--reason"], metavar=_("TEXT"), help=_("Why; whoever submitted the job sees it.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_refuse), short_help=_("Refuse a job that waits for approval."),
        help=_("Refuse a job that waits for approval; it costs nothing."),
    )  # fmt: skip


def _confirm_command() -> Command:
    return Command(
        "confirm",
        params=[
            click.Argument(["job"], metavar=_("JOB")),
            click.Option(["--one-time-code"], metavar=_("CODE"), required=True, prompt=_("One-time code"),
                         help=_("What the authenticator of your key shows now; without it you are asked.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_confirm), short_help=_("Let a job of your own run, by a one-time code."),
        help=_("Let a job of your own run that waits for approval, by a fresh one-time code of the key that submitted "
               "it. A code counts once."),
    )  # fmt: skip


def _list(context: click.Context, limit: int, after: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        page = client.approvals(after=after, limit=limit)
    if json:
        own.screen.object(page.model_dump())
        return
    heads = (_("job"), _("submitted by"), _("faces"), _("set aside"), _("made at"), _("to be approved by"))
    rows = [
        (each.job, _("{name} (you)").format(name=each.holder) if each.own else each.holder,
         "" if each.faces is None else str(each.faces), format_micros(each.hold_micros, each.currency),
         short_moment(each.created_ms), short_moment(each.until_ms))
        for each in page.data
    ]  # fmt: skip
    own.screen.rows([heads, *rows] if rows else [], right=(2, 3), whole=(0,))
    if not rows:
        own.screen.line(_("No job waits for approval."))
    if page.next is not None:
        own.screen.line(_("There are more: --after {job}").format(job=page.next), "dim")


def _approve(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.approve(job))


def _refuse(context: click.Context, job: str, reason: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.reject(job, reason))


def _confirm(context: click.Context, job: str, one_time_code: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.confirm(job, one_time_code))


def _tell(own: Session, job: JobView) -> None:
    if own.screen.mode == "json":
        own.screen.object(job_object(job))
    else:
        show_job(own.screen, job)
