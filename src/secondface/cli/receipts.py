"""A run's report as people read it: the receipt in milliseconds, and what its device seconds cost on each tier."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, get_args

from secondface.cli.language import gettext as _
from secondface.cli.report import report_object, show_report
from secondface.cli.screen import Screen
from secondface.domain.pricing import (
    Attempt,
    Market,
    PriceRow,
    Receipt,
    ReceiptLine,
    Usage,
    default_price_book,
    format_micros,
    receipt,
)

if TYPE_CHECKING:
    from secondface.pipeline.report import RunReport


def usage_of(report: RunReport) -> Usage:
    """What the engine counted, as the bill wants it."""
    phases = report.phases_ms
    return Usage(
        load_ms=phases["load"], fetch_ms=phases["fetch"], run_ms=phases["run"], store_ms=phases["store"],
        device_active_ms=report.device_active_ms, frames=report.frames, faces=report.faces,
        peak_resident_bytes=report.peak_rss_bytes,
    )  # fmt: skip


def price_of(tier: str, market: Market) -> PriceRow:
    """The price of a tier now. Raises InvalidOption with the tiers that exist."""
    return default_price_book().price(tier, market, datetime.now(UTC))


def prices_now() -> list[PriceRow]:
    """The price that holds now of each tier and market."""
    book, now = default_price_book(), datetime.now(UTC)
    return [book.price(tier, market, now) for tier in book.tiers() for market in get_args(Market)]


def bill(usage: Usage, price: PriceRow) -> Receipt:
    return receipt([Attempt(1, usage)], price)


def bill_object(usage: Usage, price: PriceRow) -> dict[str, object]:
    """The receipt as the JSON modes print it."""
    made = bill(usage, price)
    return {
        "currency": made.currency,
        "tier": price.tier,
        "market": price.market,
        "price_micros_per_s": price.price_micros,
        "charged_s": made.charged_s,
        "total_micros": made.total_micros,
        "total": format_micros(made.total_micros, made.currency),
        "lines": [asdict(line) for line in made.lines],
    }


def tier_costs(usage: Usage) -> list[tuple[PriceRow, int]]:
    """What the same device seconds cost on each tier and market of the book."""
    return [(row, row.charge_micros(usage.device_active_ms)) for row in prices_now()]


def tiers_object(usage: Usage) -> list[dict[str, object]]:
    """The same device seconds on each tier, as the JSON mode of the demo prints it."""
    return [
        {"tier": row.tier, "market": row.market, "total_micros": micros, "total": format_micros(micros)}
        for row, micros in tier_costs(usage)
    ]


def result_object(report: RunReport, price: PriceRow) -> dict[str, object]:
    """A run as the JSON modes print it: the report and the receipt."""
    return {**report_object(report), "receipt": bill_object(usage_of(report), price)}


def show_result(screen: Screen, report: RunReport, price: PriceRow) -> None:
    """A run for people: where the output is, what was done, and the receipt."""
    show_report(screen, report)
    show_receipt(screen, usage_of(report), price)


def show_receipt(screen: Screen, usage: Usage, price: PriceRow) -> None:
    """Every millisecond of the run, charged or not and why, and the sum."""
    made = bill(usage, price)
    screen.heading(_("Receipt"))
    screen.rows([_line(line) for line in made.lines if line.length_ms], right=(1,), dim=(2,))
    screen.line(
        "  "
        + _("{seconds} device s x {price} per s ({tier}, {market}) = {total}").format(
            seconds=made.charged_s,
            price=format_micros(price.price_micros, made.currency),
            tier=price.tier,
            market=_market(price.market),
            total=format_micros(made.total_micros, made.currency),
        ),
        "bold",
    )


def show_tiers(screen: Screen, usage: Usage) -> None:
    """The same device seconds at the price of each tier."""
    book = default_price_book()
    costs = {(row.tier, row.market): micros for row, micros in tier_costs(usage)}
    prices = {(row.tier, row.market): row.price_micros for row in book.rows}
    screen.heading(_("What these device seconds cost on each tier"))
    screen.rows(
        [
            ("  " + _("tier"), _("price per s"), _("on demand"), _("spot")),
            *(
                (
                    f"  {tier}",
                    format_micros(prices[tier, "on_demand"]),
                    format_micros(costs[tier, "on_demand"]),
                    format_micros(costs[tier, "spot"]),
                )
                for tier in book.tiers()
            ),
        ],
        right=(1, 2, 3),
    )
    screen.line("  " + _("(A faster tier needs fewer seconds; these are the seconds measured here.)"), "dim")


def _line(line: ReceiptLine) -> tuple[str, str, str]:
    names = {
        "boot": _("start"), "load": _("load models"), "fetch": _("open inputs"), "device": _("device worked"),
        "run": _("decode, encode, wait"), "store": _("write and check"),
    }  # fmt: skip
    reasons = {
        "device_worked": _("charged: the device worked"),
        "device_waited": _("not charged: the device did not work"),
        "before_the_device": _("not charged: before the device worked"),
        "after_the_device": _("not charged: after the device worked"),
        "provider_pays": _("not charged: our fault"),
        "segment_reused": _("charged: finished segments that were reused"),
        "from_cache": _("not charged: the result was there already"),
    }
    return f"  {names[line.item]}", f"{line.length_ms} ms", reasons[line.reason]


def _market(market: Market) -> str:
    return _("spot") if market == "spot" else _("on demand")
