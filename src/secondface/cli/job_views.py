"""Jobs, events and receipts of a service as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from secondface.cli.language import gettext as _
from secondface.cli.receipts import line_words
from secondface.cli.screen import Screen
from secondface.domain.pricing import format_micros
from secondface.spec.views import EventView, FindingView, JobView, LedgerEntryView, ReceiptView


def job_object(job: JobView) -> dict[str, object]:
    return job.model_dump()


def receipt_object(receipt: ReceiptView) -> dict[str, object]:
    """The receipt as the JSON modes print it."""
    return {**receipt.model_dump(), "total": format_micros(receipt.total_micros, receipt.currency)}


def show_jobs(screen: Screen, jobs: tuple[JobView, ...]) -> None:
    """A table of jobs, newest first."""
    heads = (_("job"), _("state"), _("frames"), _("cost"), _("made at"), _("note"))
    screen.rows([heads, *(_row(job) for job in jobs)] if jobs else [], right=(2, 3), dim=(4, 5), whole=(0, 1))


def _row(job: JobView) -> tuple[str, ...]:
    note = _waiting(job) or job.error or (_("earlier result") if job.cause == "cached" else "")
    cost = format_micros(job.cost_micros, job.currency)
    return job.id, state_word(job.state), _frames(job), cost, short_moment(job.created_ms), note


def show_job(screen: Screen, job: JobView) -> None:
    """Everything about one job."""
    cost = format_micros(job.cost_micros, job.currency)
    rows = [
        (_("job"), job.id), (_("state"), state_word(job.state)), (_("waits because"), _waiting(job)),
        (_("error"), job.error or ""), *((_("found"), finding_words(each)) for each in job.findings),
        (_("reviewer"), job.reason), (_("note"), cause_note(job)),
        (_("frames"), _frames(job)), (_("attempts"), str(job.attempts)),
        (_("tier"), job.tier), (_("price per device second"), format_micros(job.price_micros, job.currency)),
        (_("set aside"), format_micros(job.hold_micros, job.currency)), (_("cost"), cost),
        (_("made at"), moment(job.created_ms)),
        (_("to be approved by"), "" if job.approve_by_ms is None else moment(job.approve_by_ms)),
        (_("ended at"), "" if job.ended_ms is None else moment(job.ended_ms)),
    ]  # fmt: skip
    screen.rows([(f"  {name}", value) for name, value in rows if value])


def event_line(event: EventView) -> str:
    """`14:02:11 job.progress done 40, total 100`."""
    facts = ", ".join(f"{name} {_fact(value)}" for name, value in event.facts.items() if value is not None)
    return f"{moment(event.at_ms)}  {event.kind}  {facts}".rstrip()


def _fact(value: object) -> str:
    return (_("yes") if value else _("no")) if isinstance(value, bool) else str(value)


def show_job_receipt(screen: Screen, receipt: ReceiptView, tier: str) -> None:
    """Each stretch of each attempt, charged or not and why, and the sum as the ledger has it."""
    screen.heading(_("Receipt") if receipt.final else _("Receipt so far"))
    several = len({line.attempt for line in receipt.lines}) > 1
    rows: list[tuple[str, str, str]] = []
    for line in receipt.lines:
        if line.length_ms:
            name, length, reason = line_words(line.item, line.length_ms, line.reason)
            rows.append((f"{name} ({line.attempt})" if several else name, length, reason))
    screen.rows(rows, right=(1,), dim=(2,))
    screen.line(
        "  "
        + _("{seconds} device s x {price} per s ({tier}) = {total}").format(
            seconds=receipt.charged_s, price=format_micros(receipt.price_micros, receipt.currency), tier=tier,
            total=format_micros(receipt.total_micros + receipt.waived_micros, receipt.currency),
        ),
        "bold",
    )  # fmt: skip
    if receipt.waived_micros:
        screen.line("  " + _("waived above what was set aside: {amount}; charged: {total}").format(
            amount=format_micros(receipt.waived_micros, receipt.currency),
            total=format_micros(receipt.total_micros, receipt.currency),
        ), "bold")  # fmt: skip


def show_entries(screen: Screen, entries: Sequence[LedgerEntryView], *, with_subject: bool = True) -> None:
    """Entries of the ledger: when, what moved, from where to where, and for which job or payment."""
    heads = [_("moment"), _("what"), _("amount"), _("of"), _("from, to")]
    rows = [heads, *map(_entry, entries)] if entries else []
    if with_subject:
        screen.rows(rows, right=(2,), dim=(4,), whole=(0, 1, 3))
    else:
        screen.rows([["  " + row[0], row[1], row[2], row[4]] for row in rows], right=(2,), dim=(3,), whole=(0, 1, 3))


def _entry(entry: LedgerEntryView) -> list[str]:
    kinds = {
        "deposit": _("deposit"), "hold": _("set aside"), "capture": _("charged"), "release": _("given back"),
        "refund": _("refunded"), "device_cost": _("device cost"),
    }  # fmt: skip
    amount = sum(micros for micros in entry.postings.values() if micros > 0)
    giving = ", ".join(purse_word(name) for name, micros in entry.postings.items() if micros < 0)
    taking = ", ".join(purse_word(name) for name, micros in entry.postings.items() if micros > 0)
    return [
        short_moment(entry.at_ms), kinds[entry.kind], format_micros(amount, entry.currency), entry.subject,
        f"{giving} → {taking}",
    ]  # fmt: skip


def purse_word(name: str) -> str:
    """What a part of the ledger is called."""
    words = {
        "wallet": _("wallet"), "held": _("set aside"), "funding": _("payments"), "revenue": _("revenue"),
        "device_cost": _("device cost"), "supplier": _("supplier"),
    }  # fmt: skip
    return words.get(name, name)


def state_word(state: str) -> str:
    """What a job's state is called."""
    words = {
        "awaiting_approval": _("waits for approval"), "queued": _("queued"), "running": _("running"),
        "held": _("held for review"), "succeeded": _("done"), "failed": _("failed"),
        "cancelled": _("cancelled"), "expired": _("expired"),
    }  # fmt: skip
    return words[state]


def cause_note(job: JobView) -> str:
    """Why a job that did nothing has a result, or one that did has none."""
    if job.data_deleted:
        return _("its files were deleted")
    return _("the result of an earlier, equal job; it costs nothing") if job.cause == "cached" else ""


def _waiting(job: JobView) -> str:
    words = {
        "no_worker": _("no worker is free or can be started"), "no_budget": _("the account's budget is used up"),
        "awaiting_approval": _("somebody else must approve it"), "review": _("a reviewer must look at the result"),
        "rate": _("the account runs as many as it may"),
        "workers_crashing": _("workers crash; the operator sees why"),
        "back_off": _("it failed and is tried again soon"), "queue": _("others are before it"),
    }  # fmt: skip
    return words[job.waiting] if job.waiting else ""


def finding_words(finding: FindingView) -> str:
    """`nsfw 93 % · target, frame 75, 3.000 s · refused`."""
    sure = "" if finding.score_permille is None else f" {finding.score_permille / 10:.0f} %"
    verdict = _("refused") if finding.verdict == "refuse" else _("in doubt")
    return f"{finding.rule}{sure} · {finding.place} · {verdict}"


def _frames(job: JobView) -> str:
    return f"{job.done_frames}/{job.total_frames}" if job.total_frames else str(job.done_frames)


def short_moment(at_ms: int) -> str:
    """The same for tables, to the minute."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%m-%d %H:%M")


def moment(at_ms: int) -> str:
    """A moment on this machine's clock."""
    return datetime.fromtimestamp(at_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
