"""What the rules need from the world, as protocols of at most eight methods; one conformance suite per port.

Whoever runs attempts (`fleet`) meets the control plane through this module alone, so it hands on the values it needs.
Moments are whole milliseconds since 1970 on the database's clock; amounts are whole micro-units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

from secondface.domain.accounts import Account, Actor, Key
from secondface.domain.audit import HeadKind, SignedHead
from secondface.domain.budgets import Budget, Spend
from secondface.domain.deliveries import Delivery, Endpoint
from secondface.domain.findings import Finding
from secondface.domain.jobs import Event, Fact, Job, JobState, Lease, Segment, StopReason
from secondface.domain.ledger import Entry
from secondface.domain.pricing import Market, PriceBook, Usage
from secondface.domain.protected import Protected, ProtectedPeople
from secondface.domain.scaling import Worker
from secondface.domain.trust_ports import CodeBooks, RemainsStore, UploadShares

Method: TypeAlias = Literal["GET", "PUT"]
Facts: TypeAlias = Mapping[str, Fact]
NO_FACTS: Facts = MappingProxyType({})


# ---- time and names --------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Where moments come from when no database is asked."""

    def now_ms(self) -> int:
        """Milliseconds since 1970; may jump."""
        ...

    def elapsed_ms(self) -> int:
        """Milliseconds since some moment; never goes back."""
        ...


class Ids(Protocol):
    """Where names and secrets come from."""

    def new(self, prefix: str) -> str:
        """A name that nobody has yet, later ones sorting after earlier ones: `job_01J…`."""
        ...

    def made_ms(self, name: str) -> int | None:
        """When `new` made a name; None where it was made elsewhere."""
        ...

    def secret(self) -> str:
        """A text that nobody can guess, for keys and signatures."""
        ...


# ---- stores, all inside one transaction ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What a worker can take: tiers that it serves, and whether it runs nothing else (a suspect job needs that)."""

    worker: str
    tiers: tuple[str, ...]
    lease_ms: int = 15_000
    alone: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """A tier's work at one moment, in expected device milliseconds."""

    tier: str
    queued_jobs: int = 0
    queued_ms: int = 0
    oldest_queued_ms: int | None = None
    running_jobs: int = 0
    running_ms: int = 0


class JobStore(Protocol):
    """Jobs with their attempts and segments."""

    def add(self, job: Job) -> Job:
        """Store a new job; a queued one gets its turn in the fair order between accounts."""
        ...

    def get(self, job_id: str) -> Job:
        """The job as it is now. Raises JobMissing."""
        ...

    def lock(self, job_id: str) -> Job:
        """The same, and nobody else changes it before this transaction ends. Raises JobMissing."""
        ...

    def save(self, before: Job, after: Job) -> None:
        """Store a transition of a locked job; one that enters the queue gets its turn."""
        ...

    def claim(self, offer: Offer) -> tuple[Job, tuple[Event, ...]] | None:
        """The next job for a worker, leased to it on the database's clock; None where there is none for it."""
        ...

    def marked(self, watermark: str) -> Job | None:
        """The job whose output has this watermark, 16 hex digits."""
        ...

    def overdue(self, limit: int) -> Sequence[str]:
        """Jobs whose lease has run out or whose deadline has passed, oldest first; the caller locks and judges."""
        ...

    def page(
        self, account: str | None, states: Iterable[JobState] = (), after: str | None = None, limit: int = 50
    ) -> Sequence[Job]:
        """Jobs of an account (None: of all), newest first, those named before `after`."""
        ...

    def queues(self) -> Sequence[QueueView]:
        """Each tier that has work."""
        ...


