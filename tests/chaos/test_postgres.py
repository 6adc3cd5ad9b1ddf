"""The same service over PostgreSQL, named by its URL alone: a worker is killed, and no job is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.plant import Plant, eventually
from tests.conformance import postgres


@pytest.mark.slow
@pytest.mark.skipif(postgres.binaries() is None, reason=postgres.INSTALL)
def test_a_worker_killed_in_the_middle_loses_nothing_on_postgresql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.running() as url:
        plant = Plant(tmp_path, monkeypatch, database=url)
        try:
            plant.doom_at("run", "kill")
            jobs = [plant.submit() for _ in range(3)]
            ended = plant.wait(*jobs)
            eventually(plant.reached.exists)
            assert {job.state for job in ended} == {"succeeded"}
            assert any(attempt.cause == "crashed" for job in ended for attempt in job.attempts)
            plant.check()
        finally:
            plant.close()
    assert not list((tmp_path / "data").glob("*.db"))
