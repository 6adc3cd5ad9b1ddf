"""A real server on a free port of this machine, over stores in memory, whose jobs the test itself works on."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from secondface.control.accounts import Accounts
from secondface.control.admission import Admission
from secondface.control.approvals import JobRequests
from secondface.control.audit import AuditTrail
from secondface.control.auth import Keyring, Rates
from secondface.control.housekeeping import Housekeeping
from secondface.control.one_time_codes import OneTimeCodes
from secondface.control.protected import ProtectedRegister
from secondface.control.retention import Retention
from secondface.control.reviews import Reviews
from secondface.control.scheduler import LeaseDesk
from secondface.control.screening import Screening
from secondface.control.settlement import Settlement
from secondface.control.speeds import Speeds
from secondface.control.subscriptions import Subscriptions
from secondface.control.upload_shelf import UploadShelf
from secondface.control.waiting_room import WaitingRoom
from secondface.domain import ledger
from secondface.domain.accounts import Account, Plan, Role
from secondface.domain.ports import Grant, Offer, Scanner, Stored
from secondface.domain.pricing import Usage
from secondface.errors import MediaUnsupported, NoFaceInSource
from secondface.gateway.addresses import Resolve
from secondface.gateway.app import application
from secondface.gateway.bodies import BodyLimits
from secondface.gateway.connections import PatientProtocol
from secondface.gateway.desk import desk_of_application
from secondface.gateway.options import GatewayOptions
from secondface.gateway.service import Service
from secondface.spec.trust_views import MarksView
from secondface.spec.views import ModelView
from secondface.spec.work import InputFacts, WorkOrder
from secondface.storage.doorbell import LocalDoorbell
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock, RandomIds
from secondface.storage.memory import MemoryTransactions
from secondface.storage.memory_objects import MemoryObjects
from tests.hand_key import HandKey, hand_sealer

FUNDS = 10_000_000
STILL = b"PICTURE 800x600 of one"
OTHER_STILL = b"PICTURE 640x480 of another"
CLIP = b"CLIP 1280x720 100"
RESULT = bytes(range(256)) * 40
LIMITS = BodyLimits(words_bytes=64 << 10, file_bytes=4 << 20)
"""Small sizes, and the product's own patience: a busy machine must not make a test fail."""
HASTY = replace(LIMITS, idle_s=1.0, words_s=2.0, slowest_bytes_s=1 << 20)
"""For tests of what is too slow."""


class Hasty(PatientProtocol):
    """The product's protocol, looking more often."""

    look_s = 0.5


