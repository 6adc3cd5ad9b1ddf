"""Deleting what a job leaves behind, its inputs and its output: when their time is over, or when its account asks.

Each deletion is written down before its first file goes and after its last; whoever dies in between leaves a row that
the next round finishes. The audit keeps digests and no content. Must not know how files are stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from secondface.control.approvals import own
from secondface.control.auth import Caller
from secondface.control.uploads import live_orders
from secondface.domain import retention
from secondface.domain.accounts import Actor
from secondface.domain.jobs import Job
from secondface.domain.ports import ObjectStore, Recorded, Transactions, UnitOfWork
from secondface.domain.retention import DELETED, RETENTION, HeldFile, Reason, Remains
from secondface.errors import DataDeleted, InternalFault, JobUnfinished, ObjectMissing, StorageUnavailable
from secondface.observe import log
from secondface.spec.work import WorkOrder

_AT_ONCE = 100


def result_is_deleted(work: UnitOfWork, job: Job) -> bool:
    """Whether a job's result is gone, or going: for the job itself, or for the earlier one whose file it is."""
    found = work.remains.find({job.id, retention.maker_of(job)})
    return any(each.output in ("deleting", "deleted") for each in found.values())


class Retention:
    """What is kept for how long; hours count from a job's end, and a plan may have hours of its own."""

    def __init__(self, transactions: Transactions, objects: ObjectStore, *, inputs_h: int, outputs_h: int) -> None:
        self._transactions, self._objects = transactions, objects
        self._inputs_h, self._outputs_h = inputs_h, outputs_h

    def delete(self, caller: Caller, job_id: str) -> Sequence[Recorded]:
        """Delete all that is left of a job now; a second time changes nothing. The receipts of all its deletions.

        Raises JobMissing, JobUnfinished, ScopeMissing.
        """
        caller.require("jobs:write")
        with self._transactions.view() as work:
            own(caller, work.jobs.get(job_id))
        while self._begin(job_id, "asked", caller.actor):  # what somebody else began comes first, with its own receipt
            self._finish(job_id)
        return self._receipts(job_id)

    def receipts(self, caller: Caller, job_id: str) -> Sequence[Recorded]:
        """The receipts of a job's deletions, oldest first. Raises JobMissing."""
        caller.require("jobs:read")
        with self._transactions.view() as work:
            own(caller, work.jobs.get(job_id))
        return self._receipts(job_id)

    def require_kept(self, job: Job) -> None:
        """Let pass whose output is there. Raises DataDeleted."""
        with self._transactions.view() as work:
            if result_is_deleted(work, job):
                raise DataDeleted(job=job.id)

    def step(self) -> int:
        """Finish what was begun, and delete what is due; returns how many jobs lost something."""
        with self._transactions.sole("retention") as mine:
            if not mine:
                return 0
            changed, failed = 0, set[str]()
            while due := [each for each in self._due(len(failed)) if each.job_id not in failed]:
                for each in due:
                    if self._attempted(each):
                        changed += 1
                    else:
                        failed.add(each.job_id)  # until the next round: it would come again and again
            return changed

    # ---- parts -------------------------------------------------------------------------------------------------------

    def _due(self, more: int) -> Sequence[Remains]:
        with self._transactions.view() as work:
            return work.remains.due(work.now_ms(), self._inputs_h, self._outputs_h, _AT_ONCE + more)

    def _attempted(self, remains: Remains) -> bool:
        """One job; what is wrong with it must not keep the others' files."""
        try:
            if not remains.under_way:
                self._begin(remains.job_id, "policy", RETENTION)
            return self._finish(remains.job_id)
        except (InternalFault, StorageUnavailable) as error:
            log("retention.failed", "error", job=remains.job_id, error=error.code, detail=error.detail)
            return False

    def _begin(self, job_id: str, reason: Reason, actor: Actor) -> bool:
        """Say what will go, in one transaction with the look at who still needs it; whether a deletion is under way."""
        outputs = self._outputs(job_id)
        with self._transactions.begin() as work:
            job = work.jobs.lock(job_id)
            if not job.ended:
                raise JobUnfinished(f"It is {job.state}.", job=job_id, state=job.state)
            known = work.remains.find([job_id])[job_id]
            parts = known.left() if reason == "asked" else known.due(work.now_ms(), self._inputs_h, self._outputs_h)
            if known.under_way or not parts:
                return known.under_way
            files = (*(self._inputs(work, job) if "inputs" in parts else ()), *(outputs if "output" in parts else ()))
            work.remains.save(retention.begin(known, parts, files, reason, actor))
            if "output" in parts and job.cache_key is not None:
                work.cache.forget(job.cache_key)  # or an equal request would be answered with a file that is gone
        return True

    def _finish(self, job_id: str) -> bool:
        """Carry out what was begun; whether anything was."""
        with self._transactions.view() as work:
            known = work.remains.find([job_id]).get(job_id)
        if known is None or not known.under_way:
            return False
        for each in known.files:
            if not each.kept_for:
                self._objects.delete(each.key)
        with self._transactions.begin() as work:
            job = work.jobs.lock(job_id)
            now = work.remains.find([job_id])[job_id]
            if not now.under_way or now.files != known.files:
                return False  # somebody else was faster; what has begun since has files that nobody deleted here
            over, receipt = retention.finish(now, work.now_ms())
            work.remains.save(over)
            work.journal.record(job.account, now.actor, [receipt])
        return True

    def _inputs(self, work: UnitOfWork, job: Job) -> Sequence[HeldFile]:
        """The inputs of a job; one that a living job names as well stays. Raises InternalFault."""
        living = live_orders(work)

        def needed_by(key: str) -> str:
            return next((other for other, spec in living.items() if f'"{key}"' in spec), "")

        return [
            HeldFile(key=each.key, name=each.name, sha256=each.sha256, size_bytes=each.size_bytes,
                     kept_for=needed_by(each.key))
            for each in WorkOrder.read(job.spec).inputs
        ]  # fmt: skip

    def _outputs(self, job_id: str) -> Sequence[HeldFile]:
        """What lies under a job's name. A result that came from an earlier job is that one's, and goes with it."""
        found: list[HeldFile] = []
        for key in self._objects.keys(f"jobs/{job_id}/"):
            try:
                stored = self._objects.head(key)
            except ObjectMissing:
                continue  # another round was faster
            name = key.rpartition("/")[2]
            found.append(HeldFile(key=key, name=name, sha256=stored.sha256, size_bytes=stored.size_bytes))
        return found

    def _receipts(self, job_id: str) -> Sequence[Recorded]:
        with self._transactions.view() as work:
            after, found = 0, list[Recorded]()
            while page := work.journal.since(job_id, after):
                after = page[-1].number
                found += [each for each in page if each.event.kind == DELETED]
        return found
