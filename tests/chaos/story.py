"""All that happens on a service, in one process on SQLite and a folder, by clients and workers who never give up.

Whoever dies in the middle of it may begin again: every deed is then done again, as its doer would who heard no answer.
Leases run out at once, so that the next process need not wait for what the last one held.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from prometheus_client import CollectorRegistry
from pyotp.totp import TOTP

from secondface.compose.service import server
from secondface.compose.stores import open_stores, signer_of
from secondface.control.admission import Probed, Rate, Submission
from secondface.control.audit import AuditTrail
from secondface.control.auth import Caller
from secondface.control.autoscaler import Autoscaler
from secondface.control.housekeeping import Housekeeping
from secondface.control.leftovers import Leftovers
from secondface.control.occupancy import Occupancy
from secondface.control.retention import Retention
from secondface.control.scheduler import LeaseDesk, Times
from secondface.control.screening import Screening
from secondface.control.settlement import Settlement
from secondface.control.upload_shelf import UploadShelf
from secondface.control.waiting_room import WaitingRoom
from secondface.domain.accounts import ROLE_SCOPES, Plan
from secondface.domain.findings import Finding
from secondface.domain.jobs import LIVE_JOBS, Job
from secondface.domain.ports import Grant, Offer, Worker
from secondface.domain.pricing import PriceRow, Usage
from secondface.domain.scaling import Policy
from secondface.errors import CodeRefused, JobMissing, JobSettled, LeaseLost, MalwareFound, UploadsFull
from secondface.gateway.outgoing import Outgoing
from secondface.gateway.sender import Sender
from secondface.gateway.watch import Watch
from secondface.settings import load_settings
from secondface.spec.work import StoredInput, WorkOrder
from secondface.storage.doorbell import LocalDoorbell
from secondface.storage.machine import RandomIds
from tests.chaos.books import check_books

PLAN = Plan(max_running=100, approval_above_faces=4, max_upload_bytes=10_000)
WATCHED = ("approved", "rejected", "forgotten", "confirmed", "coded")
"""Those that need a second authorisation."""
DOUBTFUL = ("shown", "hidden")
"""Those whose results a reviewer hands out, or keeps back."""
JOBS = (
    "plain", "faulty", "caller", "preempted", "silent", "crashed", "died", *WATCHED, "cancelled", *DOUBTFUL,
)  # fmt: skip
_ENDS = {
    "faulty": "failed", "caller": "failed", "rejected": "cancelled", "cancelled": "cancelled", "forgotten": "expired",
    "hidden": "failed",
}  # fmt: skip
_CAUSES = {"died": "crashed"}
"""What a job's attempt ends by where it is not what the job is called."""
_FOUND = (Finding(rule="nsfw", verdict="hold", input="target", frame=75, at_ms=3000, score_permille=612),)
_FACE = (0.5,) * 128


class _Fleet:
    """A fleet that cannot start anybody; who is there comes and goes by itself."""

    def __init__(self) -> None:
        self.there: list[Worker] = []

    def workers(self, tier: str) -> Sequence[Worker]:
        return tuple(self.there)

    def start(self, tier: str, market: str, count: int) -> None:
        pass

    def stop(self, worker_ids: Sequence[str]) -> None:
        pass

    def crashed(self) -> Sequence[str]:
        return ()

    def close(self) -> None:
        pass


class _Receiver(Outgoing):
    """Every receiver answers, and says yes."""

    def __init__(self) -> None:
        pass

    async def post(self, *_told: object) -> int:
        return 204


class _Scanner:
    """It knows one piece of malware."""

    def scan(self, chunks: Iterable[bytes]) -> str | None:
        return "Test-Signature" if b"malware" in b"".join(chunks) else None

    def check(self) -> None:
        pass