class Live:
    """The server, a client for it, keys, and the hand that does a worker's work."""

    def __init__(self, options: GatewayOptions, resolve: Resolve | None, scanner: Scanner | None = None) -> None:
        self.clock, self.ids, self.bell = MachineClock(), RandomIds(), LocalDoorbell()
        self.transactions = MemoryTransactions(self.clock)
        self.keyring = Keyring(self.transactions, self.ids)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        links = Links(f"{self.url}/v1/files", (b"s" * 32,), self.clock)
        self.objects = MemoryObjects(links)
        settlement = Settlement(self.ids)
        codes, self.audit_key = OneTimeCodes(self.transactions, hand_sealer()), HandKey()
        self.desk = LeaseDesk(self.transactions, settlement, self.bell)
        self.lacking: list[str] = []
        self.service = Service(
            transactions=self.transactions, objects=self.objects, clock=self.clock, ids=self.ids,
            shelf=UploadShelf(self.transactions, self.objects, self.clock, self.ids),
            keyring=self.keyring, admission=Admission(self.transactions, settlement, self.bell, self.ids, codes),
            requests=JobRequests(self.transactions, settlement, self.bell, codes), rates=Rates(self.clock),
            codes=codes, waiting_room=WaitingRoom(self.transactions, settlement, 86_400),
            retention=Retention(self.transactions, self.objects, inputs_h=72, outputs_h=720),
            audit=AuditTrail(self.transactions, self.audit_key),
            accounts=Accounts(self.transactions, self.keyring, self.ids),
            subscriptions=Subscriptions(self.transactions, self.ids, plain_http=True), speeds=Speeds(),
            reviews=Reviews(self.transactions, settlement),
            protected=ProtectedRegister(self.transactions, self.ids), describe_face=self._describe_face,
            tiers=("a10g", "cpu"), check_link=links.check, inspect=self._inspect, read_marks=self._read_marks,
            models=lambda: [ModelView(name="m", version="1")], ready=lambda: self.lacking,
            screening=None if scanner is None else Screening(scanner, self.objects, self.transactions),
        )  # fmt: skip
        self.app = application(self.service, options, resolve=resolve)
        for name in ("a", "b"):
            self.set_account(name)
            with self.transactions.begin() as work:
                work.ledger.post(ledger.deposit(name, FUNDS, f"pay_{name}", self.clock.now_ms(), "CNY"))
        self.client = httpx.Client(base_url=self.url, trust_env=False, timeout=60)
        self.owner = self.key("a", "owner")
        self._server = uvicorn.Server(
            uvicorn.Config(
                self.app, log_config=None, access_log=False, timeout_graceful_shutdown=1, ws="none",
                http=Hasty,
            )
        )  # fmt: skip
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.socket]}, daemon=True)

    def start(self) -> None:
        self._thread.start()
        until = time.monotonic() + 20
        while not self._server.started:
            assert time.monotonic() < until, "the server does not start"
            time.sleep(0.01)

    def stop(self) -> None:
        desk_of_application(self.app).closing.set()
        self._server.should_exit = True
        self._thread.join(20)
        self.client.close()
        self.socket.close()

    # ---- accounts ----------------------------------------------------------------------------------------------------

    def set_account(self, name: str, **changes: Any) -> None:
        with self.transactions.begin() as work:
            work.accounts.save(Account(id=name, name=name.upper(), plan=Plan(**changes)))

    def key(self, account: str = "a", role: Role = "owner") -> str:
        return self.keyring.issue(account, role)[1]

    def balance(self, place: str) -> int:
        with self.transactions.view() as work:
            return work.ledger.balance(place, "CNY")

    # ---- requests ----------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, key: str | None = None, **options: Any) -> httpx.Response:
        """A request with a key: that of the owner of account a, if none is given."""
        headers = {"Authorization": f"Bearer {key or self.owner}", **options.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **options)

    def upload(self, content: bytes, key: str | None = None) -> str:
        """Bytes as an upload; its id."""
        made = self.call("POST", "/v1/uploads", key, json={}).json()
        sent = self.client.put(made["url"], content=content)
        assert sent.status_code == 200, sent.text
        return made["id"]

    def request(self, content: bytes | None = None, **changes: Any) -> dict[str, Any]:
        """The words of a job with two uploads; without a content, with one that nobody has sent yet."""
        fresh = content or OTHER_STILL + self.ids.new("x").encode()
        return {"sources": [{"upload": self.upload(STILL)}], "target": {"upload": self.upload(fresh)}, **changes}

    def submit(self, key: str | None = None, **changes: Any) -> str:
        made = self.call("POST", "/v1/jobs", key, json=self.request(**changes))
        assert made.status_code == 202, made.text
        return made.json()["id"]

    # ---- a worker's work ---------------------------------------------------------------------------------------------

    def claim(self) -> Grant:
        until = time.monotonic() + 10
        while (grant := self.desk.claim(Offer(worker="w1", tiers=("a10g", "cpu")))) is None:
            assert time.monotonic() < until, "there is no job to work on"
            time.sleep(0.01)
        return grant

    def work(self, active_ms: int = 1_500) -> str:
        """Do one job, and have what happened sealed; its id."""
        grant = self.claim()
        order = WorkOrder.read(grant.spec)
        assert all(self.objects.head(each.key).sha256 == each.sha256 for each in order.inputs)
        key = f"jobs/{grant.lease.job_id}/{grant.lease.attempt}/{order.output_name}"
        self.desk.beat(grant.lease, Usage(run_ms=10), 1, 1)
        kind = "image/png" if order.output_name.endswith("png") else "application/octet-stream"
        self.objects.put(key, [RESULT], kind)
        usage = Usage(fetch_ms=5, run_ms=active_ms + 100, device_active_ms=active_ms, frames=1)
        self.desk.succeed(grant.lease, usage, key)
        self.seal()
        return grant.lease.job_id

    @contextmanager
    def working(self) -> Generator[None, None, None]:
        """Somebody who does the next job, while the block goes on."""
        thread = threading.Thread(target=self.work)
        thread.start()
        yield
        thread.join(20)

    def seal(self) -> None:
        Housekeeping(self.transactions).step()
        self.service.audit.step()

    def _inspect(self, stored: Stored) -> InputFacts:
        words = b"".join(self.objects.read(stored.key)).split()
        if words[:1] not in ([b"PICTURE"], [b"CLIP"]):
            raise MediaUnsupported(f"{stored.key.rpartition('/')[2]}: no format of ours")
        width, height = map(int, words[1].split(b"x"))
        if words[0] == b"PICTURE":
            return InputFacts(kind="still", format_name="PNG", width=width, height=height)
        return InputFacts(
            kind="video", format_name="mov,mp4", width=width, height=height, frames=int(words[2]), duration_ms=4_000
        )

    def _describe_face(self, stored: Stored) -> tuple[float, ...]:
        words = b"".join(self.objects.read(stored.key))
        if b"nobody" in words:
            raise NoFaceInSource(stored.key.rpartition("/")[2])
        return tuple(float(len(words) + place) for place in range(128))

    def _read_marks(self, key: str) -> MarksView:
        self._inspect(self.objects.head(key))
        content = b"".join(self.objects.read(key))
        job = content.partition(b"made by ")[2].decode() or None
        return MarksView(ai_made=b"of another" in content, job=job)


@contextmanager
def live(
    *, resolve: Resolve | None = None, bodies: BodyLimits = LIMITS, scanner: Scanner | None = None, **options: Any
) -> Generator[Live, None, None]:  # fmt: skip
    """A running server, ended with the block."""
    server = Live(GatewayOptions(bodies=bodies, **options), resolve, scanner)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a stream."""
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def error_pages(root: Path) -> set[str]:
    """The codes that have a page."""
    return {path.stem for path in (root / "docs" / "errors").glob("*.md")} - {"README"}
