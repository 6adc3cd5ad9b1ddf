"""`secondface --server … run`: the files go to a service, its workers do the work, the result comes back.

A signal cancels the jobs that are not done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from secondface.cli.commands import Session
from secondface.cli.details import said
from secondface.cli.exits import OK, SOME_FAILED, exit_code
from secondface.cli.inputs import Gathered
from secondface.cli.job_bar import JobBar, job_bar
from secondface.cli.job_views import cause_note, job_object, receipt_object, show_job_receipt
from secondface.cli.job_words import job_words
from secondface.cli.language import gettext as _
from secondface.cli.output_names import output_paths, prepare_folder
from secondface.cli.remote import service
from secondface.cli.run_options import RunOptions, request_of
from secondface.cli.signals import cancel_on_signals
from secondface.domain.pricing import format_micros
from secondface.errors import Cancelled, OutputOccupied, ScopeMissing, SecondfaceError
from secondface.sdk import Client

if TYPE_CHECKING:
    from secondface.spec.schemas import RunRequest
    from secondface.spec.views import JobView, QuoteView, ReceiptView


@dataclass(slots=True)
class _Work:
    """One target on its way."""

    request: RunRequest
    job: JobView | None = None
    error: SecondfaceError | None = None


def run_remotely(own: Session, options: RunOptions, gathered: Gathered) -> int:
    """Every target as a job; the result is the exit code. Raises what went wrong where there is one target."""
    requests = _requests(own, options, gathered)
    with service(own) as client, cancel_on_signals():
        work = [_Work(request) for request in requests]
        try:
            with job_bar(own.screen, len(work)) as bar:
                for each in work:
                    _submit(client, each, options, bar, several=gathered.into_folder)
                if options["detach"]:
                    return _show_submitted(own, work)
                for each in work:
                    _finish(own, client, each, bar, several=gathered.into_folder)
        except Cancelled:
            _cancel(client, work)
            raise
    failed = [each.error for each in work if each.error is not None]
    return SOME_FAILED if failed else OK


def quote_remotely(own: Session, options: RunOptions, target: Path, output: str) -> None:
    """What one target would cost there."""
    request = request_of(options, own.settings, target, output)
    with service(own) as client, cancel_on_signals():
        sources, mapping, words = job_words(request, options)
        made = client.quote(sources, target, reference=request.faces.like, mapping=mapping, **words)
    if own.screen.mode == "json":
        own.screen.object(made.model_dump())
        return
    _show_quote(own, made)


def _requests(own: Session, options: RunOptions, gathered: Gathered) -> list[RunRequest]:
    outputs = [Path(options["output"])]
    if gathered.into_folder:
        outputs = output_paths(gathered.files, prepare_folder(options["output"], gathered.files))
    for output in outputs:
        if output.exists() and not options["yes"]:
            raise OutputOccupied(str(output), path=str(output))
    pairs = zip(gathered.files, outputs, strict=True)
    return [request_of(options, own.settings, target, output) for target, output in pairs]


def _submit(client: Client, each: _Work, options: RunOptions, bar: JobBar, *, several: bool) -> None:
    bar.say(_("sending {name}").format(name=each.request.target.name))
    try:
        sources, mapping, words = job_words(each.request, options)
        reference = each.request.faces.like
        each.job = client.submit(
            sources, each.request.target, reference=reference, mapping=mapping,
            one_time_code=options["one_time_code"], **words,
        )  # fmt: skip
    except SecondfaceError as error:
        if isinstance(error, Cancelled) or not several:
            raise
        each.error = error


def _finish(own: Session, client: Client, each: _Work, bar: JobBar, *, several: bool) -> None:
    try:
        if each.job is not None:
            bar.begin(each.job)
            each.job = client.wait(each.job.id, bar.tell)
            client.download(each.job.id, each.request.output)
    except SecondfaceError as error:
        if isinstance(error, Cancelled) or not several:
            raise
        each.error = error
    bar.end()
    if several:
        _show_row(own, each)
    elif each.job is not None:
        _show_result(own, client, each.job, each.request.output)


def _cancel(client: Client, work: Sequence[_Work]) -> None:
    for each in work:
        if each.job is not None:
            with contextlib.suppress(SecondfaceError):  # one that ended meanwhile, or a service that is gone
                client.cancel(each.job.id)


def _show_result(own: Session, client: Client, job: JobView, output: Path) -> None:
    receipt = _receipt(client, job)
    if own.screen.mode == "json":
        bill = receipt_object(receipt) if receipt else None
        own.screen.object({"output": str(output), "job": job_object(job), "receipt": bill})
        return
    own.screen.heading(_("Result"))
    own.screen.rows([
        ("  " + _("output"), str(output), f"{output.stat().st_size / 1e6:.2f} MB"),
        ("  " + _("job"), job.id, _("tier {tier}").format(tier=job.tier)),
        ("  " + _("frames"), str((job.total_frames if job.cause == "cached" else None) or job.done_frames), ""),
        ("  " + _("cost"), format_micros(job.cost_micros, job.currency), ""),
    ], dim=(2,))  # fmt: skip
    if note := cause_note(job):
        own.screen.note(note)
    if receipt is not None:
        show_job_receipt(own.screen, receipt, job.tier)


def _receipt(client: Client, job: JobView) -> ReceiptView | None:
    """The bill; None for a key that may submit jobs and not see bills, as developers have it."""
    try:
        return client.receipt(job.id)
    except ScopeMissing:
        return None


def _show_row(own: Session, each: _Work) -> None:
    name, output = each.request.target.name, each.request.output
    if own.screen.mode == "json":
        facts = {"target": str(each.request.target), "output": str(output)}
        job = {"job": job_object(each.job)} if each.job else {}
        error = {"error": {"code": each.error.code, "exit_code": exit_code(each.error)}} if each.error else {}
        own.screen.json_line({**facts, **job, **error})
    elif each.error is not None:
        own.screen.complain(f"✗ {name}: {_(type(each.error).title())} {said(each.error.detail)}")
    elif each.job is not None:
        cost = format_micros(each.job.cost_micros, each.job.currency)
        own.screen.line(f"✓ {name} → {output}: {cost}")


def _show_submitted(own: Session, work: Sequence[_Work]) -> int:
    for each in work:
        if each.job is None:
            continue
        if own.screen.mode == "json":
            own.screen.json_line(job_object(each.job))
        else:
            own.screen.line(each.job.id)
    return SOME_FAILED if any(each.error for each in work) else OK


def _show_quote(own: Session, made: QuoteView) -> None:
    own.screen.heading(_("Quote"))
    own.screen.rows([
        ("  " + _("target"), f"{made.width}x{made.height}", _("frames: {number}").format(number=made.frames)),
        ("  " + _("tier"), made.tier, format_micros(made.price_micros, made.currency) + _(" per device second")),
        ("  " + _("cost"), format_micros(made.expected_micros, made.currency),
         _("{seconds} device s").format(seconds=made.expected_s)),
        ("  " + _("no more than"), format_micros(made.upper_micros, made.currency),
         _("{seconds} device s").format(seconds=made.upper_s)),
        ("  " + _("time"), f"{made.expected_wall_ms / 1000:.1f} s",
         _("measured on this tier") if made.measured else _("a guess: none of this kind was measured yet")),
    ], dim=(2,))  # fmt: skip
