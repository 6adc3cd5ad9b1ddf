"""Accounts as an operator and their own people see them: opening, plans, money, budgets, prices, the first start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from secondface.control.auth import Caller, Keyring, holder_of
from secondface.control.prices import price_book
from secondface.domain import ledger
from secondface.domain.accounts import REGISTER, Account, Actor, Key, Plan, Role
from secondface.domain.budgets import SPANS, Budget, Span, Spend, period_of
from secondface.domain.jobs import Event, Fact
from secondface.domain.ports import Ids, Recorded, Transactions, UnitOfWork
from secondface.domain.pricing import MICROS, PriceBook, PriceRow
from secondface.errors import AccountMissing, InvalidOption

DEFAULT_ACCOUNT = "default"
_FIRST_START = Actor("first-start")
_HERE = "operator"
"""The person of keys that were made at the machine of the service."""
_FIRST_FUNDS = 1_000 * MICROS
_FIRST_DAY_BUDGET = 100 * MICROS


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An account's money at one moment."""

    account: Account
    currency: str
    balance_micros: int
    held_micros: int
    spends: tuple[Spend, ...]
    """This day's and this month's."""
    budgets: tuple[Budget, ...]


class Accounts:
    """What operators do with accounts, and what accounts see of themselves."""

    def __init__(self, transactions: Transactions, keyring: Keyring, ids: Ids) -> None:
        self._transactions, self._keyring, self._ids = transactions, keyring, ids

    def start(self, show: Callable[[str], None], *, new_key: bool = False) -> bool:
        """Make the default account with money and a budget, and an operator's key: at the first start, or when one is
        asked for because it was lost. Whether one was made; `show` gets its text.

        It is shown before it is stored: a start that dies in between leaves no key that nobody has seen, and the next
        one makes another.
        """
        with self._transactions.begin() as work:
            if work.accounts.lock(DEFAULT_ACCOUNT) is None:
                account = Account(id=DEFAULT_ACCOUNT, name="Default", created_ms=work.now_ms())
                _save(work, account, "account.opened", _FIRST_START)
                reference, currency = self._ids.new("pay"), price_book(work).currency
                work.ledger.post(ledger.deposit(account.id, _FIRST_FUNDS, reference, work.now_ms(), currency))
                work.ledger.set_budget(Budget(f"account:{account.id}", "day", _FIRST_DAY_BUDGET))
            known = work.accounts.keys(DEFAULT_ACCOUNT)
            made = new_key or not known
            if made:
                name = "start" if known else "first start"
                show(self._keyring.issue_within(work, DEFAULT_ACCOUNT, "operator", name=name, person=_HERE)[1])
        return made

    def open(self, caller: Caller, name: str, plan: Plan, credit_micros: int = 0) -> Account:
        """A new account without money."""
        caller.require("admin")
        with self._transactions.begin() as work:
            account = Account(
                id=self._ids.new("acct"), name=name, plan=plan, credit_micros=credit_micros, created_ms=work.now_ms()
            )
            _save(work, account, "account.opened", caller.actor)
        return account

    def change(
        self, caller: Caller, account_id: str, *, name: str | None = None, plan: Mapping[str, Any] | None = None,
        credit_micros: int | None = None, suspended: bool | None = None,
    ) -> Account:  # fmt: skip
        """Change what is given, of the plan too: `plan` has its fields by name. Raises AccountMissing."""
        caller.require("admin")
        with self._transactions.begin() as work:
            account = _found(work, account_id)
            changed = replace(
                account,
                name=account.name if name is None else name,
                plan=replace(account.plan, **(plan or {})),
                credit_micros=account.credit_micros if credit_micros is None else credit_micros,
                suspended=account.suspended if suspended is None else suspended,
            )
            if changed != account:
                _save(work, changed, "account.changed", caller.actor)
                work.remains.set_hours(account.id, changed.plan.retain_inputs_h, changed.plan.retain_outputs_h)
        return changed

    def all(self, caller: Caller) -> Sequence[Account]:
        """Every account, in the order of opening."""
        caller.require("admin")
        with self._transactions.view() as work:
            return accounts_of(work)

    def deposit(self, caller: Caller, account_id: str, micros: int, reference: str) -> Standing:
        """Book money that came in; the same reference twice moves nothing. Raises AccountMissing, InvalidOption."""
        caller.require("admin")
        with self._transactions.begin() as work:
            account = _found(work, account_id)
            entry = ledger.deposit(account.id, micros, f"pay:{reference}", work.now_ms(), price_book(work).currency)
            if work.ledger.post(entry):
                event = Event(account.id, "account.deposit", work.now_ms(), {"micros": micros, "reference": reference})
                work.journal.record(account.id, caller.actor, [event])
        return self.standing(caller, account_id)

    def set_budget(self, caller: Caller, scope: str, span: Span, limit_micros: int) -> Budget:
        """Limit what an account (`account:a`) or a key (`key:k`) may spend in a day or a month."""
        caller.require("admin")
        kind, _, name = scope.partition(":")
        if kind not in ("account", "key") or not name:
            raise InvalidOption(f"{scope!r} is no scope: write account:ID or key:ID.", scope=scope)
        budget = Budget(scope, span, limit_micros)
        with self._transactions.begin() as work:
            work.ledger.set_budget(budget)
            facts: dict[str, Fact] = {"span": span, "limit_micros": limit_micros}
            work.journal.record("operator", caller.actor, [Event(scope, "budget.set", work.now_ms(), facts)])
        return budget

    def issue_key(
        self, caller: Caller, account_id: str, role: Role, name: str = "", expires_ms: int | None = None,
        person: str = "",
    ) -> tuple[Key, str]:  # fmt: skip
        """A new key and its text, shown once. Where no person is named it is the caller's own, for nobody else has
        seen it. Raises AccountMissing."""
        caller.require("admin")
        with self._transactions.view() as work:
            _found(work, account_id)
            holder = person or holder_of(work, caller.account.id, caller.key_id)
        return self._keyring.issue(
            account_id, role, name=name, expires_ms=expires_ms, actor=caller.actor, person=holder
        )  # fmt: skip

    def keys(self, caller: Caller, account_id: str) -> Sequence[Key]:
        """All keys of an account, revoked ones too. Raises AccountMissing."""
        caller.require("admin")
        with self._transactions.view() as work:
            return work.accounts.keys(_found(work, account_id).id)

    def revoke_key(self, caller: Caller, account_id: str, key_id: str) -> Key:
        """Make a key useless. Raises AccountMissing, or AccessProblem where the account has no such key."""
        caller.require("admin")
        with self._transactions.view() as work:
            _found(work, account_id)
        return self._keyring.revoke(account_id, key_id, actor=caller.actor)

    def standing(self, caller: Caller, account_id: str | None = None) -> Standing:
        """Money and budgets of the caller's account; of another one for operators only. Raises AccountMissing."""
        if account_id is not None and account_id != caller.account.id:
            caller.require("admin")
        with self._transactions.view() as work:
            account = _found(work, account_id or caller.account.id)
            scope, currency, now_ms = f"account:{account.id}", price_book(work).currency, work.now_ms()
            return Standing(
                account=account, currency=currency,
                balance_micros=work.ledger.balance(ledger.wallet(account.id), currency),
                held_micros=work.ledger.balance(ledger.held(account.id), currency),
                spends=tuple(work.ledger.spend(scope, period_of(span, now_ms)) for span in SPANS),
                budgets=tuple(work.ledger.budgets([scope, f"key:{caller.key_id}"])),
            )  # fmt: skip

    def entries(self, caller: Caller, before: int | None = None, limit: int = 50) -> Sequence[ledger.Entry]:
        """What moved the caller's money, newest first."""
        caller.require("billing:read")
        own = (ledger.wallet(caller.account.id), ledger.held(caller.account.id))
        with self._transactions.view() as work:
            return work.ledger.entries(accounts=own, before=before, limit=min(limit, 200))[::-1]

    def prices(self) -> PriceBook:
        """All prices, past and coming ones included."""
        with self._transactions.view() as work:
            return price_book(work)

    def set_price(self, caller: Caller, row: PriceRow, at_ms: int | None = None) -> PriceBook:
        """A new price from a moment on (now, if none is given); accepted jobs keep theirs. Raises InvalidOption."""
        caller.require("admin")
        with self._transactions.begin() as work:
            moment = datetime.fromtimestamp((work.now_ms() if at_ms is None else at_ms) / 1000, UTC)
            book = price_book(work).replaced(row, moment)
            work.accounts.save_prices(book)
            facts: dict[str, Fact] = {"market": row.market, "price_micros": row.price_micros}
            event = Event(f"price:{row.tier}", "price.set", work.now_ms(), facts)
            work.journal.record("operator", caller.actor, [event])
        return book

    def audit(self, caller: Caller, after: int = 0, limit: int = 100) -> Sequence[Recorded]:
        """Sealed events of all accounts after a position."""
        caller.require("admin")
        with self._transactions.view() as work:
            return work.journal.audit(None, after, min(limit, 1000))


def accounts_of(work: UnitOfWork) -> list[Account]:
    """Every account, in the order of opening, for parts of the service itself."""
    return [account for each in _opened(work) if (account := work.accounts.get(each)) is not None]


def _found(work: UnitOfWork, account_id: str) -> Account:
    account = work.accounts.get(account_id)
    if account is None:
        raise AccountMissing(account=account_id)
    return account


def _opened(work: UnitOfWork) -> list[str]:
    after, names = 0, list[str]()
    while page := work.journal.since(REGISTER, after):
        after = page[-1].number
        names += [str(each.event.facts["id"]) for each in page if each.event.kind == "account.opened"]
    return names


def _save(work: UnitOfWork, account: Account, kind: str, actor: Actor) -> None:
    work.accounts.save(account)
    facts: dict[str, Fact] = {
        "id": account.id, "name": account.name, "suspended": account.suspended, "credit_micros": account.credit_micros,
    }  # fmt: skip
    work.journal.record(account.id, actor, [Event(REGISTER, kind, work.now_ms(), facts)])
