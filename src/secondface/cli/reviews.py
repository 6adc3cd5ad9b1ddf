"""`secondface reviews`: results that somebody looks at before anybody gets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from secondface.cli.commands import Command, Session, json_option, service_options, subgroup
from secondface.cli.job_views import finding_words, short_moment, show_job, state_word
from secondface.cli.language import gettext as _
from secondface.cli.remote import asked
from secondface.cli.signals import cancel_on_signals
from secondface.errors import OutputOccupied
from secondface.spec.trust_views import ReviewView


def group() -> click.Group:
    return subgroup(
        "reviews",
        _("Results that a reviewer looks at before anybody gets them.\n\nThis needs a key with the scope review: "
          "`secondface keys create reviewer --person NAME` makes one. Without --person it counts as your own, and "
          "nobody reviews their own jobs."),
        [
            _list_command(), _show_command(), _result_command(),
            _decision("approve", _approve, _("Hand a held result out."),
                      _("Hand a held result out; not with a key of whoever submitted the job.")),
            _decision("refuse", _refuse, _("Keep a held result back for good."),
                      _("Keep a held result back for good. The job's caller reads the reason, and pays the seconds "
                        "that the device worked.")),
        ],
    )  # fmt: skip


def _list_command() -> Command:
    return Command(
        "list",
        params=[
            click.Option(["--limit"], type=click.IntRange(1, 200), default=50, show_default=True,
                         help=_("How many at most.")),
            click.Option(["--after"], metavar=_("JOB"), help=_("Go on after this job.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_list),
        short_help=_("List what waits for a reviewer."),
        help=_("List jobs that wait for a reviewer, of all accounts, newest first."),
    )  # fmt: skip


def _show_command() -> Command:
    return Command(
        "show", params=[click.Argument(["job"], metavar=_("JOB")), *service_options(), json_option()],
        callback=click.pass_context(_show), short_help=_("Show what was found, and where."),
        help=_("Show a held job: what was found, by which rule, in which frame.\n\n\b\nExample:\n"
               "  secondface reviews show job_01k9a5"),
    )  # fmt: skip


def _result_command() -> Command:
    return Command(
        "result",
        params=[
            click.Argument(["job"], metavar=_("JOB")),
            click.Option(["-o", "--output"], required=True, metavar=_("FILE"), help=_("Where the result goes.")),
            click.Option(["-y", "--yes"], is_flag=True, help=_("Overwrite the file.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_result), short_help=_("Fetch a held result, to look at it."),
        help=_("Fetch a held result, to look at it.\n\n\b\nExample:\n"
               "  secondface reviews result job_01k9a5 -o look.mp4"),
    )  # fmt: skip


def _decision(name: str, does: Any, short: str, text: str) -> Command:
    return Command(
        name,
        params=[
            click.Argument(["job"], metavar=_("JOB")),
            click.Option(["--reason"], required=True, metavar=_("TEXT"), help=_("Why; the job's caller reads it.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(does), short_help=short,
        help=f"{text}\n\n\b\n{_('Example:')}\n  secondface reviews {name} job_01k9a5 --reason \"…\"",
    )  # fmt: skip


def _list(context: click.Context, limit: int, after: str | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        page = client.reviews(after=after, limit=limit)
    if json:
        own.screen.object(page.model_dump())
        return
    if not page.data:
        own.screen.line(_("Nothing waits for a reviewer."))
        return
    heads = (_("job"), _("account"), _("made at"), _("found"))
    own.screen.rows([heads, *map(_row, page.data)], dim=(2,), whole=(0,))
    if page.next is not None:
        own.screen.line(_("There are more: --after {job}").format(job=page.next), "dim")


def _row(review: ReviewView) -> tuple[str, ...]:
    found = finding_words(review.job.findings[0]) if review.job.findings else ""
    return review.job.id, review.account, short_moment(review.job.created_ms), found


def _show(context: click.Context, job: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.review(job))


def _approve(context: click.Context, job: str, reason: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.approve_review(job, reason))


def _refuse(context: click.Context, job: str, reason: str, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        _tell(own, client.refuse_review(job, reason))


def _tell(own: Session, review: ReviewView) -> None:
    if own.screen.mode == "json":
        own.screen.object(review.model_dump())
        return
    own.screen.rows([("  " + _("account"), review.account)])
    show_job(own.screen, review.job)


def _result(context: click.Context, job: str, output: str, yes: bool, json: bool) -> None:
    own, client = asked(context, json=json)
    if Path(output).exists() and not yes:
        raise OutputOccupied(output, path=output)
    with client, cancel_on_signals():
        found = client.review(job)
        client.download_held(job, output)
    if json:
        own.screen.object({"output": output, **found.model_dump()})
    else:
        own.screen.line(f"{output}: {state_word(found.job.state)}")
