"""The server is killed while its workers are busy: they end what they have and go; the next server does the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from secondface.compose.work import worker_environment
from tests.chaos.plant import Plant, eventually


def _serve(plant: Plant) -> subprocess.Popen[str]:
    served = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("served.py"))], env=worker_environment(plant.settings),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert served.stdout is not None
    assert served.stdout.readline() == "started\n"
    return served


@pytest.mark.slow
def test_a_worker_that_is_told_to_end_ends_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant = Plant(tmp_path, monkeypatch, starts=False, worker_jobs=1)
    jobs = [plant.submit() for _ in range(2)]
    command = [sys.executable, "-m", "secondface", "worker", "--name", "lone"]
    with subprocess.Popen(command, env=worker_environment(plant.settings), stderr=subprocess.PIPE, text=True) as worker:
        eventually(lambda: plant.job(jobs[0]).state == "running")
        worker.terminate()
        _, said = worker.communicate(timeout=150)
    assert (worker.returncode, said) == (0, "")
    assert [plant.job(job).state for job in jobs] == ["succeeded", "queued"]
    assert plant.job(jobs[0]).attempts[0].worker == "lone"
    assert not (tmp_path / "data" / "work" / "lone").exists()


@pytest.mark.slow
def test_a_killed_server_loses_no_job_and_leaves_no_worker_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant = Plant(tmp_path, monkeypatch, starts=False, worker_jobs=1, worker_cost_micros=7)
    jobs = [plant.submit() for _ in range(2)]
    with _serve(plant) as served:
        workers = psutil.Process(served.pid).children()
        eventually(lambda: any(plant.job(job).state == "running" for job in jobs))
        workers = [each for each in psutil.Process(served.pid).children() if "worker" in each.cmdline()]
        assert workers
        served.kill()
    eventually(lambda: not any(each.is_running() and each.status() != "zombie" for each in workers))
    states = [plant.job(job).state for job in jobs]
    assert "running" not in states
    assert "queued" in states
    with _serve(plant) as served:
        plant.check()
        served.terminate()
        assert served.wait(150) == 0
    assert [plant.job(job).state for job in jobs] == ["succeeded"] * 2
    assert [len(plant.job(job).attempts) for job in jobs] == [1, 1]
    with plant.service.transactions.view() as work:
        costs = work.ledger.entries(accounts=["supplier"])
    # The killed server had booked no whole minute yet; the other one booked its worker to the end.
    assert plant.job(jobs[1]).attempts[0].worker in {entry.subject.partition("/")[0] for entry in costs}
    assert all(entry.postings[1].micros % 7 == 0 for entry in costs)
    assert [path for path in (tmp_path / "data" / "work").iterdir() if path.is_dir()] == []
