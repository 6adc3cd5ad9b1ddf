"""What device time costs: usage in whole milliseconds, prices in whole micro-units, a quote before and a receipt after.

Decides which milliseconds are charged and why. Must not know jobs, stores, clocks or how money is shown in a language:
the moment of pricing is an argument, amounts are integers, reasons are codes. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from secondface.errors import InvalidOption

Phase: TypeAlias = Literal["boot", "load", "fetch", "run", "store"]
Market: TypeAlias = Literal["on_demand", "spot"]
Ended: TypeAlias = Literal[
    "succeeded", "failed_by_caller", "cancelled_by_caller", "failed_by_provider", "lost", "preempted", "from_cache"
]
"""How an attempt ended; decides who pays for it."""
Reason: TypeAlias = Literal[
    "device_worked", "device_waited", "before_the_device", "after_the_device",
    "provider_pays", "segment_reused", "from_cache",
]  # fmt: skip
"""Why a line of a receipt is charged or not."""

CALLER_PAYS: frozenset[Ended] = frozenset({"succeeded", "failed_by_caller", "cancelled_by_caller"})
MICROS = 1_000_000
"""Micro-units in one unit of a currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one attempt consumed: phases in ms that follow each other without a gap, and the device's share of `run`."""

    boot_ms: int = 0
    load_ms: int = 0
    fetch_ms: int = 0
    run_ms: int = 0
    store_ms: int = 0
    device_active_ms: int = 0
    """Length of the union of the intervals in which the device worked for this attempt."""
    frames: int = 0
    faces: int = 0
    peak_resident_bytes: int = 0
    peak_device_bytes: int = 0

    def __post_init__(self) -> None:
        if min(self.boot_ms, self.load_ms, self.fetch_ms, self.run_ms, self.store_ms, self.device_active_ms) < 0:
            raise ValueError("no phase of a usage can be negative")
        if self.device_active_ms > self.run_ms:
            raise ValueError(f"device_active_ms {self.device_active_ms} cannot exceed run_ms {self.run_ms}")

    @property
    def wall_ms(self) -> int:
        """The attempt from its first to its last millisecond."""
        return self.boot_ms + self.load_ms + self.fetch_ms + self.run_ms + self.store_ms


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a job, as the bill sees it."""

    number: int
    usage: Usage
    ended: Ended = "succeeded"
    reused_ms: int = 0
    """Device-active ms of finished segments that the final attempt reuses; charged although this attempt was lost."""

    def __post_init__(self) -> None:
        if not 0 <= self.reused_ms <= self.usage.device_active_ms:
            raise ValueError("reused_ms must lie between 0 and device_active_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """The price of one device-second in a tier and market, for a family of models, between two moments."""

    tier: str
    market: Market = "on_demand"
    family: str = "*"
    price_micros: int
    """Micro-units of the book's currency for one device-second."""
    minimum_s: int = 1
    step_s: int = 1
    """Charged seconds are rounded up to a multiple of this."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    def __post_init__(self) -> None:
        if self.price_micros < 0 or self.minimum_s < 0 or self.step_s < 1:
            raise ValueError("a price row needs price >= 0, minimum >= 0 and a step of at least one second")

    def covers(self, at: datetime) -> bool:
        """Whether the row holds at that moment; the end is exclusive, so that rows can follow each other."""
        return (self.valid_from is None or self.valid_from <= at) and (
            self.valid_until is None or at < self.valid_until
        )

    def charged_s(self, active_ms: int) -> int:
        """Whole seconds to charge; none where the device never worked."""
        if active_ms <= 0:
            return 0
        steps = -(-active_ms // (1000 * self.step_s))
        return max(steps * self.step_s, self.minimum_s)

    def charge_micros(self, active_ms: int) -> int:
        return self.charged_s(active_ms) * self.price_micros

    def affordable_ms(self, limit_micros: int) -> int | None:
        """The most device-active ms whose charge stays within the limit; None: any, because the price is zero."""
        if not self.price_micros:
            return None
        seconds = limit_micros // self.price_micros
        return seconds // self.step_s * self.step_s * 1000 if seconds >= self.minimum_s else 0


@dataclass(frozen=True, slots=True)
class PriceBook:
    """All prices of an operator in one currency."""

    currency: str
    rows: tuple[PriceRow, ...]

    def price(self, tier: str, market: Market, at: datetime, family: str = "*") -> PriceRow:
        """The row that holds at `at`: a row of the family wins over `*`, a later start wins over an earlier one."""
        fitting = [r for r in self.rows if r.tier == tier and r.market == market and r.covers(at)]
        for wanted in (family, "*"):
            rows = [r for r in fitting if r.family == wanted]
            if rows:
                return max(rows, key=lambda r: r.valid_from.timestamp() if r.valid_from else float("-inf"))
        raise InvalidOption(
            f"No price for tier {tier} ({market}); the price book has: {', '.join(self.tiers())}.",
            tier=tier,
            market=market,
        )

    def replaced(self, row: PriceRow, at: datetime) -> PriceBook:
        """A version of the book in which `row` holds from `at` on, and the row that it follows ends there.

        What was accepted before keeps its price: rows are closed, never changed or removed.
        """
        same = [r for r in self.rows if (r.tier, r.market, r.family) == (row.tier, row.market, row.family)]
        if any(r.valid_from is not None and r.valid_from >= at for r in same):
            raise InvalidOption("A price cannot start before a later one that is in the book.", tier=row.tier)
        closed = {id(r): replace(r, valid_until=at) for r in same if r.covers(at)}
        return PriceBook(
            self.currency, (*(closed.get(id(r), r) for r in self.rows), replace(row, valid_from=at, valid_until=None))
        )

    def tiers(self) -> tuple[str, ...]:
        """Tier names in the order of the book."""
        return tuple(dict.fromkeys(row.tier for row in self.rows))


def spot(row: PriceRow, off_percent: int = 70) -> PriceRow:
    """The same row on the spot market, that many percent cheaper, rounded up to a whole micro-unit."""
    return PriceRow(
        tier=row.tier, market="spot", family=row.family, price_micros=-(-row.price_micros * (100 - off_percent) // 100),
        minimum_s=row.minimum_s, step_s=row.step_s, valid_from=row.valid_from, valid_until=row.valid_until,
    )  # fmt: skip


def default_price_book() -> PriceBook:
    """The prices that secondface starts with; an operator's own book replaces them."""
    on_demand = [
        PriceRow(tier="cpu", price_micros=300),
        PriceRow(tier="t4", price_micros=1_800),
        PriceRow(tier="a10g", price_micros=3_000),
        PriceRow(tier="v100", price_micros=4_800),
    ]
    return PriceBook("CNY", tuple(row for base in on_demand for row in (base, spot(base))))


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """One stretch of one attempt; `device` is the part of the run in which the device worked, `run` the rest of it."""

    attempt: int
    item: Literal["boot", "load", "fetch", "device", "run", "store"]
    length_ms: int
    charged_ms: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Receipt:
    """Usage turned into money, line by line. The lines' lengths sum to the wall time of all attempts."""

    currency: str
    price: PriceRow
    lines: tuple[ReceiptLine, ...]
    charged_ms: int
    charged_s: int
    total_micros: int
    waived_micros: int = 0
    """What the seconds would have cost above the bound that the caller was promised; not part of the total."""