class Story:
    """One life of the service."""

    def __init__(self, folder: Path) -> None:
        settings = load_settings(data_dir=folder, workers_most=1)
        self.service = server(settings)
        self.stores, self.bell, ids = open_stores(settings), LocalDoorbell(), RandomIds()
        self.ids = ids
        transactions = self.stores.transactions
        self.desk = LeaseDesk(transactions, Settlement(ids), self.bell, times=Times(lease_ms=1, heartbeat_ms=1))
        self.fleet = _Fleet()
        self.autoscaler = Autoscaler(transactions, self.fleet, (Policy(tier=settings.tier),))
        self.occupancy = Occupancy(transactions, self.fleet, self.stores.clock, tier=settings.tier, micros_per_s=7)
        self.housekeeping, self.leftovers = Housekeeping(transactions), Leftovers(transactions, self.stores.objects)
        self.waiting_room = WaitingRoom(transactions, Settlement(ids), 0)
        self.audit = AuditTrail(transactions, signer_of(settings))
        self.retention = Retention(transactions, self.stores.objects, inputs_h=0, outputs_h=1_000)
        self.shelf = UploadShelf(transactions, self.stores.objects, self.stores.clock, ids, idle_ms=0)
        self.screening = Screening(_Scanner(), self.stores.objects, transactions)
        self.watch = Watch(self.service, CollectorRegistry())
        self.sender = Sender(self.service, _Receiver(), lambda _what: None)
        self.tier = settings.tier
        with (folder / "lives").open("a+") as lives:
            lives.write("one more\n")
            lives.seek(0)
            # Each life has a job of its own to stop: one whose worker dies after it was asked to ends without its word.
            self.stopped = [f"stopped in life {number}" for number, _ in enumerate(lives)]
        self.jobs: dict[str, str] = {}

    def close(self) -> None:
        self.stores.close()
        self.service.stop()

    def tell(self) -> None:
        """From the first start to the last end, whatever was done of it before; then look at the books."""
        with self.stores.transactions.view() as work:
            check_books(work, list(work.jobs.page(None, limit=1_000)))
        self.staff()
        self.submit()
        self.autoscaler.step()
        self.judge()
        self.work()
        self.upkeep()
        self.check()

    # ---- deeds of people ---------------------------------------------------------------------------------------------

    def staff(self) -> None:
        accounts = self.service.accounts
        accounts.start(lambda _: None)
        with self.stores.transactions.view() as work:
            account, keys = work.accounts.get("default"), work.accounts.keys("default")
        assert account is not None
        self.owner = Caller(account, keys[0].id, ROLE_SCOPES["operator"])
        accounts.change(self.owner, "default", plan=asdict(PLAN))
        accounts.open(self.owner, "Second", Plan())
        accounts.deposit(self.owner, "default", 1_000_000, "transfer-1")
        accounts.set_budget(self.owner, "account:default", "month", 10**12)
        accounts.set_price(self.owner, PriceRow(tier=self.tier, price_micros=301))
        key, _ = accounts.issue_key(self.owner, "default", "approver", person="somebody else")
        accounts.revoke_key(self.owner, "default", key.id)
        self.approver = Caller(account, key.id, ROLE_SCOPES["approver"])
        hook = self.service.subscriptions.subscribe(self.owner, "https://receiver.example/")
        self.service.subscriptions.set_enabled(self.owner, hook.id, enabled=False)
        self.service.subscriptions.set_enabled(self.owner, hook.id, enabled=True)
        codes = self.service.codes
        codes.enrol(self.owner, "default", self.approver.key_id)
        codes.drop(self.owner, "default", self.approver.key_id)
        self.secret = codes.enrol(self.owner, "default", self.owner.key_id).secret
        account = accounts.standing(self.owner).account
        self.owner = Caller(account, self.owner.key_id, self.owner.scopes)
        self.reviewer = Caller(account, key.id, ROLE_SCOPES["reviewer"])
        self.protect()
        self.screen()
        self.shelve()

    def protect(self) -> None:
        register = self.service.protected
        entry = register.add(self.owner, [_FACE], "a note")
        register.extend(self.owner, entry.id, [_FACE])
        register.remove(self.owner, entry.id)

    def screen(self) -> None:
        for content in (b"picture", b"malware"):
            stored = self.stores.objects.put(f"uploads/default/{content.decode()}", [content], "image/png")
            with contextlib.suppress(MalwareFound):
                self.screening.require_clean(stored, "default", self.owner.actor)
        assert list(self.stores.objects.keys("uploads/default/malware")) == []

    def shelve(self) -> None:
        """Files that come and go, not all of which have room beside each other."""
        objects, shelf = self.stores.objects, self.shelf

        def put(name: str, size: int) -> None:
            shelf.put(f"uploads/default/{name}", [bytes(size)], "image/png", most_bytes=20_000)

        for goes in (lambda: shelf.require_room("default", 6_000), lambda: put("large", 6_000), shelf.step):
            objects.delete("uploads/default/large")
            put("large", 6_000)
            objects.delete("uploads/default/large")
            goes()
        with contextlib.suppress(UploadsFull):
            put("larger", 11_000)
        put("kept", 3)

    def submit(self) -> None:
        for name in (*JOBS, *self.stopped):
            submission = Submission(
                spec=self._order(name), digest=name, tier=self.tier, idempotency_key=name,
                rate=Rate(active_us=100_000), probed=Probed(frames=10, faces=5 if name in WATCHED else 1),
                one_time_code=self._code() if name == "coded" else None,
            )  # fmt: skip
            self.jobs[name] = self.service.admission.submit(self.owner, submission).job.id
        self.service.admission.refuse(self.owner, "invalid_option", {})

    def _order(self, name: str) -> str:
        key = f"uploads/default/{name.replace(' ', '_')}"
        stored = self.stores.objects.put(key, [name.encode()], "image/png")
        target = StoredInput(key=key, name="target.png", sha256=stored.sha256, size_bytes=stored.size_bytes)
        return WorkOrder(target=target, output_name="out.png").model_dump_json()

    def _code(self, steps: int = 0) -> str:
        """What an authenticator shows, or will show some steps later."""
        return TOTP(self.secret).generate_otp(self.service.clock.now_ms() // 30_000 + steps)

    def judge(self) -> None:
        requests = self.service.requests
        requests.cancel(self.owner, self.jobs["cancelled"])
        for act, name in ((requests.approve, "approved"), (requests.reject, "rejected")):
            with contextlib.suppress(JobSettled):
                act(self.approver, self.jobs[name])
        with contextlib.suppress(JobSettled, CodeRefused):
            requests.confirm(self.owner, self.jobs["confirmed"], self._code(1))  # the first one is spent
        self.waiting_room.step()

    def review(self) -> None:
        reviews = self.service.reviews
        for act, name in ((reviews.approve, "shown"), (reviews.refuse, "hidden")):
            with contextlib.suppress(JobSettled, JobMissing):
                act(self.reviewer, self.jobs[name], "seen")

    # ---- deeds of workers --------------------------------------------------------------------------------------------

    def work(self) -> None:
        while self._live():
            time.sleep(0.002)  # every lease of a life that is over has run out by then
            self.desk.sweep()
            while (grant := self.desk.claim(self._offer())) is not None:
                with contextlib.suppress(LeaseLost):
                    self._serve(grant)
            self.review()

    def _offer(self) -> Offer:
        return Offer(worker=self.ids.new("worker"), tiers=(self.tier,), lease_ms=1)

    def _live(self) -> Sequence[Job]:
        with self.stores.transactions.view() as work:
            return work.jobs.page(None, LIVE_JOBS)

    def _serve(self, grant: Grant) -> None:
        lease, requests = grant.lease, self.service.requests
        name = next(name for name, job_id in self.jobs.items() if job_id == lease.job_id)
        usage = Usage(fetch_ms=1, run_ms=400, device_active_ms=300, frames=10)
        self.desk.beat(lease, usage, 5, 10)
        first = _CAUSES.get(name, name) not in self._causes(lease.job_id)
        match name:
            case "faulty":
                self.desk.fail(lease, usage, error="model_failed", fault="provider", retryable=False)
            case "caller":
                self.desk.fail(lease, usage, error="no_face_in_source", fault="caller", retryable=False)
            case _ if name in self.stopped:
                requests.cancel(self.owner, lease.job_id)
                assert self.desk.beat(lease, usage).stop == "cancelled"
                self.desk.stop(lease, usage)
            case "preempted" if first:
                self.desk.preempt(lease, usage)
            case "crashed" if first:
                assert self.desk.worker_crashed(lease.worker) == 1
            case "died" if first:
                self.desk.crash(lease, usage)
            case "silent" if first:
                pass
            case _:
                self._hand_in(grant, usage, _FOUND if name in DOUBTFUL else ())

    def _causes(self, job_id: str) -> set[str | None]:
        with self.stores.transactions.view() as work:
            return {attempt.cause for attempt in work.jobs.get(job_id).attempts}

    def _hand_in(self, grant: Grant, usage: Usage, findings: tuple[Finding, ...]) -> None:
        lease = grant.lease
        self.desk.cut(lease, 1)
        self.desk.finish_segment(lease, usage, index=0, active_ms=200, result="s0")
        key = f"jobs/{lease.job_id}/{lease.attempt}/out.png"
        self.stores.objects.put(key, [b"picture"], "image/png")
        self.desk.succeed(lease, usage, key, findings)

    # ---- what goes on beside -----------------------------------------------------------------------------------------

    def upkeep(self) -> None:
        self.fleet.there = [Worker(id=self.ids.new("worker"), state="idle", since_ms=0)]
        self.occupancy.step()
        self.fleet.there = []
        time.sleep(0.002)
        self.occupancy.step()
        self.housekeeping.step()
        self.watch.step()
        while asyncio.run(self.sender.step()):
            pass
        sent = self.service.subscriptions.deliveries(self.owner)
        self.service.subscriptions.replay(self.owner, sent[0].id)
        asyncio.run(self.sender.step())
        self.stores.objects.tidy()
        self.leftovers.step()
        self.audit.step()
        self.retention.delete(self.owner, self.jobs["plain"])
        self.retention.step()

    def check(self) -> None:
        self.housekeeping.step()
        with self.stores.transactions.view() as work:
            jobs = list(work.jobs.page(None, limit=1_000))
            assert sorted(job.id for job in jobs) == sorted(self.jobs.values()), "each was accepted once"
            check_books(work, jobs)
            assert not work.ledger.balance("held:default", "CNY")
            assert [each.kind for each in work.ledger.entries("pay:transfer-1")] == ["deposit"]
            assert work.journal.broken() is None
            costs = work.ledger.entries(accounts=["supplier"])
            assert costs and {entry.kind for entry in costs} == {"device_cost"}
            assert work.ledger.balance("device_cost", "CNY") == 7 * len(costs)
        for name, job_id in self.jobs.items():
            job = next(each for each in jobs if each.id == job_id)
            ended = "cancelled" if name in self.stopped else _ENDS.get(name, "succeeded")
            assert job.state == ended, (name, job)
        self._check_hooks()
        self._check_deleted()
        self._check_shares()
        wanted = {job.result for job in jobs if job.result is not None and job.id != self.jobs["plain"]}
        assert set(self.stores.objects.keys("jobs/")) == wanted
        assert not list(self.stores.objects.path(next(iter(wanted))).parents[3].rglob("*.part"))

    def _check_deleted(self) -> None:
        """Who asked has one receipt for all; nothing of it is left, and its audit is whole behind its checkpoint."""
        receipts = self.retention.receipts(self.owner, self.jobs["plain"])
        assert [each.event.facts["what"] for each in receipts] == ["inputs+output"]
        assert not self.stores.objects.keys(f"jobs/{self.jobs['plain']}/")
        with self.stores.transactions.view() as work:
            first = min(work.jobs.get(job_id).created_ms for job_id in self.jobs.values())
        self.audit.prune(first)
        found = self.audit.check()
        assert found.whole and found.anchored, found

    def _check_shares(self) -> None:
        time.sleep(0.002)
        self.shelf.step()
        objects = self.stores.objects
        there = {key: objects.head(key).size_bytes for key in objects.keys("uploads/")}
        with self.stores.transactions.view() as work:
            assert {each.key: each.size_bytes for each in work.uploads.all() if each.stored} == there
            assert work.uploads.held_bytes("default") == sum(there.values())

    def _check_hooks(self) -> None:
        told = self.service.subscriptions.deliveries(self.owner, limit=200)
        taken = [each for each in told if each.state == "pending"]
        assert all(each.due_ms > self.service.clock.now_ms() for each in taken), "who died has them for a while yet"
        assert {each.state for each in told} <= {"delivered", "pending"}
        assert len({(each.endpoint, each.subject, each.kind) for each in told}) == len(told), "an end is told once"
