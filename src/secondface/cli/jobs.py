"""`secondface jobs`: the jobs of an account at a service."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast, get_args

import click

from secondface.cli.commands import Command, Session, json_option, service_options, subgroup
from secondface.cli.deletions import show_deletions
from secondface.cli.job_bar import job_bar
from secondface.cli.job_views import (
    event_line,
    job_object,
    receipt_object,
    show_job,
    show_job_receipt,
    show_jobs,
    state_word,
)
from secondface.cli.language import gettext as _
from secondface.cli.remote import asked
from secondface.cli.signals import cancel_on_signals
from secondface.errors import OutputOccupied
from secondface.spec.trust import DeletionPage
from secondface.spec.views import JobStateName, JobView


def group() -> click.Group:
    return subgroup(
        "jobs",
        _("The jobs of your account at a service.\n\nName it with --server and --key, or with SECONDFACE_SERVER and "
          "SECONDFACE_API_KEY."),
        [
            _list_command(), _one("show", _show, _("Show one job."), _("Show one job: state, cost, why it waits.")),
            _one("events", _events, _("Show what happened to a job, until it ends."),
                 _("Show what happened to a job and what happens, line by line, until it has ended.")),
            _one("receipt", _receipt, _("Show what a job cost and why."),
                 _("Show what a job cost: each stretch of each attempt, charged or not, and why.")),
            _result_command(),
            _one("cancel", _cancel, _("Cancel a job."),
                 _("Cancel a job. What waits ends at once and costs nothing; what runs costs the seconds used.")),
            _one("approve", _approve, _("Let a job run that waits for approval."),
                 _("Let a job run that waits for approval; not with a key of whoever submitted it.")),
            _one("reject", _reject, _("Refuse a job that waits for approval."),
                 _("Refuse a job that waits for approval; it costs nothing."),
                 click.Option(["--reason"], metavar=_("TEXT"), help=_("Why; whoever submitted the job sees it."))),
            _one("delete", _delete, _("Delete a job's inputs and result."),
                 _("Delete the inputs and the result of a job that has ended, and show the receipt. The audit keeps "
                   "digests only.")),
            _one("deletions", _deletions, _("Show the receipts of what was deleted of a job."),
                 _("Show the receipts of what was deleted of a job, because somebody asked or its time was over.")),
        ],
    )  # fmt: skip


def _one(name: str, does: Any, short: str, text: str, *options: click.Option) -> Command:
    """A command about one job."""
    return Command(
        name,
        params=[click.Argument(["job"], metavar=_("JOB")), *options, *service_options(), json_option()],
        callback=click.pass_context(does), short_help=short,
        help=f"{text}\n\n\b\n{_('Example:')}\n  secondface jobs {name} job_01k9a5",
    )  # fmt: skip


def _list_command() -> Command:
    return Command(
        "list",
        params=[
            click.Option(["--state"], multiple=True, type=click.Choice(get_args(JobStateName)),
                         help=_("Only jobs in this state; may be repeated.")),
            click.Option(["--limit"], type=click.IntRange(1, 200), default=20, show_default=True,
                         help=_("How many at most.")),
            click.Option(["--after"], metavar=_("JOB"), help=_("Go on after this job.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_list),
        short_help=_("List jobs, newest first."),
        help=_("List jobs, newest first.\n\n\b\nExample:\n  secondface jobs list --state queued --state running"),
    )  # fmt: skip


def _result_command() -> Command:
    return Command(
        "result",
        params=[
            click.Argument(["job"], metavar=_("JOB")),
            click.Option(["-o", "--output"], required=True, metavar=_("FILE"), help=_("Where the result goes.")),
            click.Option(["-y", "--yes"], is_flag=True, help=_("Overwrite the file.")),
            click.Option(["--wait"], is_flag=True, help=_("Wait until the job has ended.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_result),
        short_help=_("Fetch the result of a job."),
        help=_(
            "Fetch the result of a job. It goes to FILE.part first; run it again to continue a download that broke "
            "off.\n\n\b\nExample:\n  secondface jobs result job_01k9a5 -o out.mp4 --wait"
        ),
    )  # fmt: skip


def _list(context: click.Context, state: tuple[str, ...], limit: int, after: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        page = client.jobs(cast("tuple[JobStateName, ...]", state), after=after, limit=limit)
    if json:
        own.screen.object(page.model_dump())
        return
    show_jobs(own.screen, page.data)
    if not page.data:
        own.screen.line(_("There are no such jobs."))
    if page.next is not None:
        own.screen.line(_("There are more: --after {job}").format(job=page.next), "dim")


def _tell(own: Session, job: JobView) -> None:
    if own.screen.mode == "json":
        own.screen.object(job_object(job))
    else:
        show_job(own.screen, job)


def _show(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.job(job))


def _cancel(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.cancel(job))


def _approve(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.approve(job))


def _reject(context: click.Context, job: str, reason: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.reject(job, reason))


def _delete(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell_deletions(own, client.delete_data(job))


def _deletions(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell_deletions(own, client.deletions(job))


def _tell_deletions(own: Session, page: DeletionPage) -> None:
    if own.screen.mode == "json":
        own.screen.object(page.model_dump())
    else:
        show_deletions(own.screen, page)


def _events(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client, cancel_on_signals():
        for event in client.events(job):
            if json:
                own.screen.json_line(event.model_dump())
            else:
                own.screen.line(event_line(event))


def _receipt(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        found, receipt = client.job(job), client.receipt(job)
    if json:
        own.screen.object(receipt_object(receipt))
    else:
        show_job_receipt(own.screen, receipt, found.tier)


def _result(context: click.Context, job: str, output: str, yes: bool, wait: bool, json: bool) -> None:
    own, client = asked(context, json=json)
    if Path(output).exists() and not yes:
        raise OutputOccupied(output, path=output)
    with client, cancel_on_signals(), job_bar(own.screen, 1) as bar:
        found = client.job(job)
        if wait:
            bar.begin(found)
            found = client.wait(job, bar.tell)
        client.download(job, output)
    if json:
        own.screen.object({"output": output, "job": job_object(found)})
    else:
        own.screen.line(f"{output}: {state_word(found.state)}")
