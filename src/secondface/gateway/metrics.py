"""The metrics page: what was counted (`watch`), what is true now, and the HTTP side itself."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from secondface.control.prices import price_book
from secondface.control.screening import Verdict
from secondface.domain.ledger import DEVICE_COST
from secondface.domain.scaling import WorkerState
from secondface.errors import SecondfaceError
from secondface.gateway.service import Service

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Moment(Collector):
    """Queues and workers as they are when the page is asked for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        jobs = GaugeMetricFamily("secondface_jobs", "Jobs that have not ended, by state.", labels=["state", "tier"])
        age = GaugeMetricFamily("secondface_queue_age_seconds", "Age of the oldest queued job.", labels=["tier"])
        work = GaugeMetricFamily("secondface_queue_device_seconds", "Expected device time queued.", labels=["tier"])
        workers = GaugeMetricFamily("secondface_workers", "Workers by state.", labels=["state", "tier"])
        cost = GaugeMetricFamily(
            "secondface_worker_cost_micros", "What workers have cost the operator, in micro-units.", labels=["currency"]
        )
        audit = GaugeMetricFamily("secondface_audit_broken", "Whether the audit's chain does not hold any more.")
        audit.add_metric([], self._service.audit.broken)
        up = GaugeMetricFamily("secondface_database_up", "Whether the database answers.")
        try:
            with self._service.transactions.view() as view:
                queues, now_ms = view.jobs.queues(), view.now_ms()
                waiting = len(view.jobs.page(None, ["awaiting_approval"], limit=1000))
                currency = price_book(view).currency
                cost.add_metric([currency], view.ledger.balance(DEVICE_COST, currency))
        except SecondfaceError:
            up.add_metric([], 0)
            return [up, audit]
        up.add_metric([], 1)
        jobs.add_metric(["awaiting_approval", "any"], waiting)
        for queue in queues:
            jobs.add_metric(["queued", queue.tier], queue.queued_jobs)
            jobs.add_metric(["running", queue.tier], queue.running_jobs)
            work.add_metric([queue.tier], queue.queued_ms / 1000)
            if queue.oldest_queued_ms is not None:
                age.add_metric([queue.tier], max(0, now_ms - queue.oldest_queued_ms) / 1000)
        if (fleet := self._service.fleet) is not None:
            # Also of tiers without work: workers who wait for it cost as much.
            for tier in dict.fromkeys((*self._service.tiers, *(queue.tier for queue in queues))):
                present = fleet.workers(tier)
                for state in get_args(WorkerState):
                    workers.add_metric([state, tier], sum(each.state == state for each in present))
        return [jobs, age, work, workers, cost, up, audit]


class HttpFigures:
    """Counts requests by route, never by address: a scanner must not make a series of each of its tries."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ["method", "route", "status"]
        self.requests = Counter("secondface_http_requests", "Requests.", labels, registry=registry)
        self.seconds = Histogram(
            "secondface_http_seconds", "From request to the end of the answer.", ["method", "route"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.open = Gauge("secondface_http_open", "Requests that are being answered.", registry=registry)
        self.deliveries = Counter("secondface_webhook_tries", "Tries to deliver.", ["outcome"], registry=registry)
        self.scans = Counter(
            "secondface_scans", "Files of callers by the scanner's word.", ["verdict"], registry=registry
        )
        self.scan_seconds = Histogram(
            "secondface_scan_seconds", "From the question to the scanner's word.", buckets=_SECONDS, registry=registry
        )

    def scanned(self, verdict: Verdict, seconds: float) -> None:
        """Count a file, and what was found out about it."""
        self.scans.labels(verdict).inc()
        self.scan_seconds.observe(seconds)


class Counted:
    """ASGI middleware that measures each request."""

    def __init__(self, app: ASGIApp, figures: HttpFigures) -> None:
        self._app, self._figures = app, figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = "none", time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        with self._figures.open.track_inprogress():
            try:
                await self._app(scope, receive, noted)
            finally:
                route, method = getattr(scope.get("route"), "path", "none"), _method(scope["method"])
                self._figures.requests.labels(method, route, status).inc()
                self._figures.seconds.labels(method, route).observe(time.perf_counter() - began)


def _method(name: str) -> str:
    return name if name in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS") else "other"


def page(registry: CollectorRegistry) -> bytes:
    """The page in the text format of Prometheus."""
    return generate_latest(registry)