class LedgerStore(Protocol):
    """The ledger, and what budgets have counted."""

    def post(self, entry: Entry) -> bool:
        """Write an entry; False, and nothing moves, where (subject, kind) is there already."""
        ...

    def balance(self, account: str, currency: str) -> int:
        """Sum of an account's postings, in micros."""
        ...

    def entries(
        self, subject: str | None = None, *, accounts: Sequence[str] = (), before: int | None = None, limit: int = 1_000
    ) -> Sequence[Entry]:
        """The last entries of a job or payment, or that moved one of some accounts, in the order of writing.

        `before` leaves out those from that number on.
        """
        ...

    def imbalance(self) -> int:
        """Sum of all postings; anything but zero is a defect."""
        ...

    def budgets(self, scopes: Iterable[str]) -> Sequence[Budget]:
        """The budgets of some scopes."""
        ...

    def set_budget(self, budget: Budget) -> None:
        """Set the limit of one scope and span."""
        ...

    def spend(self, scope: str, period: str) -> Spend:
        """What was counted so far; nobody else changes it before this transaction ends."""
        ...

    def save_spend(self, spend: Spend) -> None:
        """Store a counter that `spend` gave."""
        ...


class AccountStore(Protocol):
    """Accounts, their keys, and the prices that they are offered."""

    def save(self, account: Account) -> None:
        """Store a new account, or a changed one under its id."""
        ...

    def get(self, account_id: str) -> Account | None: ...

    def lock(self, account_id: str) -> Account | None:
        """The account; nobody else locks it before this transaction ends. Admissions of one account go in turn."""
        ...

    def save_key(self, key: Key) -> None:
        """Store a new key, or a changed one under its id."""
        ...

    def find_key(self, digest: str) -> Key | None: ...

    def keys(self, account_id: str) -> Sequence[Key]:
        """All keys of an account, revoked ones included."""
        ...

    def prices(self) -> PriceBook | None:
        """The book with every row that was ever valid; None before one was stored."""
        ...

    def save_prices(self, book: PriceBook) -> None:
        """Store a book that `PriceBook.replaced` made of the stored one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event as it was written down."""

    number: int
    """Rises within a subject; what a stream resumes after."""
    account: str
    actor: Actor
    event: Event
    position: int | None = None
    """Place in the chain of digests; none before it was sealed."""
    digest: str | None = None


class Journal(Protocol):
    """Every event, in one table: the stream, webhooks and the audit read it."""

    def record(self, account: str, actor: Actor, events: Iterable[Event]) -> None:
        """Write events down, in this transaction."""
        ...

    def since(self, subject: str, number: int = 0, limit: int = 1000) -> Sequence[Recorded]:
        """Events of one subject after a number."""
        ...

    def audit(self, account: str | None, after: int = 0, limit: int = 100) -> Sequence[Recorded]:
        """Sealed events of an account (None: of all) after a position."""
        ...

    def seal(self, limit: int = 1000) -> int:
        """Chain events that are not sealed yet; returns how many. One sealer works at a time."""
        ...

    def broken(self) -> int | None:
        """The first position after the last checkpoint whose digest does not fit; None: whole."""
        ...

    def save_head(self, head: SignedHead) -> None:
        """Store a signed word of the chain."""
        ...

    def heads(self, kind: HeadKind, newest: int | None = None) -> Sequence[SignedHead]:
        """The signed words of a kind, in the order of their positions: all, or so many of the last."""
        ...

    def prune(self, checkpoint: SignedHead, keep_subject: str) -> int:
        """Store a checkpoint and remove the rows and signed words up to it; returns how many rows.

        Rows of `keep_subject` stay without their addresses.
        """
        ...


class Outbox(Protocol):
    """Endpoints of webhooks, and what is on its way to them."""

    def save_endpoint(self, endpoint: Endpoint) -> None:
        """Store a new endpoint, or a changed one under its id."""
        ...

    def endpoints(self, account: str) -> Sequence[Endpoint]: ...

    def put(self, delivery: Delivery) -> None:
        """Store a new delivery, or a changed one under its id."""
        ...

    def due(self, limit: int, lease_ms: int) -> Sequence[Delivery]:
        """Deliveries to send now; nobody else gets them before `lease_ms` is over."""
        ...

    def find(self, delivery_id: str) -> Delivery | None: ...

    def page(self, account: str, after: str | None = None, limit: int = 50) -> Sequence[Delivery]:
        """An account's deliveries, newest first, those named before `after`."""
        ...


