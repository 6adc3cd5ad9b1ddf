"""Accounts, keys and prices in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, insert, select, update

from secondface.domain.accounts import Account, Key
from secondface.domain.pricing import PriceBook
from secondface.storage.rows import account_of, account_row, book_of, key_of, key_row, price_row
from secondface.storage.sql_ledger import insert_or_ignore
from secondface.storage.tables import ACCOUNTS, KEYS, LOADS, PRICES

_ACCOUNT = select(ACCOUNTS).where(ACCOUNTS.c.id == bindparam("id"))
_LOCKED_ACCOUNT = _ACCOUNT.with_for_update()
_PRICES = select(PRICES).order_by(PRICES.c.number)
_BY_DIGEST = select(KEYS).where(KEYS.c.digest == bindparam("digest"))


class SqlAccounts:
    """Accounts inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def save(self, account: Account) -> None:
        if insert_or_ignore(self._connection, ACCOUNTS, account_row(account)):
            load = {"account": account.id, "running": 0, "max_running": account.plan.max_running}
            self._connection.execute(insert(LOADS), load)
            return
        self._connection.execute(update(ACCOUNTS).where(ACCOUNTS.c.id == account.id).values(account_row(account)))
        most = update(LOADS).where(LOADS.c.account == account.id).values(max_running=account.plan.max_running)
        self._connection.execute(most)

    def get(self, account_id: str) -> Account | None:
        row = self._connection.execute(_ACCOUNT, {"id": account_id}).mappings().one_or_none()
        return account_of(row) if row else None

    def lock(self, account_id: str) -> Account | None:
        row = self._connection.execute(_LOCKED_ACCOUNT, {"id": account_id}).mappings().one_or_none()
        return account_of(row) if row else None

    def save_key(self, key: Key) -> None:
        if not insert_or_ignore(self._connection, KEYS, key_row(key)):
            self._connection.execute(update(KEYS).where(KEYS.c.id == key.id).values(key_row(key)))

    def find_key(self, digest: str) -> Key | None:
        row = self._connection.execute(_BY_DIGEST, {"digest": digest}).mappings().one_or_none()
        return key_of(row) if row else None

    def keys(self, account_id: str) -> Sequence[Key]:
        query = select(KEYS).where(KEYS.c.account == account_id).order_by(KEYS.c.id)
        return [key_of(row) for row in self._connection.execute(query).mappings()]

    def prices(self) -> PriceBook | None:
        return book_of(self._connection.execute(_PRICES).mappings())

    def save_prices(self, book: PriceBook) -> None:
        known = len(self._connection.scalars(select(PRICES.c.number)).all())
        for number, price in enumerate(book.rows):
            row = {"number": number, "currency": book.currency, **price_row(price)}
            if number < known:  # an old row may only have been closed
                closed = update(PRICES).where(PRICES.c.number == number).values(valid_until=row["valid_until"])
                self._connection.execute(closed)
            else:
                self._connection.execute(insert(PRICES), row)