def receipt(
    attempts: Sequence[Attempt], price: PriceRow, currency: str = "CNY", *, bound_micros: int | None = None
) -> Receipt:
    """The bill of one job: rounded once, on the sum of what may be charged in all its attempts.

    Never above `bound_micros`, the promise of the quote: what goes beyond is the provider's loss, and is shown.
    """
    lines = tuple(line for attempt in attempts for line in _lines(attempt))
    charged_ms = sum(line.charged_ms for line in lines)
    full_micros = price.charge_micros(charged_ms)
    total_micros = full_micros if bound_micros is None else min(full_micros, bound_micros)
    return Receipt(
        currency, price, lines, charged_ms, price.charged_s(charged_ms), total_micros, full_micros - total_micros
    )


def _lines(attempt: Attempt) -> list[ReceiptLine]:
    usage, number = attempt.usage, attempt.number
    charged_ms, why = _device_share(attempt)
    active_ms = usage.device_active_ms
    lines = [
        ReceiptLine(number, "boot", usage.boot_ms, 0, "before_the_device"),
        ReceiptLine(number, "load", usage.load_ms, 0, "before_the_device"),
        ReceiptLine(number, "fetch", usage.fetch_ms, 0, "before_the_device"),
    ]
    if 0 < charged_ms < active_ms:
        lines.append(ReceiptLine(number, "device", charged_ms, charged_ms, why))
        lines.append(ReceiptLine(number, "device", active_ms - charged_ms, 0, "provider_pays"))
    else:
        lines.append(ReceiptLine(number, "device", active_ms, charged_ms, why))
    lines.append(ReceiptLine(number, "run", usage.run_ms - active_ms, 0, "device_waited"))
    lines.append(ReceiptLine(number, "store", usage.store_ms, 0, "after_the_device"))
    return lines


def _device_share(attempt: Attempt) -> tuple[int, Reason]:
    if attempt.ended == "from_cache":
        return 0, "from_cache"
    if attempt.ended in CALLER_PAYS:
        return attempt.usage.device_active_ms, "device_worked"
    if attempt.reused_ms:
        return attempt.reused_ms, "segment_reused"
    return 0, "provider_pays"


@dataclass(frozen=True, slots=True)
class Quote:
    """What a job will cost, before it runs."""

    currency: str
    price: PriceRow
    expected_s: int
    expected_micros: int
    upper_s: int
    upper_micros: int
    expected_active_ms: int = 0
    """Device-active ms, before rounding to seconds."""
    expected_wall_ms: int = 0
    """Time until the result, in ms: waiting, start, inputs and outputs included, as far as they were given."""


def quote(
    frames: int, active_us_per_frame: int, price: PriceRow, currency: str = "CNY", margin_percent: int = 25,
    *, wall_us_per_frame: int | None = None, other_ms: int = 0,
) -> Quote:  # fmt: skip
    """Expected and upper cost of `frames` frames, from the device's measured microseconds per frame on that tier.

    `wall_us_per_frame` is the measured time from frame to frame (default: the device's), `other_ms` all that is not
    the run: waiting, start, inputs, outputs.
    """
    expected_ms = -(-frames * active_us_per_frame // 1000)
    upper_ms = -(-expected_ms * (100 + margin_percent) // 100)
    wall_us = frames * max(active_us_per_frame, wall_us_per_frame or 0)
    return Quote(
        currency, price, price.charged_s(expected_ms), price.charge_micros(expected_ms),
        price.charged_s(upper_ms), price.charge_micros(upper_ms), expected_ms, -(-wall_us // 1000) + other_ms,
    )  # fmt: skip


_SIGNS = {"CNY": "¥", "USD": "$", "EUR": "€"}


def format_micros(micros: int, currency: str = "CNY") -> str:
    """An exact amount to read: at least two decimals, as many as needed, never rounded. 72000 is '¥0.072'."""
    whole, part = divmod(abs(micros), MICROS)
    decimals = f"{part:06d}".rstrip("0").ljust(2, "0")
    sign = _SIGNS.get(currency, f"{currency} ")
    return f"{'-' if micros < 0 else ''}{sign}{whole}.{decimals}"
