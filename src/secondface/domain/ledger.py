"""Money as double entries: whole micro-units, append-only, every entry's postings sum to zero.

Decides which accounts move for a deposit, hold, capture, release, refund and a device's cost. Must not know stores.
An amount that comes into an account is positive. Accounts of one customer are apart, so that no two customers wait
for each other's rows:

    funding:a  ->  wallet:a  ->  held:a  ->  revenue:a          device_cost  <-  supplier
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from secondface.errors import BudgetExceeded, InternalFault

EntryKind: TypeAlias = Literal["deposit", "hold", "capture", "release", "refund", "device_cost"]

SUPPLIER = "supplier"
"""Whom the operator owes for devices; its balance is minus all that they have cost."""
DEVICE_COST = "device_cost"
"""What devices have cost."""


@dataclass(frozen=True, slots=True)
class Posting:
    """One account's part of an entry, in micro-units."""

    account: str
    micros: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One transaction. (subject, kind) is unique in a ledger: writing it twice moves nothing."""

    subject: str
    """The job's id, or the reference of a payment."""
    kind: EntryKind
    at_ms: int
    currency: str
    postings: tuple[Posting, ...]
    number: int | None = field(default=None, compare=False)
    """Its place in the ledger, once it is written."""

    def __post_init__(self) -> None:
        if len(self.postings) < 2 or sum(posting.micros for posting in self.postings):
            raise InternalFault("an entry's postings do not sum to zero", subject=self.subject, kind=self.kind)


def wallet(account: str) -> str:
    """What a customer may spend."""
    return f"wallet:{account}"


def held(account: str) -> str:
    """What is set aside for a customer's jobs that have not ended."""
    return f"held:{account}"


def revenue(account: str) -> str:
    """What a customer's jobs have brought in."""
    return f"revenue:{account}"


def funding(account: str) -> str:
    """Where a customer's money came from; its balance is minus all that was ever paid in."""
    return f"funding:{account}"


def deposit(account: str, micros: int, reference: str, at_ms: int, currency: str) -> Entry:
    """Money comes in, or a grant is given. Raises InternalFault where it isn't above zero."""
    return _move("deposit", reference, at_ms, currency, source=funding(account), goal=wallet(account), micros=micros)


def hold(
    account: str, job_id: str, micros: int, at_ms: int, currency: str, *, balance_micros: int, credit_micros: int = 0
) -> Entry | None:
    """Set the quote's upper bound aside. None where it is nothing. Raises BudgetExceeded where the wallet is short."""
    if micros > balance_micros + credit_micros:
        raise BudgetExceeded(
            f"The job may cost {micros} micros; {balance_micros + credit_micros} are left.",
            needed_micros=micros, available_micros=balance_micros + credit_micros,
        )  # fmt: skip
    if not micros:
        return None
    return _move("hold", job_id, at_ms, currency, source=wallet(account), goal=held(account), micros=micros)


def settle(
    account: str, job_id: str, hold_micros: int, charge_micros: int, at_ms: int, currency: str
) -> tuple[Entry, ...]:
    """Capture the charge and release the rest; nothing stays held. Raises InternalFault above the hold."""
    if not 0 <= charge_micros <= hold_micros:
        raise InternalFault("a charge must lie within its hold", job=job_id, charge=charge_micros, hold=hold_micros)
    entries: list[Entry] = []
    if charge_micros:
        entries.append(
            _move("capture", job_id, at_ms, currency, source=held(account), goal=revenue(account), micros=charge_micros)
        )
    if rest := hold_micros - charge_micros:
        entries.append(
            _move("release", job_id, at_ms, currency, source=held(account), goal=wallet(account), micros=rest)
        )
    return tuple(entries)


def refund(account: str, job_id: str, captured_micros: int, micros: int, at_ms: int, currency: str) -> Entry:
    """Give back all or part of what a job was charged, once. Raises InternalFault above the capture."""
    if micros > captured_micros:
        raise InternalFault("a refund cannot pass its capture", job=job_id, refund=micros, captured=captured_micros)
    return _move("refund", job_id, at_ms, currency, source=revenue(account), goal=wallet(account), micros=micros)


def device_cost(reference: str, occupied_ms: int, supplier_micros: int, at_ms: int, currency: str) -> Entry | None:
    """What the operator owes for a device that was occupied, per started second. None where it is free."""
    micros = -(-occupied_ms // 1000) * supplier_micros
    if not micros:
        return None
    return _move("device_cost", reference, at_ms, currency, source=SUPPLIER, goal=DEVICE_COST, micros=micros)


def apply(balances: Mapping[str, int], entries: Iterable[Entry]) -> dict[str, int]:
    """Balances after some entries of one currency."""
    after = dict(balances)
    for entry in entries:
        for posting in entry.postings:
            after[posting.account] = after.get(posting.account, 0) + posting.micros
    return after


def _move(kind: EntryKind, subject: str, at_ms: int, currency: str, *, source: str, goal: str, micros: int) -> Entry:
    if micros <= 0:
        raise InternalFault("an entry moves an amount above zero", subject=subject, kind=kind, micros=micros)
    postings = (Posting(source, -micros), Posting(goal, micros))
    return Entry(subject=subject, kind=kind, at_ms=at_ms, currency=currency, postings=postings)
