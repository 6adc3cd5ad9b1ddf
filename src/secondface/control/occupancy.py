"""What the operator owes for workers: the time that they are there, busy or idle, booked while it passes.

Decides how such time is cut into entries of the ledger. Must not know what a worker is made of, nor what callers pay.
"""

from __future__ import annotations

from dataclasses import dataclass

from secondface.control.prices import price_book
from secondface.domain import ledger
from secondface.domain.ports import Clock, Fleet, Transactions

_SLICE_MS = 60_000
"""Whole slices are booked at once, so that a server that is killed forgets less than one for each of its workers."""


@dataclass(slots=True)
class _Stay:
    """One worker's time here, as far as it is not booked."""

    since_ms: int
    entries: int = 0


class Occupancy:
    """Books the workers of one fleet and tier, at so many micro-units a second each; one that is free is not booked."""

    def __init__(
        self, transactions: Transactions, fleet: Fleet, clock: Clock, *, tier: str, micros_per_s: int
    ) -> None:  # fmt: skip
        self._transactions, self._fleet, self._clock = transactions, fleet, clock
        self._tier, self._micros_per_s = tier, micros_per_s
        self._stays: dict[str, _Stay] = {}

    def step(self) -> int:
        """Book whole minutes of workers that are there, and the rest of those that are gone; returns how many entries.

        Raises StorageUnavailable; the next step then books what this one would have.
        """
        if not self._micros_per_s:
            return 0
        now_ms = self._clock.elapsed_ms()
        present = {worker.id for worker in self._fleet.workers(self._tier)}
        for worker in present - self._stays.keys():
            self._stays[worker] = _Stay(now_ms)
        due = {worker: self._due_ms(worker, now_ms, here=worker in present) for worker in self._stays}
        self._book({worker: occupied_ms for worker, occupied_ms in due.items() if occupied_ms})
        for worker, occupied_ms in due.items():
            stay = self._stays[worker]
            stay.since_ms, stay.entries = stay.since_ms + occupied_ms, stay.entries + bool(occupied_ms)
        for worker in self._stays.keys() - present:
            del self._stays[worker]
        return sum(map(bool, due.values()))

    def _due_ms(self, worker: str, now_ms: int, *, here: bool) -> int:
        occupied_ms = now_ms - self._stays[worker].since_ms
        return occupied_ms // _SLICE_MS * _SLICE_MS if here else occupied_ms

    def _book(self, due: dict[str, int]) -> None:
        if not due:
            return
        with self._transactions.begin() as work:
            currency = price_book(work).currency
            for worker, occupied_ms in due.items():
                entry = ledger.device_cost(
                    f"{worker}/{self._stays[worker].entries}", occupied_ms, self._micros_per_s, work.now_ms(), currency
                )  # fmt: skip
                if entry is not None:
                    work.ledger.post(entry)
