"""How an attempt ends, whatever happens to it, and that it then leaves nothing behind but what was handed in."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from secondface.control.scheduler import LeaseDesk, Times
from secondface.control.settlement import Settlement
from secondface.domain.jobs import Lease
from secondface.domain.ports import NO_FACTS, Facts, Stored
from secondface.domain.pricing import Usage
from secondface.errors import DiskFull, SecondfaceError, StorageUnavailable
from secondface.fleet.attempt import Attempt, Terms, Workplace
from secondface.fleet.pixel_room import PixelRoom
from secondface.fleet.workroom import Workroom
from secondface.frames import Session
from secondface.media.probe import probe
from secondface.pipeline import preparation
from secondface.pipeline.batching import SharedSessions
from secondface.spec.work import InputFacts
from tests.unit.fleet.workshop import Workshop, check_usage, models, wall


class Gate:
    """A place in the attempt's way at which the test does something."""

    def __init__(self) -> None:
        self.reached, self.go = threading.Event(), threading.Event()

    def pass_through(self) -> None:
        self.reached.set()
        assert self.go.wait(30)


class Bench:
    """One worker's surroundings with gates before each phase."""

    def __init__(self, tmp_path: Path) -> None:
        self.shop = Workshop()
        self.gates: dict[str, Gate] = {}
        self.workroom = Workroom(tmp_path / "work", "w1")
        self.tmp_path = tmp_path
        self.reports: list[bytes] = []

    def attempt(self, **terms: object) -> Attempt:
        grant = self.shop.claim()
        sessions = SharedSessions(_GatedSessions(self), lanes=2)
        place = Workplace(self.shop.desk, self, PixelRoom(10**9), Terms(**terms))  # type: ignore[arg-type]
        return Attempt(grant, place, sessions.seat())

    def run(self, attempt: Attempt) -> None:
        with self.workroom:
            attempt.run(self.workroom.attempt(attempt.name))
            assert [path.name for path in (self.tmp_path / "work" / "w1").iterdir()] == ["alive.lock"]

    def start(self, attempt: Attempt) -> threading.Thread:
        thread = threading.Thread(target=self.run, args=(attempt,))
        thread.start()
        return thread

    def gate(self, phase: str) -> Gate:
        self.gates[phase] = Gate()
        return self.gates[phase]

    def at(self, phase: str) -> None:
        if (gate := self.gates.get(phase)) is not None:
            gate.pass_through()

    # the object store, with gates

    def put(self, key: str, chunks: Iterable[bytes], content_type: str, *, most_bytes: int | None = None) -> Stored:
        self.at("store")
        if key.endswith("report.json"):
            chunks = [b"".join(chunks)]
            self.reports += chunks
        return self.shop.objects.put(key, chunks, content_type, most_bytes=most_bytes)

    def read(self, key: str, first: int = 0, last: int | None = None) -> Iterator[bytes]:
        self.at("fetch")
        return self.shop.objects.read(key, first, last)

    def delete(self, key: str) -> None:
        self.shop.objects.delete(key)

    def __getattr__(self, name: str) -> object:
        return getattr(self.shop.objects, name)


