"""Workers are killed, stopped and cancelled at every phase: every accepted job ends once, and nothing is left over."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from secondface.media.cage import worker_cage_reason
from tests.chaos.plant import Plant, eventually

PLACES = ["claimed", "fetch", "run", "store", "stored", "told"]


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """One service for all that can share it, with two workers: while a killed one is replaced, the other goes on."""
    with pytest.MonkeyPatch.context() as patch:
        made = Plant(tmp_path_factory.mktemp("plant"), patch, lease_s=30, workers_least=2, workers_most=2)
        yield made
        made.close()


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_a_worker_killed_at_any_phase_loses_no_job_and_doubles_none(plant: Plant, place: str) -> None:
    plant.doom_at(place, "kill")
    first, second = plant.submit(), plant.submit()
    ended = plant.wait(first, second)
    assert {job.state for job in ended} == {"succeeded"}
    eventually(plant.reached.exists)
    attempts = [attempt for job in ended for attempt in job.attempts]
    assert sum(attempt.state == "succeeded" for attempt in attempts) == 2
    lost = [attempt.cause for attempt in attempts if attempt.state == "lost"]
    # Whoever died after it had handed in lost at most the other job that it had.
    assert set(lost) <= {"crashed"}
    assert len(lost) >= (0 if place == "told" else 1)
    plant.check()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["claimed", "fetch", "run", "store"])
def test_a_cancel_at_any_phase_stops_the_device_within_two_seconds(plant: Plant, place: str) -> None:
    plant.warm()
    plant.doom_at(place, "wait")
    job = plant.submit()
    eventually(plant.reached.exists)
    plant.service.requests.cancel(plant.caller, job)
    (ended,) = plant.wait(job)
    assert ended.state == "cancelled"
    # From the caller's word to the end of the attempt, as the database saw them: the device is free by then.
    assert plant.moment(job, "job.cancelled") - plant.moment(job, "job.stopping") < 2_000
    assert ended.attempts[0].usage.device_active_ms > 0 or place in ("claimed", "fetch", "run")
    plant.check()


@pytest.mark.slow
def test_an_input_that_kills_two_workers_is_poison_and_the_others_go_on(plant: Plant) -> None:
    innocent = plant.submit()
    poison = plant.submit("poison.png")
    later = plant.submit()
    bad, *good = plant.wait(poison, innocent, later)
    assert (bad.state, bad.error) == ("failed", "input_poisonous")
    assert [attempt.cause for attempt in bad.attempts] == ["crashed", "crashed"]
    assert {job.state for job in good} == {"succeeded"}
    plant.check()


@pytest.mark.slow
@pytest.mark.skipif(worker_cage_reason() is not None, reason=f"no cage here: {worker_cage_reason()}")
def test_a_run_killed_in_its_cage_is_tried_again_and_its_worker_goes_on(plant: Plant) -> None:
    plant.warm(2)
    before = plant.workers()
    plant.doom_at("run", "kill-runs")
    first, second = plant.submit(), plant.submit()
    ended = plant.wait(first, second)
    assert {job.state for job in ended} == {"succeeded"}
    assert plant.reached.exists()
    attempts = [attempt for job in ended for attempt in job.attempts]
    lost = [attempt for attempt in attempts if attempt.state == "lost"]
    assert lost, attempts
    assert {attempt.cause for attempt in lost} == {"crashed"}
    assert plant.workers() == before, "no worker went with it"
    plant.check()


@pytest.mark.slow
def test_a_worker_stopped_past_its_lease_changes_nothing_when_it_wakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant = Plant(tmp_path, monkeypatch, workers_least=2, workers_most=2, worker_jobs=1, lease_s=5)
    try:
        for place in ("run", "stored"):
            plant.warm(2)
            plant.doom_at(place, "stop")
            job = plant.submit()
            eventually(plant.reached.exists)
            (ended,) = plant.wait(job)
            assert (ended.state, len(ended.attempts)) == ("succeeded", 2)
            assert ended.attempts[0].cause == "silent"
            plant.check()
            (zombie,) = plant.stopped()
            zombie.send_signal(signal.SIGCONT)
            plant.warm(2)
            time.sleep(0.5)
            assert plant.job(job) == ended
            plant.check()
            assert zombie.is_running()
    finally:
        plant.close()


@pytest.mark.slow
def test_a_worker_that_sleeps_in_the_middle_of_a_write_is_killed_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps SQLite's lock, so nothing that asks the database can help."""
    plant = Plant(tmp_path, monkeypatch, workers_least=2, workers_most=2, worker_jobs=1, silence_s=12.0, lease_s=30)
    try:
        plant.warm(2)
        before = plant.workers()
        jobs = [plant.submit() for _ in range(3)]
        plant.doom_at("writing", "stop")
        eventually(plant.reached.exists)
        (asleep,) = (each for each in plant.stopped() if each in before)
        late = plant.submit()
        ended = plant.wait(*jobs, late)
        assert not asleep.is_running()
        assert {job.state for job in ended} == {"succeeded"}
        (spared,) = (each for each in before if each != asleep)
        assert spared.is_running()
        lost = [attempt for job in ended for attempt in job.attempts if attempt.state == "lost"]
        assert {attempt.cause for attempt in lost} <= {"crashed"}
        assert len({attempt.worker for attempt in lost}) <= 1
        plant.check()
    finally:
        plant.close()
