"""The prices that hold in a transaction."""

from __future__ import annotations

from secondface.domain.ports import UnitOfWork
from secondface.domain.pricing import PriceBook, default_price_book


def price_book(work: UnitOfWork) -> PriceBook:
    """The operator's own book, or before there is one the one that secondface comes with."""
    return work.accounts.prices() or default_price_book()
