"""`secondface prices`, `ledger` and `usage`: what a service asks for, what moved, and what was used."""

from __future__ import annotations

import time

import click

from secondface.cli.commands import Command, json_option, service_options, session
from secondface.cli.job_views import show_entries, state_word
from secondface.cli.language import gettext as _
from secondface.cli.receipts import market_word, prices_now
from secondface.cli.remote import asked, asks_a_service, service
from secondface.domain.pricing import format_micros
from secondface.spec.views import PriceView

_DAY_MS = 86_400_000


def commands() -> list[click.Command]:
    return [_prices_command(), _ledger_command(), _usage_command()]


def _prices_command() -> Command:
    return Command(
        "prices", params=[*service_options(), json_option()], callback=click.pass_context(_prices),
        short_help=_("Show the price of a device second on each tier."),
        help=_("Show the price of a device second on each tier: those of a service, else those that this version "
               "starts with."),
    )  # fmt: skip


def _ledger_command() -> Command:
    return Command(
        "ledger",
        params=[
            click.Option(["--limit"], type=click.IntRange(1, 200), default=20, show_default=True,
                         help=_("How many at most.")),
            click.Option(["--before"], type=click.IntRange(1), metavar=_("NUMBER"), help=_("Go on before this entry.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_ledger),
        short_help=_("Show what moved the account's money."),
        help=_(
            "Show what moved the account's money at a service, newest first: deposits, what was set aside for jobs, "
            "charged, and given back. Each entry sums to zero over its parts.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface ledger --limit 50"
        ),
    )  # fmt: skip


def _usage_command() -> Command:
    return Command(
        "usage",
        params=[
            click.Option(["--days"], type=click.IntRange(1, 3_660), default=31, show_default=True,
                         metavar=_("NUMBER"), help=_("Of the last so many days.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_usage),
        short_help=_("Show what the account's jobs used and cost."),
        help=_("Show what the account's jobs at a service used and cost, and what is left."),
    )  # fmt: skip


def _prices(context: click.Context, json: bool) -> None:
    own = session(context)
    own.screen.mode = "json" if json else "people"
    if asks_a_service(own):
        with service(own) as client:
            book = client.prices()
        currency, now_ms = book.currency, time.time() * 1000
        rows = [row for row in book.data if _holds(row, now_ms)]
    else:
        currency = "CNY"
        rows = [
            PriceView(tier=row.tier, market=row.market, family=row.family, price_micros=row.price_micros,
                      minimum_s=row.minimum_s, step_s=row.step_s, valid_from_ms=None, valid_until_ms=None)
            for row in prices_now()
        ]  # fmt: skip
    if json:
        own.screen.object({"currency": currency, "data": [row.model_dump() for row in rows]})
        return
    own.screen.rows([
        (_("tier"), _("market"), _("models"), _("price per s"), _("at least"), _("in steps of")),
        *((row.tier, market_word(row.market), "" if row.family == "*" else row.family,
           format_micros(row.price_micros, currency), f"{row.minimum_s} s", f"{row.step_s} s") for row in rows),
    ], right=(3, 4, 5))  # fmt: skip


def _holds(row: PriceView, now_ms: float) -> bool:
    begun = row.valid_from_ms is None or row.valid_from_ms <= now_ms
    return begun and (row.valid_until_ms is None or now_ms < row.valid_until_ms)


def _ledger(context: click.Context, limit: int, before: int | None, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        page = client.ledger(before=before, limit=limit)
    if json:
        own.screen.object(page.model_dump())
        return
    show_entries(own.screen, page.data)
    if page.next is not None:
        own.screen.line(_("There are more: --before {number}").format(number=page.next), "dim")


def _usage(context: click.Context, days: int, json: bool) -> None:
    own, client = asked(context, json=json)
    with client:
        used = client.usage(from_ms=max(0, int(time.time() * 1000) - days * _DAY_MS))
        account = client.account()
    if json:
        own.screen.object({"usage": used.model_dump(), "account": account.model_dump()})
        return
    own.screen.heading(_("Usage of {days} days").format(days=days))
    own.screen.rows([
        ("  " + _("jobs"), str(sum(used.jobs.values())),
         ", ".join(f"{state_word(state)} {number}" for state, number in used.jobs.items())),
        ("  " + _("frames"), str(used.frames), ""),
        ("  " + _("device worked"), f"{used.device_active_ms / 1000:.1f} s",
         _("charged: {seconds} s").format(seconds=used.charged_s)),
        ("  " + _("cost"), format_micros(used.total_micros, used.currency), ""),
        ("  " + _("balance"), format_micros(account.balance_micros, account.currency),
         _("set aside: {amount}").format(amount=format_micros(account.held_micros, account.currency))),
    ], dim=(2,))  # fmt: skip
    if not used.complete:
        own.screen.note(_("There are more jobs than one answer sums up; ask for fewer days."))
