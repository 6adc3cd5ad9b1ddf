"""A price book under any order of new prices: what was offered at a moment stays what it was, and a quote is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from secondface.domain.pricing import Attempt, Market, PriceBook, PriceRow, Usage, quote, receipt
from secondface.errors import InvalidOption
from tests.property.histories import histories

START = datetime(2026, 1, 1, tzinfo=UTC)
MARKETS = st.sampled_from(["on_demand", "spot"])
FAMILIES = st.sampled_from(["*", "swap"])
Kind = tuple[str, Market, str]


class PriceHistory(RuleBasedStateMachine):
    """Two tiers, and a model of who was offered what: every price that anybody ever saw, with its moment."""

    @initialize(micros=st.integers(0, 5_000))
    def open(self, micros: int) -> None:
        self.minute = 0
        self.rows: dict[Kind, list[tuple[int, int]]] = {}
        self.offered: list[tuple[int, Kind, PriceRow]] = []
        first = [PriceRow(tier=tier, price_micros=micros) for tier in ("cpu", "t4")]
        self.book = PriceBook("CNY", tuple(first))
        for row in first:
            self.rows[row.tier, row.market, row.family] = [(-1, micros)]

    def moment(self, minute: int) -> datetime:
        return START + timedelta(minutes=minute)

    def expected(self, minute: int, tier: str, market: Market, family: str) -> int | None:
        """The latest price of the family that had begun by then, else of all families."""
        for wanted in (family, "*"):
            begun = [micros for since, micros in self.rows.get((tier, market, wanted), []) if since <= minute]
            if begun:
                return begun[-1]
        return None

    @rule(minutes=st.integers(0, 10_000))
    def time_passes(self, minutes: int) -> None:
        self.minute += minutes

    @rule(
        tier=st.sampled_from(["cpu", "t4"]), market=MARKETS, family=FAMILIES, micros=st.integers(0, 5_000),
        ahead=st.integers(0, 1_000), minimum=st.integers(0, 5), step=st.integers(1, 60),
    )  # fmt: skip
    def set_price(
        self, tier: str, market: Market, family: str, micros: int, ahead: int, minimum: int, step: int
    ) -> None:  # fmt: skip
        since = self.minute + ahead
        row = PriceRow(
            tier=tier, market=market, family=family, price_micros=micros, minimum_s=minimum, step_s=step
        )  # fmt: skip
        known = self.rows.setdefault((tier, market, family), [])
        try:
            self.book = self.book.replaced(row, self.moment(since))
        except InvalidOption:
            assert known[-1][0] >= since
        else:
            assert not known or known[-1][0] < since
            known.append((since, micros))

    @rule(tier=st.sampled_from(["cpu", "t4"]), market=MARKETS, family=FAMILIES)
    def offer(self, tier: str, market: Market, family: str) -> None:
        try:
            row = self.book.price(tier, market, self.moment(self.minute), family)
        except InvalidOption:
            assert self.expected(self.minute, tier, market, family) is None
            return
        assert row.price_micros == self.expected(self.minute, tier, market, family)
        self.offered.append((self.minute, (tier, market, family), row))

    @rule(
        frames=st.integers(1, 10_000), us=st.integers(0, 10**6), margin=st.integers(0, 400), used=st.integers(0, 10**7)
    )
    def quote_and_run(self, frames: int, us: int, margin: int, used: int) -> None:
        """Whatever a job then uses, its bill stays within the bound of its quote, at the price of that moment."""
        for _, _, row in self.offered[-1:]:
            made = quote(frames, us, row, margin_percent=margin)
            assert made.expected_micros <= made.upper_micros
            bill = receipt([Attempt(1, Usage(run_ms=used, device_active_ms=used))], row, bound_micros=made.upper_micros)
            assert bill.total_micros <= made.upper_micros
            assert bill.total_micros + bill.waived_micros == row.charge_micros(used)
            assert used > made.expected_active_ms or not bill.waived_micros

    @invariant()
    def what_was_offered_still_holds_for_its_moment(self) -> None:
        for minute, (tier, market, family), row in self.offered:
            again = self.book.price(tier, market, self.moment(minute), family)
            assert again.price_micros == self.expected(minute, tier, market, family)
            # A row that ends later is the same offer; one that was set for the same moment has taken its place.
            later = [since for since, _ in self.rows[tier, market, again.family] if since == minute]
            assert later or (again.price_micros, again.minimum_s, again.step_s) == (
                row.price_micros, row.minimum_s, row.step_s,
            )  # fmt: skip

    @invariant()
    def one_row_holds_at_a_time(self) -> None:
        for tier, market, family in self.rows:
            same = [r for r in self.book.rows if (r.tier, r.market, r.family) == (tier, market, family)]
            assert sum(row.covers(self.moment(self.minute)) for row in same) <= 1
            assert sum(row.valid_until is None for row in same) <= 1


TestPriceHistory = PriceHistory.TestCase
TestPriceHistory.settings = histories()
