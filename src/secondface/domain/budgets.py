"""Budgets: how much a key or an account may spend in a day or a month, counted when a job is accepted.

Decides in which period an amount falls and whether it fits. Periods are those of UTC. Must not know stores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from secondface.errors import BudgetExceeded, InternalFault

Span: TypeAlias = Literal["day", "month"]
SPANS: tuple[Span, ...] = ("day", "month")
"""Every span in which spending is counted."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit in micro-units for one scope (`account:a` or `key:k`) and one span of time."""

    scope: str
    span: Span
    limit_micros: int


@dataclass(frozen=True, slots=True)
class Spend:
    """What one scope has spent in one period, and what is set aside for jobs that have not ended."""

    scope: str
    period: str
    reserved_micros: int = 0
    spent_micros: int = 0

    @property
    def total_micros(self) -> int:
        return self.reserved_micros + self.spent_micros


def period_of(span: Span, at_ms: int) -> str:
    """The name of a period: 2026-11-30 or 2026-11."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.strftime("%Y-%m-%d" if span == "day" else "%Y-%m")


def reserve(budget: Budget, spend: Spend, micros: int) -> Spend:
    """Set an amount aside. Raises BudgetExceeded where the period has less left."""
    if spend.total_micros + micros > budget.limit_micros:
        raise BudgetExceeded(
            f"The budget of {budget.scope} for {spend.period} has"
            f" {max(0, budget.limit_micros - spend.total_micros)} micros left; the job may cost {micros}.",
            scope=budget.scope, period=spend.period, needed_micros=micros,
        )  # fmt: skip
    return replace(spend, reserved_micros=spend.reserved_micros + micros)


def settle(spend: Spend, reserved_micros: int, charge_micros: int) -> Spend:
    """Turn what was set aside for a job into what it cost, in the period that accepted it. Raises InternalFault."""
    if not 0 <= charge_micros <= reserved_micros <= spend.reserved_micros:
        raise InternalFault("a budget cannot settle what it did not reserve", scope=spend.scope, period=spend.period)
    return replace(
        spend,
        reserved_micros=spend.reserved_micros - reserved_micros,
        spent_micros=spend.spent_micros + charge_micros,
    )