class _GatedSessions:
    device = "cpu"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def get(self, name: str) -> Session:
        session = models().get(name)
        bench = self.bench

        class Gated:
            @property
            def name(self) -> str:
                return session.name

            def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
                bench.at("run")
                return session.run(inputs)

        return Gated()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_job_that_succeeds(bench: Bench) -> None:
    job = bench.shop.accept()
    attempt = bench.attempt(content_producer="someone")
    attempt.beat()
    assert bench.shop.job(job.id).attempts[0].state == "running"
    bench.run(attempt)
    ended = bench.shop.job(job.id)
    assert (ended.state, ended.error) == ("succeeded", None)
    assert ended.result is not None
    assert ended.result == f"jobs/{job.id}/1/out.png"
    picture = cv2.imdecode(np.frombuffer(b"".join(bench.shop.objects.read(ended.result)), np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None and picture.shape == (160, 160, 3)
    usage = ended.attempts[0].usage
    check_usage(usage)
    assert usage.device_active_ms > 0 and usage.fetch_ms > 0
    assert (usage.frames, usage.faces) == (1, 1)
    assert usage.peak_resident_bytes > 1 << 20
    report = json.loads(b"".join(bench.shop.objects.read(f"jobs/{job.id}/1/report.json")))
    assert (report["width"], report["faces_swapped"], report["kind"]) == (160, 1, "still")
    assert bench.shop.objects.head(ended.result).content_type == "image/png"


@pytest.mark.parametrize("known", [True, False], ids=["known", "new"])
def test_only_files_that_no_cage_has_looked_at_are_looked_at(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    looked: list[str] = []
    monkeypatch.setattr(preparation, "probe", lambda path, limits: (looked.append(path.name), probe(path, limits))[1])
    order = bench.shop.order()
    facts = InputFacts(kind="still", format_name="PNG", width=160, height=160, notes=("it ends early",))
    job = bench.shop.accept(order.model_copy(update={"facts": {order.target.key: facts} if known else {}}))
    bench.run(bench.attempt())
    assert bench.shop.job(job.id).state == "succeeded"
    assert looked == ["1-source.png"] if known else ["0-target.png", "1-source.png"]
    assert json.loads(bench.reports[0])["notes"] == (["it ends early"] if known else [])


def test_two_attempts_mark_their_output_with_the_same_id(bench: Bench) -> None:
    job = bench.shop.accept()
    late = bench.attempt()
    bench.shop.clock.at_ms += 60_000
    bench.shop.desk.sweep()
    bench.run(late)
    assert bench.shop.results(job.id) == []
    bench.run(bench.attempt())
    assert bench.shop.job(job.id).result == f"jobs/{job.id}/2/out.png"
    first, second = (json.loads(report)["produce_id"] for report in bench.reports)
    assert first == second
    assert len(first) == 32


def test_a_picture_without_a_face_is_the_callers_fault(bench: Bench) -> None:
    job = bench.shop.accept(bench.shop.order(target=wall()))
    bench.run(bench.attempt())
    ended = bench.shop.job(job.id)
    assert (ended.state, ended.error) == ("failed", "no_face_in_target")
    assert ended.attempts[0].fault == "caller"
    check_usage(ended.attempts[0].usage)
    assert ended.attempts[0].usage.device_active_ms > 0
    assert bench.shop.results(job.id) == []


def test_a_file_that_is_no_picture_costs_nothing(bench: Bench) -> None:
    job = bench.shop.accept(bench.shop.order(target=b"GIF89a but not really"))
    bench.run(bench.attempt())
    ended = bench.shop.job(job.id)
    assert ended.state == "failed" and ended.attempts[0].fault == "caller"
    assert ended.attempts[0].usage.device_active_ms == 0
    assert bench.shop.requests.receipt(bench.shop.owner, job.id)[1].total_micros == 0


def test_an_input_that_was_replaced_is_not_used(bench: Bench) -> None:
    order = bench.shop.order()
    job = bench.shop.accept(order)
    bench.shop.objects.put(order.target.key, [wall()], "image/png")
    bench.run(bench.attempt())
    assert bench.shop.job(job.id).error == "object_missing"


def test_an_order_that_cannot_be_read_is_our_fault_and_tried_again(bench: Bench) -> None:
    job = bench.shop.accept("{}")
    bench.run(bench.attempt())
    again = bench.shop.job(job.id)
    assert (again.state, again.attempts[0].error, again.attempts[0].fault) == ("queued", "internal_fault", "provider")


def test_a_fault_of_a_model_ends_this_attempt_only(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    job = bench.shop.accept()
    attempt = bench.attempt()
    monkeypatch.setattr(bench, "at", lambda phase: 1 / 0 if phase == "run" else None)
    bench.run(attempt)
    again = bench.shop.job(job.id)
    assert (again.state, again.attempts[0].fault) == ("queued", "provider")
    check_usage(again.attempts[0].usage)
    assert bench.shop.requests.receipt(bench.shop.owner, job.id)[1].total_micros == 0


@pytest.mark.parametrize("phase", ["fetch", "run", "store"])
def test_a_cancel_stops_the_attempt_in_every_phase(bench: Bench, phase: str) -> None:
    job = bench.shop.accept()
    attempt = bench.attempt()
    gate = bench.gate(phase)
    thread = bench.start(attempt)
    assert gate.reached.wait(30)
    bench.shop.requests.cancel(bench.shop.owner, job.id)
    attempt.beat()
    began = time.monotonic()
    gate.go.set()
    thread.join()
    assert time.monotonic() - began < 2
    ended = bench.shop.job(job.id)
    assert (ended.state, ended.attempts[0].state) == ("cancelled", "cancelled")
    check_usage(ended.attempts[0].usage)
    charged = bench.shop.requests.receipt(bench.shop.owner, job.id)[1].total_micros
    assert (charged > 0) == (ended.attempts[0].usage.device_active_ms > 0)
    assert (phase == "fetch") == (charged == 0)
    assert bench.shop.results(job.id) == []


@pytest.mark.parametrize("phase", ["fetch", "run", "store"])
def test_a_lost_lease_stops_it_in_every_phase_without_a_trace(bench: Bench, phase: str) -> None:
    job = bench.shop.accept()
    attempt = bench.attempt()
    gate = bench.gate(phase)
    thread = bench.start(attempt)
    assert gate.reached.wait(30)
    bench.shop.clock.at_ms += 60_000
    assert bench.shop.desk.sweep() == 1
    lost = bench.shop.job(job.id)
    attempt.beat()
    gate.go.set()
    thread.join()
    assert bench.shop.job(job.id) == lost
    assert lost.attempts[0].cause == "silent"
    assert bench.shop.results(job.id) == []


def test_a_lease_lost_while_it_was_stored_leaves_nothing_stored(bench: Bench) -> None:
    job = bench.shop.accept()
    attempt = bench.attempt()
    gate = bench.gate("store")
    thread = bench.start(attempt)
    assert gate.reached.wait(30)
    bench.shop.clock.at_ms += 60_000
    bench.shop.desk.sweep()
    gate.go.set()  # no heartbeat tells it: it stores everything, and hears only then
    thread.join()
    assert bench.shop.results(job.id) == []
    assert bench.shop.job(job.id).state == "queued"


def test_what_is_given_back_goes_on_elsewhere_and_costs_nothing(bench: Bench) -> None:
    job = bench.shop.accept()
    attempt = bench.attempt()
    gate = bench.gate("run")
    thread = bench.start(attempt)
    assert gate.reached.wait(30)
    attempt.give_back()
    gate.go.set()
    thread.join()
    back = bench.shop.job(job.id)
    assert (back.state, back.attempts[0].state) == ("queued", "preempted")
    bench.gates.clear()
    bench.run(bench.attempt())
    assert bench.shop.job(job.id).state == "succeeded"


@pytest.mark.parametrize("error", [DiskFull, StorageUnavailable])
def test_a_store_that_refuses_the_result_costs_the_caller_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: type[SecondfaceError]
) -> None:
    job = bench.shop.accept()
    attempt = bench.attempt()

    def refused(phase: str) -> None:
        if phase == "store":
            raise error

    monkeypatch.setattr(bench, "at", refused)
    bench.run(attempt)
    again = bench.shop.job(job.id)
    assert (again.state, again.attempts[0].fault, again.attempts[0].error) == ("queued", "provider", error.code)
    assert again.attempts[0].usage.device_active_ms > 0
    assert bench.shop.requests.receipt(bench.shop.owner, job.id)[1].total_micros == 0
    assert bench.shop.results(job.id) == []


def test_a_cost_limit_stops_the_attempt(bench: Bench) -> None:
    shop = bench.shop
    shop.desk = LeaseDesk(shop.transactions, Settlement(shop.ids), shop.bell, times=Times(heartbeat_ms=5_000))
    job = shop.accept(max_cost_micros=6_000)  # two seconds; the next heartbeat comes after five
    attempt = bench.attempt()
    attempt.beat()
    bench.run(attempt)
    ended = bench.shop.job(job.id)
    assert (ended.state, ended.error) == ("failed", "cost_limit_reached")
    assert bench.shop.requests.receipt(bench.shop.owner, job.id)[1].total_micros <= 6_000


class _Deaf:
    """A desk whose database fails now and then: before, or after, it has heard."""

    def __init__(self, shop: Workshop, *, hears: bool, fails: int) -> None:
        self.shop, self.hears, self.left = shop, hears, fails

    def succeed(self, lease: Lease, usage: Usage, result: str, *, facts: Facts = NO_FACTS) -> None:
        if self.hears or not self.left:
            self.shop.desk.succeed(lease, usage, result, facts=facts)
        if self.left:
            self.left -= 1
            raise StorageUnavailable

    def __getattr__(self, name: str) -> object:
        return getattr(self.shop.desk, name)


@pytest.mark.parametrize("hears", [False, True])
def test_a_database_that_fails_at_the_end_loses_and_doubles_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, hears: bool
) -> None:
    monkeypatch.setattr("secondface.fleet.attempt._RETRY_S", 0.01)
    job = bench.shop.accept()
    desk = _Deaf(bench.shop, hears=hears, fails=2)
    seat = SharedSessions(models()).seat()
    place = Workplace(desk, bench, PixelRoom(10**9), Terms())  # type: ignore[arg-type]
    attempt = Attempt(bench.shop.claim(), place, seat)
    bench.run(attempt)
    ended = bench.shop.job(job.id)
    assert (ended.state, len(ended.attempts)) == ("succeeded", 1)
    assert len(bench.shop.results(job.id)) == 2


def test_a_worker_that_cannot_reach_the_database_stops_when_its_lease_is_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = bench.shop.accept()
    attempt = bench.attempt(lease_ms=30)
    gate = bench.gate("run")
    thread = bench.start(attempt)
    assert gate.reached.wait(30)

    def unreachable(*_: object) -> None:
        raise StorageUnavailable

    monkeypatch.setattr(bench.shop.desk, "beat", unreachable)
    time.sleep(0.05)
    attempt.beat()
    gate.go.set()
    thread.join()
    assert bench.shop.job(job.id).attempts[0].state == "leased"
    assert bench.shop.results(job.id) == []
