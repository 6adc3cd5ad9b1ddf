"""Whether the service lives and is ready, its figures, its catalogue, and that it begins and ends as a whole."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from secondface.domain import ledger
from secondface.domain.ports import Fleet, UnitOfWork
from secondface.domain.scaling import Worker
from secondface.errors import StorageUnavailable
from secondface.gateway.app import application
from secondface.gateway.metrics import Moment
from tests.surface.live import OTHER_STILL, STILL, Live, live


@pytest.fixture(scope="module")
def server() -> Generator[Live, None, None]:
    with live() as running:
        yield running


def figures(server: Live) -> dict[tuple[str, ...], float]:
    """Every figure by its name and the values of its labels."""
    page = server.client.get("/metrics").text
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def ready_soon(server: Live, status: int) -> list[str]:
    until = time.monotonic() + 10
    while (reply := server.client.get("/readyz")).status_code != status:
        assert time.monotonic() < until, reply.text
        time.sleep(0.1)
    return reply.json()["problems"]


def test_it_lives_and_is_ready(server: Live) -> None:
    assert server.client.get("/healthz").json() == {"status": "ok", "problems": []}
    assert ready_soon(server, 200) == []


def test_what_keeps_workers_from_working_makes_it_not_ready(server: Live) -> None:
    server.lacking.append("workers_crashing")
    assert ready_soon(server, 503) == ["workers_crashing"]
    assert server.client.get("/healthz").status_code == 200
    server.lacking.clear()
    ready_soon(server, 200)


def test_a_database_that_is_away_makes_it_not_ready_and_comes_back(server: Live) -> None:
    @contextmanager
    def away() -> Generator[UnitOfWork, None, None]:
        raise StorageUnavailable("connection refused")
        yield

    view, server.transactions.view = server.transactions.view, away  # type: ignore[method-assign]
    try:
        assert ready_soon(server, 503) == ["database: storage_unavailable"]
        refused = server.call("GET", "/v1/jobs")
        assert (refused.status_code, refused.json()["code"], refused.json()["detail"]) == (
            503,
            "storage_unavailable",
            "",
        )
        assert figures(server)["secondface_database_up",] == 0
    finally:
        server.transactions.view = view  # type: ignore[method-assign]
    ready_soon(server, 200)
    assert figures(server)["secondface_database_up",] == 1


def test_a_broken_audit_is_a_figure(server: Live) -> None:
    assert figures(server)["secondface_audit_broken",] == 0
    server.service.audit.broken = True
    try:
        assert figures(server)["secondface_audit_broken",] == 1
    finally:
        server.service.audit.broken = False


def test_what_workers_cost_is_a_figure(server: Live) -> None:
    before = figures(server)["secondface_worker_cost_micros", "CNY"]
    entry = ledger.device_cost(server.ids.new("worker"), 61_000, 700, server.clock.now_ms(), "CNY")
    assert entry is not None
    with server.transactions.begin() as work:
        work.ledger.post(entry)
    assert figures(server)["secondface_worker_cost_micros", "CNY"] - before == 61 * 700


def test_figures_follow_a_job(server: Live) -> None:
    before = figures(server)
    server.submit()
    queued = figures(server)
    assert queued["secondface_jobs", "queued", "a10g"] == 1
    assert queued["secondface_queue_device_seconds", "a10g"] > 0
    assert queued["secondface_queue_age_seconds", "a10g"] >= 0
    server.work(active_ms=1_500)
    server.app.state.watch.step()
    after = figures(server)

    def grew(*name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grew("secondface_jobs_ended_total", "succeeded", "a10g") == 1
    assert grew("secondface_device_active_seconds_total", "a10g") == 1.5
    assert grew("secondface_charged_micros_total", "CNY") == 6_000
    assert grew("secondface_attempt_phase_seconds_total", "run", "a10g") == pytest.approx(1.6)
    assert grew("secondface_job_wait_seconds_count", "a10g") == 1
    assert after["secondface_success_ratio", "a10g"] == 1
    assert 0.9 < after["secondface_device_utilisation", "a10g"] < 1
    assert grew("secondface_http_requests_total", "POST", "/v1/jobs", "202") == 1
    assert ("secondface_jobs", "queued", "a10g") not in after
    server.app.state.watch.step()
    assert (
        figures(server)["secondface_jobs_ended_total", "succeeded", "a10g"]
        == after["secondface_jobs_ended_total", "succeeded", "a10g"]
    )


class _Fleet:
    """One idle worker; nobody asks more of it here."""

    def workers(self, tier: str) -> Sequence[Worker]:
        return [Worker(id="w", state="idle", since_ms=0)] if tier == "a10g" else []


def test_workers_are_shown_also_of_tiers_without_work(server: Live) -> None:
    shown = Moment(replace(server.service, fleet=cast("Fleet", _Fleet()))).collect()
    [workers] = [family for family in shown if family.name == "secondface_workers"]
    found = {(sample.labels["tier"], sample.labels["state"]): sample.value for sample in workers.samples}
    assert found["a10g", "idle"] == 1
    assert sum(found.values()) == 1
    assert {tier for tier, _ in found} == set(server.service.tiers)


def test_scanners_make_no_series_of_their_own(server: Live) -> None:
    for at in range(5):
        server.client.get(f"/wp-admin/{at}")
        server.client.request(f"X{at}", "/v1/jobs")
    names = [name for name in figures(server) if name[0] == "secondface_http_requests_total"]
    assert not [name for name in names if "wp-admin" in str(name) or "X1" in name]
    assert [name for name in names if name[1:3] == ("GET", "none")]


def test_figures_can_be_kept_to_operators() -> None:
    with live(metrics_open=False) as server:
        assert server.client.get("/metrics").status_code == 401
        assert server.call("GET", "/metrics").json()["code"] == "scope_missing"
        assert server.call("GET", "/metrics", server.key("a", "operator")).status_code == 200
        slip = {"no_such": "1"}
        assert server.client.get("/metrics", params=slip).status_code == 401, "a stranger learns nothing of parameters"
        assert server.call("GET", "/metrics", server.key("a", "operator"), params=slip).status_code == 422


def test_the_catalogue(server: Live) -> None:
    steps = server.call("GET", "/v1/steps").json()["data"]
    assert {"face_swap", "face_restore", "upscale"} <= {step["name"] for step in steps}
    assert server.call("GET", "/v1/steps", params={"lang": "zh"}).json()["data"][0]["title"] == "去噪"
    assert server.call("GET", "/v1/models").json()["data"][0]["name"] == "m"
    prices = server.call("GET", "/v1/prices").json()
    assert {"tier": "a10g", "price_micros": 3_000}.items() <= prices["data"][4].items()


def test_the_fleet_as_operators_see_it(server: Live) -> None:
    server.submit()
    fleet = server.call("GET", "/v1/admin/fleet", server.key("a", "operator")).json()["data"]
    assert [(tier["tier"], tier["queued_jobs"], tier["workers"]) for tier in fleet] == [("a10g", 1, []), ("cpu", 0, [])]
    server.work()


def test_marks_of_a_file(server: Live) -> None:
    upload = server.upload(OTHER_STILL)
    assert server.call("POST", "/v1/verify", json={"upload": upload}).json()["ai_made"]
    kept = server.objects.keys("uploads/")
    assert not server.call("POST", "/v1/verify", files={"file": ("x", STILL)}).json()["ai_made"]
    assert server.objects.keys("uploads/") == kept
    for files in ({"file": ("x", b"junk")}, {"other": ("x", STILL)}, {}):
        refused = server.call("POST", "/v1/verify", files=files or None, data={} if files else None)
        assert refused.status_code in (415, 422)
    assert server.objects.keys("uploads/") == kept


def test_the_record_of_a_job_is_told_to_those_who_may_see_the_job(server: Live) -> None:
    server.set_account("b")
    server.submit()
    job = server.work()
    signed = {"file": ("x", STILL + b" made by " + job.encode())}

    def told(key: str) -> tuple[str | None, list[str]]:
        answer = server.call("POST", "/v1/verify", key, files=signed).json()
        return answer["job"], [event["kind"] for event in answer["record"] if event["kind"].startswith("job.")]

    record = ["job.accepted", "job.progress", "job.succeeded"]
    assert told(server.key("a", "viewer")) == (job, record)
    assert told(server.key("b", "operator")) == (job, record)
    assert told(server.key("b", "owner")) == (None, [])
    nobodys = {"file": ("x", STILL + b" made by job_nobody")}
    assert server.call("POST", "/v1/verify", files=nobodys).json()["job"] is None


def test_an_upload_that_would_be_too_large_is_told_so(server: Live) -> None:
    refused = server.call("POST", "/v1/uploads", json={"size_bytes": 5 << 20})
    assert (refused.status_code, refused.json()["code"]) == (413, "body_too_large")


def test_what_goes_on_beside_requests_begins_and_ends_with_the_server(server: Live) -> None:
    said: list[str] = []
    watched = replace(server.service, start=lambda: said.append("started"), stop=lambda: said.append("stopped"))

    async def live_and_die() -> None:
        app = application(watched)
        async with app.router.lifespan_context(app):
            assert said == ["started"]

    asyncio.run(live_and_die())
    assert said == ["started", "stopped"]
