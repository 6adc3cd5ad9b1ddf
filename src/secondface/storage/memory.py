"""Every store in memory, for tests and trials: the same promises as SQL, kept by one lock and copies.

What is in it is gone with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from secondface.domain.accounts import Account, Key
from secondface.domain.audit import SignedHead
from secondface.domain.budgets import Budget, Spend
from secondface.domain.deliveries import Delivery, Endpoint
from secondface.domain.jobs import Job
from secondface.domain.ledger import Entry
from secondface.domain.one_time_codes import CodeBook
from secondface.domain.ports import Clock, Recorded, UnitOfWork
from secondface.domain.pricing import PriceBook
from secondface.domain.protected import Protected
from secondface.domain.retention import Remains
from secondface.domain.uploads import UploadShare
from secondface.storage.memory_jobs import MemoryJobs
from secondface.storage.memory_records import (
    MemoryAccounts,
    MemoryCache,
    MemoryJournal,
    MemoryLedger,
    MemoryOutbox,
    MemoryProtected,
    MemoryReplays,
)
from secondface.storage.memory_trust import MemoryCodes, MemoryRemains, MemoryUploads


@dataclass(slots=True)
class Shelves:
    """All that is stored. Values are frozen, so a copy of the shelves is a copy of everything."""

    jobs: dict[str, Job] = field(default_factory=dict[str, Job])
    shares: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    accounts: dict[str, Account] = field(default_factory=dict[str, Account])
    keys: dict[str, Key] = field(default_factory=dict[str, Key])
    books: dict[str, PriceBook] = field(default_factory=dict[str, PriceBook])
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict[tuple[str, str], Entry])
    balances: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    budgets: dict[tuple[str, str], Budget] = field(default_factory=dict[tuple[str, str], Budget])
    spends: dict[tuple[str, str], Spend] = field(default_factory=dict[tuple[str, str], Spend])
    events: dict[int, Recorded] = field(default_factory=dict[int, Recorded])
    endpoints: dict[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    deliveries: dict[str, Delivery] = field(default_factory=dict[str, Delivery])
    protected: dict[str, Protected] = field(default_factory=dict[str, Protected])
    replays: dict[tuple[str, str], tuple[str, str, int]] = field(
        default_factory=dict[tuple[str, str], tuple[str, str, int]]
    )
    cache: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    heads: dict[tuple[str, int], SignedHead] = field(default_factory=dict[tuple[str, int], SignedHead])
    codes: dict[str, CodeBook] = field(default_factory=dict[str, CodeBook])
    remains: dict[str, Remains] = field(default_factory=dict[str, Remains])
    uploads: dict[str, UploadShare] = field(default_factory=dict[str, UploadShare])

    def copy(self) -> Shelves:
        return Shelves(**{each.name: dict(getattr(self, each.name)) for each in fields(self)})


class MemoryUnitOfWork:
    """All stores over one set of shelves."""

    def __init__(self, shelves: Shelves, now_ms: int) -> None:
        self._now_ms = now_ms
        self.jobs = MemoryJobs(shelves.jobs, shelves.shares, shelves.accounts, now_ms)
        self.ledger = MemoryLedger(shelves.entries, shelves.balances, shelves.budgets, shelves.spends)
        self.accounts = MemoryAccounts(shelves.accounts, shelves.keys, shelves.books)
        self.journal = MemoryJournal(shelves.events, shelves.heads)
        self.outbox = MemoryOutbox(shelves.endpoints, shelves.deliveries, now_ms)
        self.protected = MemoryProtected(shelves.protected)
        self.replays = MemoryReplays(shelves.replays, now_ms)
        self.cache = MemoryCache(shelves.cache, now_ms)
        self.codes, self.remains = MemoryCodes(shelves.codes), MemoryRemains(shelves.remains)
        self.uploads = MemoryUploads(shelves.uploads)

    def now_ms(self) -> int:
        return self._now_ms


class MemoryTransactions:
    """Transactions one after another: each works on a copy, which replaces the original when it ends well."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._shelves = Shelves()
        self._writing = threading.Lock()
        self._tasks: dict[str, threading.Lock] = {}

    @contextmanager
    def begin(self) -> Generator[UnitOfWork, None, None]:
        with self._writing:
            copy = self._shelves.copy()
            yield MemoryUnitOfWork(copy, self._clock.now_ms())
            self._shelves = copy

    @contextmanager
    def view(self) -> Generator[UnitOfWork, None, None]:
        yield MemoryUnitOfWork(self._shelves.copy(), self._clock.now_ms())

    @contextmanager
    def sole(self, task: str) -> Generator[bool, None, None]:
        lock = self._tasks.setdefault(task, threading.Lock())
        mine = lock.acquire(blocking=False)
        try:
            yield mine
        finally:
            if mine:
                lock.release()
