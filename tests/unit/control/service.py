"""A service without machines: every use case over memory, with two funded accounts."""

from __future__ import annotations

from dataclasses import replace

from secondface.control.admission import Accepted, Admission, Probed, Rate, Submission
from secondface.control.approvals import JobRequests
from secondface.control.audit import AuditTrail
from secondface.control.auth import Caller, Keyring
from secondface.control.one_time_codes import OneTimeCodes
from secondface.control.scheduler import LeaseDesk
from secondface.control.settlement import Settlement
from secondface.control.waiting_room import WaitingRoom
from secondface.domain import ledger
from secondface.domain.accounts import Account, Role
from secondface.domain.jobs import Job
from secondface.domain.ports import Grant, Offer, Transactions
from secondface.domain.pricing import Usage
from secondface.storage.doorbell import LocalDoorbell
from secondface.storage.machine import RandomIds
from secondface.storage.memory import MemoryTransactions
from tests.hand_clock import HandClock
from tests.hand_key import HandKey, hand_sealer

FUNDS = 10_000_000
SUBMISSION = Submission(
    spec="{}", digest="d", tier="a10g", probed=Probed(frames=100), rate=Rate(active_us=100_000, other_ms=500)
)
"""100 frames of 0.1 device-seconds: expected 10 s, at most 13 s on a10g at 3,000 micros a second."""


def active(ms: int) -> Usage:
    return Usage(run_ms=ms, device_active_ms=ms)


class Service:
    """All use cases, and short words for tests."""

    def __init__(self, transactions: Transactions | None = None, clock: HandClock | None = None) -> None:
        self.clock, self.ids, self.bell = clock or HandClock(), RandomIds(), LocalDoorbell()
        self.transactions: Transactions = transactions or MemoryTransactions(self.clock)
        settlement = Settlement(self.ids)
        self.keyring = Keyring(self.transactions, self.ids)
        self.codes = OneTimeCodes(self.transactions, hand_sealer())
        self.admission = Admission(self.transactions, settlement, self.bell, self.ids, self.codes)
        self.desk = LeaseDesk(self.transactions, settlement, self.bell)
        self.requests = JobRequests(self.transactions, settlement, self.bell, self.codes)
        self.waiting_room = WaitingRoom(self.transactions, settlement, 86_400)
        self.audit_key = HandKey()
        self.audit = AuditTrail(self.transactions, self.audit_key)
        for name in ("a", "b"):
            self.set_account(Account(id=name, name=name.upper()))
            with self.transactions.begin() as work:
                work.ledger.post(ledger.deposit(name, FUNDS, f"pay_{name}", self.clock.at_ms, "CNY"))
        self.owner = self.caller("a", "owner")

    def set_account(self, account: Account) -> None:
        with self.transactions.begin() as work:
            work.accounts.save(account)

    def caller(self, account: str, role: Role, person: str = "") -> Caller:
        return self.keyring.caller(self.keyring.issue(account, role, person=person)[1])

    def submit(self, caller: Caller | None = None, **changes: object) -> Accepted:
        return self.admission.submit(caller or self.owner, replace(SUBMISSION, **changes))  # type: ignore[arg-type]

    def claim(self, worker: str = "w1", tier: str = "a10g") -> Grant:
        grant = self.desk.claim(Offer(worker=worker, tiers=(tier,)))
        assert grant is not None
        return grant

    def job(self, job_id: str) -> Job:
        with self.transactions.view() as work:
            return work.jobs.get(job_id)

    def balance(self, account: str) -> int:
        with self.transactions.view() as work:
            return work.ledger.balance(account, "CNY")

    def kinds(self, job_id: str) -> list[str]:
        with self.transactions.view() as work:
            return [recorded.event.kind for recorded in work.journal.since(job_id)]

    def spent(self, scope: str, period: str) -> tuple[int, int]:
        with self.transactions.view() as work:
            spend = work.ledger.spend(scope, period)
            return spend.reserved_micros, spend.spent_micros
