"""Follows the sealed journal: what each job that ended says about speeds, and the figures of the metrics page."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from secondface.domain.billing import bill
from secondface.domain.deliveries import ENDINGS
from secondface.domain.jobs import Job
from secondface.domain.ports import Recorded, UnitOfWork
from secondface.domain.retention import DELETED
from secondface.errors import JobMissing, SecondfaceError
from secondface.gateway.service import Service
from secondface.spec.work import WorkOrder

_PLACE = "gateway:watched"
_PLACE_S = 90 * 86_400
_PAGE = 500
_RECENT = 200
_REMEMBERED = 200
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)


@dataclass(frozen=True, slots=True)
class _Spent:
    active_ms: int
    wall_ms: int
    device_bytes: int
    good: bool


class Figures:
    """Counters of ended jobs; what is true at a moment only is asked for when the page is made."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.ended = Counter("secondface_jobs_ended", "Jobs by how they ended.", ["state", "tier"], registry=registry)
        self.wait = Histogram(
            "secondface_job_wait_seconds", "From acceptance to the first attempt.", ["tier"], buckets=_SECONDS,
            registry=registry,
        )  # fmt: skip
        self.whole = Histogram(
            "secondface_job_seconds", "From acceptance to the end.", ["tier"], buckets=_SECONDS, registry=registry
        )
        self.phases = Counter(
            "secondface_attempt_phase_seconds", "Wall time of attempts by phase.", ["tier", "phase"], registry=registry
        )
        self.active = Counter("secondface_device_active_seconds", "Device time.", ["tier"], registry=registry)
        self.charged = Counter("secondface_charged_micros", "What was charged.", ["currency"], registry=registry)
        self.frames = Counter("secondface_frames", "Frames of ended attempts.", ["tier"], registry=registry)
        self.deleted = Counter(
            "secondface_files_deleted", "Files of ended jobs that were deleted, asked for or by policy.", ["reason"],
            registry=registry,
        )  # fmt: skip
        self.utilisation = Gauge(
            "secondface_device_utilisation", f"Device time by wall time of the last {_RECENT} attempts.", ["tier"],
            registry=registry,
        )  # fmt: skip
        self.memory = Gauge(
            "secondface_device_memory_bytes", "Largest peak of the last attempts.", ["tier"], registry=registry
        )
        self.success = Gauge(
            "secondface_success_ratio", f"Of the last {_RECENT} attempts: those that did not fail by our fault.",
            ["tier"], registry=registry,
        )  # fmt: skip


class Watch:
    """One step reads what was sealed since the last one; several processes each keep their own figures."""

    def __init__(self, service: Service, registry: CollectorRegistry) -> None:
        self._service, self.figures = service, Figures(registry)
        self._after: int | None = None
        self._recent: dict[str, deque[_Spent]] = {}
        self._one_at_a_time = threading.Lock()

    def step(self) -> int:
        """Read on; returns how many events there were."""
        with self._one_at_a_time:
            return self._step()

    def _step(self) -> int:
        seen = 0
        with self._service.transactions.view() as work:
            if self._after is None:
                self._remember(work)
            after = self._after if self._after is not None else int(work.cache.get(_PLACE) or 0)
            while page := work.journal.audit(None, after, _PAGE):
                for recorded in page:
                    self._read(work, recorded)
                after, seen = page[-1].position or after, seen + len(page)
        if seen:
            with self._service.transactions.begin() as work:
                work.cache.put(_PLACE, str(after), _PLACE_S)
        self._after = after
        return seen

    def _remember(self, work: UnitOfWork) -> None:
        """Learn again from the last jobs what an earlier process knew: counters go on, speeds would begin anew."""
        for job in reversed(work.jobs.page(None, ["succeeded"], limit=_REMEMBERED)):
            self._learn(job)

    def _read(self, work: UnitOfWork, recorded: Recorded) -> None:
        if recorded.event.kind == DELETED:
            self.figures.deleted.labels(recorded.event.facts["reason"]).inc(int(recorded.event.facts["files"] or 0))
        if recorded.event.kind not in ENDINGS:
            return
        try:
            job = work.jobs.get(recorded.event.subject)
        except JobMissing:
            return
        self.figures.ended.labels(job.state, job.tier).inc()
        self._count(job)
        self._learn(job)

    def _count(self, job: Job) -> None:
        figures, tier = self.figures, job.tier
        figures.charged.labels(job.currency).inc(bill(job).total_micros)
        figures.whole.labels(tier).observe(((job.ended_ms or job.created_ms) - job.created_ms) / 1000)
        if job.attempts:
            figures.wait.labels(tier).observe(max(0, job.attempts[0].leased_ms - job.created_ms) / 1000)
        recent = self._recent.setdefault(tier, deque(maxlen=_RECENT))
        for attempt in job.attempts:
            usage = attempt.usage
            for phase in ("boot", "load", "fetch", "run", "store"):
                figures.phases.labels(tier, phase).inc(getattr(usage, f"{phase}_ms") / 1000)
            figures.active.labels(tier).inc(usage.device_active_ms / 1000)
            figures.frames.labels(tier).inc(usage.frames)
            recent.append(
                _Spent(usage.device_active_ms, usage.wall_ms, usage.peak_device_bytes, attempt.fault != "provider")
            )
        if recent:
            wall_ms = sum(each.wall_ms for each in recent)
            figures.utilisation.labels(tier).set(sum(each.active_ms for each in recent) / wall_ms if wall_ms else 0)
            figures.memory.labels(tier).set(max(each.device_bytes for each in recent))
            figures.success.labels(tier).set(sum(each.good for each in recent) / len(recent))

    def _learn(self, job: Job) -> None:
        try:
            key = WorkOrder.read(job.spec).speed_key
        except SecondfaceError:
            return  # not an order of ours: nothing can be learnt from it, and nothing depends on it
        self._service.speeds.learn(job, key)