class ProtectedStore(Protocol):
    """The list of protected people."""

    def save(self, person: Protected) -> None:
        """Store a new entry, or a changed one under its id."""
        ...

    def get(self, entry_id: str) -> Protected | None: ...

    def all(self) -> Sequence[Protected]:
        """Every entry, in the order of their ids."""
        ...

    def remove(self, entry_id: str) -> bool:
        """Forget an entry; False where there is none."""
        ...

    def version(self) -> str:
        """A word for the list as it is: any change makes it another one."""
        ...


class Replays(Protocol):
    """Idempotency keys: the same request twice is one job."""

    def remember(self, account: str, key: str, digest: str, job_id: str) -> str | None:
        """Bind a key to a request and its job; the job of an earlier, equal request. Raises RequestChanged."""
        ...

    def known(self, account: str, key: str, digest: str) -> str | None:
        """The job that a key was bound to by an earlier, equal request. Raises RequestChanged."""
        ...

    def forget(self, before_ms: int) -> int:
        """Drop keys that are older; returns how many."""
        ...


class Cache(Protocol):
    """Results by the digest of inputs, plan and model versions."""

    def get(self, key: str) -> str | None:
        """What is stored and has not expired."""
        ...

    def put(self, key: str, value: str, seconds: int) -> None: ...

    def prune(self) -> int:
        """Drop what has expired; returns how many."""
        ...

    def forget(self, key: str) -> None:
        """Drop one result, whether it has expired or not."""
        ...


class UnitOfWork(Protocol):
    """One transaction over all stores: whole, or not at all."""

    @property
    def jobs(self) -> JobStore: ...
    @property
    def ledger(self) -> LedgerStore: ...
    @property
    def accounts(self) -> AccountStore: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def protected(self) -> ProtectedStore: ...
    @property
    def replays(self) -> Replays: ...
    @property
    def cache(self) -> Cache: ...
    @property
    def codes(self) -> CodeBooks: ...
    @property
    def remains(self) -> RemainsStore: ...
    @property
    def uploads(self) -> UploadShares: ...

    def now_ms(self) -> int:
        """The database's clock at the start of this transaction."""
        ...


class Transactions(Protocol):
    """Where units of work come from."""

    def begin(self) -> AbstractContextManager[UnitOfWork]:
        """A transaction: committed at the end of the block, rolled back by an exception. Raises StorageUnavailable."""
        ...

    def view(self) -> AbstractContextManager[UnitOfWork]:
        """The same for reading only: it waits for nobody, and nobody waits for it. Raises StorageUnavailable."""
        ...

    def sole(self, task: str) -> AbstractContextManager[bool]:
        """Whether this process alone may do a task (a sweep) for the length of the block; False: another one does."""
        ...


# ---- files -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A file in the object store."""

    key: str
    size_bytes: int
    sha256: str
    content_type: str


class ObjectStore(Protocol):
    """Files by key, whole or not there. Keys are relative paths with `/`: `jobs/<id>/<attempt>/out.mp4`."""

    def put(self, key: str, chunks: Iterable[bytes], content_type: str, *, most_bytes: int | None = None) -> Stored:
        """Store a stream, hashed on the way. Raises LinkInvalid (key), MediaTooLarge, DiskFull, StorageUnavailable."""
        ...

    def read(self, key: str, first: int = 0, last: int | None = None) -> Iterator[bytes]:
        """The bytes from `first` to `last`, both included. Raises ObjectMissing."""
        ...

    def head(self, key: str) -> Stored:
        """Size, digest and type. Raises ObjectMissing."""
        ...

    def delete(self, key: str) -> None:
        """Remove a file; one that is not there is removed already."""
        ...

    def keys(self, prefix: str) -> Sequence[str]:
        """All keys that begin so, sorted."""
        ...

    def link(self, key: str, method: Method, seconds: int) -> str:
        """A URL that lets its holder do this one thing for that long."""
        ...


