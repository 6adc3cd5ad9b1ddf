"""One attempt at a job, from the grant to its end: fetch, run, store, and what the control plane is told of it.

Decides how an attempt ends: handed in, failed by somebody's fault, stopped as ordered, given back, or dropped without a
word because its lease is lost. Must not know how jobs are claimed or stored.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from secondface.domain.ports import (
    NO_FACTS,
    Facts,
    Finding,
    Grant,
    Leases,
    ObjectStore,
    Orders,
    StopReason,
    Stored,
    Usage,
)
from secondface.errors import (
    Cancelled,
    DiskFull,
    InternalFault,
    LeaseLost,
    ObjectMissing,
    RunCrashed,
    SecondfaceError,
    StorageUnavailable,
    TrustProblem,
)
from secondface.fleet.guards import Guards
from secondface.fleet.pixel_room import PixelRoom
from secondface.fleet.runs import DirectRuns, RunResult, Runs, RunTask, open_plain
from secondface.observe import log
from secondface.pipeline.batching import Seat
from secondface.pipeline.engine import Progress
from secondface.pipeline.meter import PhaseClock
from secondface.pipeline.passage import Conduct
from secondface.pipeline.people import PeopleMemory
from secondface.pipeline.sealing import sign_in_place
from secondface.provenance.signing import ContentSigner
from secondface.spec.marks import produce_id_of_job
from secondface.spec.work import StoredInput, WorkOrder

_CHUNK_BYTES = 1 << 20
_RETRY_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for all attempts of a worker."""

    lease_ms: int = 15_000
    content_producer: str = ""
    signer: ContentSigner | None = None
    """Signs what attempts make, in this process."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """What all attempts of a worker use."""

    leases: Leases
    objects: ObjectStore
    room: PixelRoom
    terms: Terms
    guards: Guards = field(default_factory=Guards)
    runs: Runs = field(default_factory=DirectRuns)


class Attempt:
    """A job in the hands of this worker. `run` is called once; the rest may be called from any thread meanwhile."""

    def __init__(self, grant: Grant, place: Workplace, seat: Seat, people: PeopleMemory | None = None) -> None:
        """`seat` is its share of the device; `people` are source people that other jobs may have prepared."""
        self.grant = grant
        self._leases, self._objects, self._room, self._terms = place.leases, place.objects, place.room, place.terms
        self._guards, self._runs = place.guards, place.runs
        self._phases = PhaseClock(first="boot")
        self._stopping = threading.Event()
        self._conduct = Conduct(
            seat, self._stopping, self._on_progress, active=seat.active, people=people or PeopleMemory()
        )
        self._progress = (0, 0)
        self._faces = 0
        self._lost = False
        self._ordered: StopReason | None = None
        self._held_until_s = time.monotonic() + place.terms.lease_ms / 1000
        self._stored: list[str] = []
        self._facts: Facts = NO_FACTS

    @property
    def name(self) -> str:
        return f"{self.grant.lease.job_id}-{self.grant.lease.attempt}"

    # ---- from other threads ------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Tell how far the attempt is, and do what the answer says. A lease that is lost stops the device."""
        asked_s = time.monotonic()
        try:
            orders: Orders = self._leases.beat(self.grant.lease, self.usage(), *self._progress)
        except LeaseLost:
            self._lose()
        except SecondfaceError as error:
            log("worker.beat_failed", "warning", job=self.grant.lease.job_id, error=error.code)
            if time.monotonic() > self._held_until_s:
                self._lose()  # somebody else may have the job by now
        else:
            self._held_until_s = asked_s + self._terms.lease_ms / 1000
            if orders.stop is not None:
                self._ordered = orders.stop
                self._stopping.set()

    def give_back(self) -> None:
        """Stop, because the machine is taken away; the job goes on elsewhere."""
        self._stopping.set()

    def usage(self) -> Usage:
        """What the attempt has consumed so far; final once it has ended."""
        active_ms = self._conduct.active.busy_ms  # before the phases, or it could be ahead of them
        spent = self._phases.spent()
        return Usage(
            boot_ms=spent["boot"], load_ms=spent["load"], fetch_ms=spent["fetch"], run_ms=spent["run"],
            store_ms=spent["store"], device_active_ms=active_ms, frames=self._progress[0], faces=self._faces,
            peak_resident_bytes=self._conduct.memory.bytes(),
        )  # fmt: skip

    def _on_progress(self, progress: Progress) -> None:
        self._progress = progress.done, progress.total or 0

    def _lose(self) -> None:
        self._lost = True
        self._stopping.set()

    # ---- in its own thread -------------------------------------------------------------------------------------------

    def run(self, folder: AbstractContextManager[Path]) -> None:
        """Do the job and tell how it ended. Raises nothing: whatever goes wrong is the end of this attempt alone."""
        try:
            with folder as place:
                result = self._work(place)
        except BaseException as error:  # noqa: BLE001 - a job that breaks in a new way must not take others with it
            self._phases.finish()
            self._end_badly(error)
        else:
            self._phases.finish()
            self._hand_in(result)

    def _work(self, place: Path) -> str:
        self._checkpoint()
        self._phases.enter("fetch")
        order = WorkOrder.read(self.grant.spec)
        self._conduct.guard = self._guards.guard(order.rules)
        task = RunTask(
            order, place, self._fetch(order, place), produce_id_of_job(self.grant.lease.job_id),
            self._terms.content_producer,
        )  # fmt: skip
        _make_folder(task.output.parent)
        result = self._runs.run(
            task, self._conduct, self._phases, lambda pixels: self._room.take(pixels, self._checkpoint)
        )
        self._progress = result.frames, max(result.frames, self._progress[1])
        self._faces = result.faces
        return self._store(task.output, self._signed(task.output, result))

    def _signed(self, output: Path, result: RunResult) -> RunResult:
        """The same with its output signed: what reads inputs needs no key. Raises MarkMissing, InternalFault."""
        signer = self._terms.signer
        if signer is None or result.statement is None:
            return result
        open_plain(output).close()  # whoever made it is gone, so what is no link now will be none
        notes = sign_in_place(output, signer, replace(result.statement, job=self.grant.lease.job_id))
        return result.with_notes(notes)

    def _fetch(self, order: WorkOrder, place: Path) -> dict[str, Path]:
        """Every input, compared with what was accepted. Raises ObjectMissing."""
        inputs = place / "in"
        _make_folder(inputs)
        paths: dict[str, Path] = {}
        for number, each in enumerate(order.inputs):
            paths[each.key] = inputs / f"{number}-{each.name}"
            self._fetch_one(each, paths[each.key])
        return paths

    def _fetch_one(self, given: StoredInput, path: Path) -> None:
        digest = hashlib.sha256()
        chunks = self._objects.read(given.key)
        try:
            with path.open("xb", buffering=0) as file:
                for chunk in chunks:
                    self._checkpoint()
                    digest.update(chunk)
                    file.write(chunk)
        except OSError as error:
            raise DiskFull(f"An input could not be written: {error.strerror}.") from error
        if digest.hexdigest() != given.sha256:
            raise ObjectMissing("The stored file is another one than was accepted.", key=given.key)

    def _store(self, output: Path, result: RunResult) -> str:
        lease = self.grant.lease
        prefix = f"jobs/{lease.job_id}/{lease.attempt}"
        said = json.dumps(result.facts, ensure_ascii=False, default=str).encode()
        self._put(f"{prefix}/report.json", [said], "application/json")
        kind = mimetypes.guess_type(output.name)[0] or "application/octet-stream"
        stored = self._put(f"{prefix}/{output.name}", self._chunks(output), kind)
        self._facts = {"output_sha256": stored.sha256, "produce_id": produce_id_of_job(lease.job_id)}
        return stored.key

    def _put(self, key: str, chunks: Iterable[bytes], content_type: str) -> Stored:
        self._stored.append(key)
        return self._objects.put(key, chunks, content_type)

    def _chunks(self, path: Path) -> Generator[bytes]:
        with open_plain(path) as file:
            while chunk := file.read(_CHUNK_BYTES):
                self._checkpoint()
                yield chunk

    def _checkpoint(self) -> None:
        if self._stopping.is_set():
            raise Cancelled

    # ---- how it ends -------------------------------------------------------------------------------------------------

    def _hand_in(self, result: str) -> None:
        try:
            found = self._findings()
            doubts = {"findings": found} if found else {}
            self._tell(lambda usage: self._leases.succeed(self.grant.lease, usage, result, facts=self._facts, **doubts))
        except LeaseLost:
            self._drop()
        except SecondfaceError as error:
            # It may have been heard all the same, so what is stored stays; else the sweep of results removes it.
            log("worker.end_not_told", "warning", job=self.grant.lease.job_id, error=error.code)

    def _end_badly(self, error: BaseException) -> None:
        if self._lost or isinstance(error, LeaseLost):
            self._drop()
            return
        self._discard()
        lease, known = self.grant.lease, error if isinstance(error, SecondfaceError) else None
        if known is None:
            log("worker.fault", "error", job=lease.job_id, error=f"{type(error).__name__}: {error}")
            known = InternalFault(type(error).__name__)
        code, fault, retryable = known.code, known.fault, known.retryable
        try:
            if self._ordered is not None:
                self._tell(lambda usage: self._leases.stop(lease, usage))
            elif isinstance(known, RunCrashed):
                log("worker.run_crashed", "warning", job=lease.job_id, attempt=lease.attempt, detail=known.detail)
                self._tell(lambda usage: self._leases.crash(lease, usage))
            elif isinstance(known, Cancelled):
                self._tell(lambda usage: self._leases.preempt(lease, usage))
            else:
                log("worker.attempt_failed", job=lease.job_id, attempt=lease.attempt, error=code, detail=known.detail)
                why = {"findings": self._findings()} if isinstance(known, TrustProblem) else {}
                self._tell(
                    lambda usage: self._leases.fail(lease, usage, error=code, fault=fault, retryable=retryable, **why)
                )
        except SecondfaceError as lost:
            log("worker.end_not_told", "warning", job=lease.job_id, error=lost.code)

    def _findings(self) -> tuple[Finding, ...]:
        guard = self._conduct.guard
        return tuple(Finding(**asdict(each)) for each in guard.findings) if guard is not None else ()

    def _tell(self, say: Callable[[Usage], None]) -> None:
        """Say how it ended, again and again while the lease holds. Raises LeaseLost; StorageUnavailable after that.

        A try that failed may have been heard all the same. Then the next one finds the lease gone, and that is well:
        what it handed in stays.
        """
        usage, heard = self.usage(), False
        while True:
            try:
                say(usage)
            except StorageUnavailable:
                heard = True
                if time.monotonic() > self._held_until_s:
                    raise
                time.sleep(_RETRY_S)
            except LeaseLost:
                if not heard:
                    raise
                return
            else:
                return

    def _drop(self) -> None:
        """The job is somebody else's: what was stored here is of no use to anybody."""
        log("worker.lease_lost", "warning", job=self.grant.lease.job_id, attempt=self.grant.lease.attempt)
        self._discard()

    def _discard(self) -> None:
        for key in self._stored:
            try:
                self._objects.delete(key)
            except SecondfaceError as error:
                log("worker.not_discarded", "warning", key=key, error=error.code)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir()
    except OSError as error:
        raise DiskFull(f"No folder for the attempt: {error.strerror}.") from error
