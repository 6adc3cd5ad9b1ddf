"""The ledger and the budgets' counters in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Table, bindparam, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from secondface.domain.budgets import Budget, Spend
from secondface.domain.ledger import Entry, Posting
from secondface.storage.tables import BALANCES, BUDGETS, ENTRIES, POSTINGS, SPENDS

# What every job asks several times is put together once: that takes longer than SQLite needs to answer.
_BALANCE = select(BALANCES.c.micros).where(
    BALANCES.c.account == bindparam("account"), BALANCES.c.currency == bindparam("currency")
)
_MOVE = (
    update(BALANCES)
    .where(BALANCES.c.account == bindparam("of_account"), BALANCES.c.currency == bindparam("of_currency"))
    .values(micros=BALANCES.c.micros + bindparam("step"))
)
_POSTING = insert(POSTINGS)
_SPEND = select(SPENDS).where(SPENDS.c.scope == bindparam("scope"), SPENDS.c.period == bindparam("period"))
_LOCKED_SPEND = _SPEND.with_for_update()
_SAVE_SPEND = (
    update(SPENDS)
    .where(SPENDS.c.scope == bindparam("of_scope"), SPENDS.c.period == bindparam("of_period"))
    .values(reserved_micros=bindparam("reserved"), spent_micros=bindparam("spent"))
)


def insert_or_ignore(connection: Connection, table: Table, values: dict[str, object]) -> bool:
    """Insert a row; False where one with the same key is there. PostgreSQL waits for one that is not yet committed."""
    return inserted_key(connection, table, values) is not None


def inserted_key(connection: Connection, table: Table, values: dict[str, object]) -> Any:
    """The same, with the first column of the new row's key; None where a row is there."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    key = next(iter(table.primary_key.columns))
    inserted = dialect.insert(table).values(values).on_conflict_do_nothing().returning(key)
    return connection.scalar(inserted)


class SqlLedger:
    """Entries, postings, balances and budgets inside one transaction."""

    def __init__(self, connection: Connection, *, read_only: bool) -> None:
        self._connection, self._read_only = connection, read_only

    def post(self, entry: Entry) -> bool:
        head: dict[str, object] = {name: getattr(entry, name) for name in ("subject", "kind", "at_ms", "currency")}
        number = inserted_key(self._connection, ENTRIES, head)
        if number is None:
            return False
        for posting in sorted(entry.postings, key=lambda each: each.account):  # one order for all: no deadlock
            self._connection.execute(_POSTING, {"entry": number, "account": posting.account, "micros": posting.micros})
            self._move(posting, entry.currency)
        return True

    def balance(self, account: str, currency: str) -> int:
        return self._connection.scalar(_BALANCE, {"account": account, "currency": currency}) or 0

    def entries(
        self, subject: str | None = None, *, accounts: Sequence[str] = (), before: int | None = None, limit: int = 1_000
    ) -> Sequence[Entry]:
        wanted = select(ENTRIES.c.number).order_by(ENTRIES.c.number.desc()).limit(limit)
        if subject is not None:
            wanted = wanted.where(ENTRIES.c.subject == subject)
        if accounts:
            wanted = wanted.where(
                ENTRIES.c.number.in_(select(POSTINGS.c.entry).where(POSTINGS.c.account.in_(accounts)))
            )
        if before is not None:
            wanted = wanted.where(ENTRIES.c.number < before)
        numbers = wanted.subquery()
        query = (
            select(ENTRIES, POSTINGS.c.account, POSTINGS.c.micros)
            .join(POSTINGS, POSTINGS.c.entry == ENTRIES.c.number)
            .where(ENTRIES.c.number.in_(select(numbers.c.number)))
            .order_by(ENTRIES.c.number, POSTINGS.c.micros, POSTINGS.c.account)
        )
        rows = self._connection.execute(query).mappings().all()
        heads = {row["number"]: row for row in rows}
        return [
            Entry(
                number=number, subject=head["subject"], kind=head["kind"], at_ms=head["at_ms"],
                currency=head["currency"],
                postings=tuple(Posting(row["account"], row["micros"]) for row in rows if row["number"] == number),
            )
            for number, head in heads.items()
        ]  # fmt: skip

    def imbalance(self) -> int:
        return int(self._connection.scalar(select(func.sum(POSTINGS.c.micros))) or 0)

    def budgets(self, scopes: Iterable[str]) -> Sequence[Budget]:
        query = select(BUDGETS).where(BUDGETS.c.scope.in_(list(scopes))).order_by(BUDGETS.c.scope, BUDGETS.c.span)
        return [Budget(**row) for row in self._connection.execute(query).mappings()]

    def set_budget(self, budget: Budget) -> None:
        if not insert_or_ignore(self._connection, BUDGETS, asdict(budget)):
            mine = (BUDGETS.c.scope == budget.scope, BUDGETS.c.span == budget.span)
            self._connection.execute(update(BUDGETS).where(*mine).values(limit_micros=budget.limit_micros))

    def spend(self, scope: str, period: str) -> Spend:
        mine = {"scope": scope, "period": period}
        if self._read_only:
            row = self._connection.execute(_SPEND, mine).mappings().one_or_none()
            return Spend(**row) if row else Spend(scope, period)
        if row := self._connection.execute(_LOCKED_SPEND, mine).mappings().one_or_none():
            return Spend(**row)
        insert_or_ignore(self._connection, SPENDS, asdict(Spend(scope, period)))
        return Spend(**self._connection.execute(_LOCKED_SPEND, mine).mappings().one())

    def save_spend(self, spend: Spend) -> None:
        changed = {
            "of_scope": spend.scope, "of_period": spend.period, "reserved": spend.reserved_micros,
            "spent": spend.spent_micros,
        }  # fmt: skip
        self._connection.execute(_SAVE_SPEND, changed)

    def _move(self, posting: Posting, currency: str) -> None:
        moved = {"of_account": posting.account, "of_currency": currency, "step": posting.micros}
        if self._connection.execute(_MOVE, moved).rowcount:
            return
        first: dict[str, object] = {"account": posting.account, "currency": currency, "micros": 0}
        insert_or_ignore(self._connection, BALANCES, first)
        self._connection.execute(_MOVE, moved)
