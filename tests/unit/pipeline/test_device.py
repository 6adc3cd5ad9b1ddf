"""Model calls of a run count as its device time, and are places where it stops."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from secondface.errors import Cancelled
from secondface.observe import BusyClock
from secondface.pipeline.device import RunSessions


class Sleeper:
    """A session that takes 20 ms."""

    name = "sleeper"

    def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
        time.sleep(0.02)
        return {name: np.asarray(value, np.float32) for name, value in inputs.items()}


class Sleepers:
    """Sessions on a device of that name."""

    def __init__(self, device: str = "cpu") -> None:
        self.device = device

    def get(self, name: str) -> Sleeper:
        assert name == "sleeper"
        return Sleeper()


def test_calls_open_the_clock_of_the_run() -> None:
    active, started = BusyClock(), time.perf_counter()
    session = RunSessions(Sleepers(), active, lambda: None).get("sleeper")
    assert session.name == "sleeper"
    assert session.run({"x": np.ones(2)})["x"].tolist() == [1, 1]
    session.run({})
    assert 40 <= active.busy_ms <= (time.perf_counter() - started) * 1000


def test_a_stopping_run_makes_no_further_call() -> None:
    active = BusyClock()

    def checkpoint() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        RunSessions(Sleepers(), active, checkpoint).get("sleeper").run({})
    assert active.busy_ns == 0


@pytest.mark.parametrize(("device", "on_cpu"), [("cpu", True), ("cuda", False), ("tensorrt", False)])
def test_only_on_the_cpu_the_stages_are_the_device(device: str, on_cpu: bool) -> None:
    assert RunSessions(Sleepers(device), BusyClock(), lambda: None).computes_on_cpu is on_cpu
