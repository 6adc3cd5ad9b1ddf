"""A ledger under any order of deposits, holds, settlements and refunds, every one of them tried twice."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from secondface.domain import budgets, ledger
from secondface.domain.budgets import Budget, Spend
from secondface.domain.ledger import Entry
from secondface.errors import BudgetExceeded
from tests.property.histories import histories

MICROS = st.integers(1, 10**9)
ACCOUNT = st.sampled_from(["a", "b"])
LIMIT = 2 * 10**9


class LedgerHistory(RuleBasedStateMachine):
    """Two customers with credit and a budget, and a model: what each paid in, and what each job took."""

    @initialize(credit=st.integers(0, 10**6))
    def open(self, credit: int) -> None:
        self.credit = credit
        self.balances: dict[str, int] = {}
        self.written: dict[tuple[str, str], Entry] = {}
        self.holds: dict[str, tuple[str, int]] = {}
        self.charges: dict[str, tuple[str, int]] = {}
        self.back: dict[str, int] = {}
        self.paid = {"a": 0, "b": 0}
        self.spends = {name: Spend(f"account:{name}", "2026-11-30") for name in "ab"}
        self.number = 0

    def post(self, *entries: Entry) -> None:
        """Write as a store does: an entry that is there already moves nothing."""
        for entry in entries:
            if (entry.subject, entry.kind) not in self.written:
                self.written[entry.subject, entry.kind] = entry
                self.balances = ledger.apply(self.balances, [entry])

    def new_name(self) -> str:
        self.number += 1
        return f"n{self.number}"

    @rule(account=ACCOUNT, micros=MICROS)
    def deposit(self, account: str, micros: int) -> None:
        entry = ledger.deposit(account, micros, self.new_name(), 0, "CNY")
        self.post(entry, entry)
        self.paid[account] += micros

    @rule(account=ACCOUNT, micros=MICROS)
    def hold(self, account: str, micros: int) -> None:
        name, wallet = self.new_name(), self.balances.get(f"wallet:{account}", 0)
        fits = micros <= wallet + self.credit and self.spends[account].total_micros + micros <= LIMIT
        try:
            entry = ledger.hold(
                account, name, micros, 0, "CNY", balance_micros=wallet, credit_micros=self.credit
            )  # fmt: skip
            spend = budgets.reserve(Budget(f"account:{account}", "day", LIMIT), self.spends[account], micros)
        except BudgetExceeded:
            assert not fits
            return
        assert fits
        assert entry is not None
        self.post(entry, entry)
        self.spends[account], self.holds[name] = spend, (account, micros)

    @precondition(lambda self: self.holds)
    @rule(pick=st.integers(0, 99), share=st.fractions(0, 1))
    def settle(self, pick: int, share: float) -> None:
        name = sorted(self.holds)[pick % len(self.holds)]
        account, micros = self.holds.pop(name)
        charge = int(micros * share)
        entries = ledger.settle(account, name, micros, charge, 1, "CNY")
        self.post(*entries, *entries)
        self.spends[account] = budgets.settle(self.spends[account], micros, charge)
        self.charges[name] = account, charge

    @precondition(lambda self: any(charge for _, charge in self.charges.values()))
    @rule(pick=st.integers(0, 99), share=st.fractions(0, 1))
    def refund(self, pick: int, share: float) -> None:
        charged = sorted(name for name, (_, charge) in self.charges.items() if charge)
        name = charged[pick % len(charged)]
        account, charge = self.charges[name]
        entry = ledger.refund(account, name, charge, max(1, int(charge * share)), 2, "CNY")
        self.back.setdefault(name, -min(posting.micros for posting in entry.postings))
        self.post(entry, entry)

    @rule(occupied=st.integers(0, 10**6), price=st.integers(0, 10**4))
    def rent(self, occupied: int, price: int) -> None:
        if entry := ledger.device_cost(self.new_name(), occupied, price, 3, "CNY"):
            self.post(entry, entry)

    # ---- what holds after every step --------------------------------------------------------------------------------

    @invariant()
    def everything_sums_to_zero(self) -> None:
        assert sum(self.balances.values()) == 0

    @invariant()
    def no_wallet_passes_its_credit_and_nothing_held_is_negative(self) -> None:
        for name, micros in self.balances.items():
            assert not name.startswith("wallet:") or micros >= -self.credit
            assert not name.startswith(("held:", "revenue:")) or micros >= 0

    @invariant()
    def what_is_held_is_that_of_open_jobs(self) -> None:
        for account in "ab":
            open_holds = sum(micros for owner, micros in self.holds.values() if owner == account)
            assert self.balances.get(f"held:{account}", 0) == open_holds == self.spends[account].reserved_micros

    @invariant()
    def nobody_pays_for_another(self) -> None:
        for account in "ab":
            charged = sum(charge for owner, charge in self.charges.values() if owner == account)
            back = sum(self.back.get(name, 0) for name, (owner, _) in self.charges.items() if owner == account)
            mine = ("wallet", "held")
            assert sum(self.balances.get(f"{kind}:{account}", 0) for kind in mine) == (
                self.paid[account] - charged + back
            )
            assert self.balances.get(f"revenue:{account}", 0) == charged - back
            assert self.spends[account].spent_micros == charged

    @invariant()
    def no_budget_is_passed(self) -> None:
        assert all(spend.total_micros <= LIMIT for spend in self.spends.values())


TestLedgerHistory = LedgerHistory.TestCase
TestLedgerHistory.settings = histories()
