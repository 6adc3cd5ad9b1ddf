"""What the settings make of a service: how many workers, what they are told, and what a round does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from secondface.compose.rounds import Rounds, RoundThreads
from secondface.compose.service import scaling_policy, server
from secondface.compose.work import most_workers, worker_environment
from secondface.control.autoscaler import Autoscaler
from secondface.control.housekeeping import Housekeeping
from secondface.control.leftovers import Leftovers
from secondface.control.occupancy import Occupancy
from secondface.domain.jobs import Job
from secondface.domain.ports import Worker
from secondface.domain.scaling import Policy, Snapshot, decide
from secondface.errors import BadMedia, InvalidSetting, ObjectMissing, StorageUnavailable
from secondface.gateway.service import Service
from secondface.settings import Settings, load_settings
from secondface.storage.doorbell import LocalDoorbell
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock
from secondface.storage.memory_objects import MemoryObjects
from tests.unit.control.service import Service as Trial
from tests.unit.fleet.workshop import SAMPLE


def test_workers_are_chosen_by_the_settings_and_never_fewer_than_the_least() -> None:
    assert most_workers(load_settings(workers_most=7)) == 7
    assert most_workers(load_settings()) >= 1
    assert most_workers(load_settings(workers_least=300)) >= 300


def test_the_least_are_there_without_work_and_by_default_none() -> None:
    for least in (0, 2):
        decision = decide(Snapshot(at_ms=0), scaling_policy(load_settings(workers_least=least, workers_most=4)))
        assert decision.target == least
        assert sum(count for _, count in decision.start) == least


def test_a_worker_gets_every_setting_of_its_server(tmp_path: Path) -> None:
    settings = load_settings(
        data_dir=tmp_path, device="cpu", threads=3, worker_jobs=5, heartbeat_ms=250, reduced_precision=False,
        content_producer="someone",
    )  # fmt: skip
    script = "from secondface.settings import load_settings; print(load_settings().model_dump_json())"
    environment = worker_environment(settings) | {"SECONDFACE_CONFIG": os.devnull}
    told = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert Settings.model_validate_json(told.stdout) == settings


def test_a_heartbeat_that_would_lose_leases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="heartbeat_ms"):
        server(load_settings(data_dir=tmp_path, lease_s=2, heartbeat_ms=1_001))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = server(load_settings(data_dir=tmp_path))
    yield made
    made.stop()


def test_inputs_are_inspected_and_marks_read_from_the_store(service: Service) -> None:
    with (SAMPLE / "clip.mp4").open("rb") as clip:
        stored = service.objects.put("u/clip", iter(lambda: clip.read(1 << 16), b""), "video/mp4")
    facts = service.inspect(stored)
    assert (facts.kind, facts.frames) == ("video", 60)
    assert facts.duration_ms is not None and facts.duration_ms > 1000
    assert not service.read_marks("u/clip").ai_made
    junk = service.objects.put("u/junk", io.BytesIO(b"no picture at all"), "image/png")
    with pytest.raises(BadMedia):
        service.inspect(junk)
    with pytest.raises(BadMedia):
        service.read_marks("u/junk")
    with pytest.raises(ObjectMissing):
        service.inspect(replace(stored, key="u/nothing"))
    with pytest.raises(ObjectMissing):  # facts of one file must not be kept for another's bytes
        service.inspect(replace(junk, sha256=stored.sha256))


def test_models_are_shown_and_nothing_is_lacking(service: Service) -> None:
    assert "face_mesh_478" in {model.name for model in service.models()}
    assert list(service.ready()) == []


class _Yard:
    """A fleet without processes; one of its workers crashes when the test says so."""

    def __init__(self) -> None:
        self.dead: list[str] = []
        self.started, self.closed = 0, False

    def workers(self, tier: str) -> Sequence[Worker]:
        return []

    def start(self, tier: str, market: object, count: int) -> None:
        self.started += count

    def stop(self, worker_ids: Sequence[str]) -> None:
        raise AssertionError("there is nobody to stop")

    def crashed(self) -> Sequence[str]:
        dead, self.dead = self.dead, []
        return dead

    def close(self) -> None:
        self.closed = True


class _Round:
    def __init__(self) -> None:
        self.trial, self.yard, self.tidied = Trial(), _Yard(), list[str]()
        objects = MemoryObjects(Links("http://localhost", (b"s" * 32,), MachineClock()))
        transactions = self.trial.transactions
        policy = Policy(tier="a10g", markets=("on_demand",))
        self.rounds = Rounds(
            tier="a10g", fleet=self.yard, desk=self.trial.desk,
            autoscaler=Autoscaler(transactions, self.yard, (policy,)),
            occupancy=Occupancy(transactions, self.yard, self.trial.clock, tier="a10g", micros_per_s=5),
            housekeeping=Housekeeping(transactions), leftovers=Leftovers(transactions, objects),
            tidy_parts=lambda: self.tidy("parts"), tidy_workrooms=lambda: self.tidy("rooms"),
            clock=self.trial.clock,
        )  # fmt: skip

    def tidy(self, what: str) -> int:
        self.tidied.append(what)
        return 0

    def job(self) -> Job:
        return self.trial.job(self.trial.submit().job.id)


def test_what_a_crashed_worker_held_is_taken_back_at_once_and_after_two_crashes_the_next_worker_waits() -> None:
    each = _Round()
    job = each.job()
    each.trial.claim("w1")
    each.yard.dead = ["w1"]
    each.rounds.look_after_workers()
    assert each.trial.job(job.id).state == "queued"
    assert each.tidied == ["rooms"]
    assert each.yard.started == 1, "one crash is no loop"
    each.yard.dead = ["w2"]
    each.rounds.look_after_workers()
    assert each.yard.started == 1, "after a second one in a row the next is not started at once"
    each.trial.clock.at_ms += 31_000
    each.rounds.look_after_workers()
    assert each.yard.started == 2


def test_a_crash_that_is_found_while_the_database_is_away_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    each = _Round()
    job = each.job()
    each.trial.claim("w1")
    each.yard.dead = ["w1"]
    with monkeypatch.context() as patch:
        patch.setattr(each.trial.desk, "worker_crashed", _away)
        with pytest.raises(StorageUnavailable):
            each.rounds.look_after_workers()
    each.rounds.look_after_workers()
    assert each.trial.job(job.id).attempts[0].cause == "crashed"


def _away(_worker: str) -> int:
    raise StorageUnavailable


def test_a_silent_worker_is_swept_and_the_journal_sealed() -> None:
    each = _Round()
    job = each.job()
    each.trial.claim("w1")
    each.trial.clock.at_ms += 60_000
    each.rounds.sweep()
    assert each.trial.job(job.id).state == "queued"
    each.rounds.keep()
    with each.trial.transactions.view() as work:
        assert work.journal.audit(None)
    each.rounds.tidy()
    assert each.tidied == ["parts"]


def test_a_bell_starts_a_worker_without_delay_and_a_failing_round_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    each, bell, started = _Round(), LocalDoorbell(), threading.Event()
    failures = [StorageUnavailable(), ZeroDivisionError()]
    look = each.rounds.look_after_workers

    def flaky() -> None:
        if failures:
            raise failures.pop()
        look()
        if each.yard.started:
            started.set()

    monkeypatch.setattr(Rounds, "look_after_workers", lambda _self: flaky())
    threads = RoundThreads(each.rounds, bell)
    threads.start()
    threads.start()
    each.job()
    for _ in range(4):
        bell.ring("a10g")
    assert started.wait(60)
    threads.stop()
    assert each.yard.closed
    assert each.tidied[-1] == "rooms"