class Scanner(Protocol):
    """Looks for malware. Where it raises, nothing is known of the bytes, and they must not be used."""

    def scan(self, chunks: Iterable[bytes]) -> str | None:
        """The name of what was found in a file; None where all of it was looked at and nothing is there.

        Raises ScannerUnavailable.
        """
        ...

    def check(self) -> None:
        """Ask whether it answers. Raises ScannerUnavailable."""
        ...


# ---- workers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A job in the hands of a worker."""

    lease: Lease
    account: str
    tier: str
    spec: str
    segments: tuple[Segment, ...]
    deadline_ms: int | None
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The answer to a heartbeat."""

    until_ms: int
    stop: StopReason | None = None


class Leases(Protocol):
    """All that a worker may ask of the control plane. All but `claim` raise LeaseLost: stop the device at once."""

    def claim(self, offer: Offer) -> Grant | None:
        """The next job, or None."""
        ...

    def beat(self, lease: Lease, usage: Usage, done_frames: int = 0, total_frames: int = 0) -> Orders:
        """Say that the attempt is alive, and hear whether to go on; the first one starts the attempt."""
        ...

    def cut(self, lease: Lease, count: int) -> tuple[Segment, ...]:
        """Divide a video into segments, or hear which there are."""
        ...

    def finish_segment(self, lease: Lease, usage: Usage, *, index: int, active_ms: int, result: str) -> None:
        """Hand in a stored segment."""
        ...

    def succeed(
        self, lease: Lease, usage: Usage, result: str, findings: tuple[Finding, ...] = (), *, facts: Facts = NO_FACTS
    ) -> None:
        """Hand in the key of the result: stored, charged and told in one transaction; with findings it is held.

        `facts` are written down with it: the result's digest, and the ids in its marks.
        """
        ...

    def fail(
        self, lease: Lease, usage: Usage, *, error: str, fault: Literal["caller", "provider"], retryable: bool,
        findings: tuple[Finding, ...] = (),
    ) -> None:  # fmt: skip
        """Say that the attempt failed, and for which findings, if for any."""
        ...

    def crash(self, lease: Lease, usage: Usage) -> None:
        """Say that the process of the attempt died: the job is tried again alone, and is poison the second time."""
        ...

    def preempt(self, lease: Lease, usage: Usage) -> None:
        """Give the job back, because the machine is taken away or drained."""
        ...

    def stop(self, lease: Lease, usage: Usage) -> None:
        """Say that the attempt was stopped as ordered."""
        ...


class ProtectedList(Protocol):
    """What a worker may ask of the list of protected people."""

    def since(self, version: str) -> ProtectedPeople | None:
        """The list as it is now; None where it is still of that version."""
        ...


def worker_bell(worker: str) -> str:
    """The bell of one worker, rung beside those of tiers when one of its attempts should hear its orders now."""
    return f"worker:{worker}"


class Doorbell(Protocol):
    """A hint that there may be work. One that is lost costs a second, one that is doubled costs nothing."""

    def ring(self, tier: str) -> None: ...

    def wait(self, tiers: Sequence[str], timeout_s: float) -> bool:
        """Wait until somebody rings for one of the tiers; False after the time."""
        ...

    def close(self) -> None: ...


class Fleet(Protocol):
    """Where workers come from."""

    def workers(self, tier: str) -> Sequence[Worker]:
        """The workers of a tier, those that are starting included."""
        ...

    def start(self, tier: str, market: Market, count: int) -> None: ...

    def stop(self, worker_ids: Sequence[str]) -> None:
        """Drain these workers: they take nothing more and end what they have."""
        ...

    def crashed(self) -> Sequence[str]:
        """Workers that ended by themselves since the last call."""
        ...

    def close(self) -> None:
        """End all workers of this fleet."""
        ...
