"""Calls of several runs meet in one batch, each gets its own rows back, and a bad one fails alone."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

from secondface.errors import ModelFailed
from secondface.frames import Session
from secondface.models.manifest import load_manifests
from secondface.models.sessions import OrtSessions
from secondface.pipeline.batching import Batcher, SharedSessions
from secondface.pipeline.device_share import SharedDevice


class Doubler:
    """Twice the input; the first call waits for `open`, and a row of -1 breaks the batch that it is in."""

    name = "doubler"

    def __init__(self, takes_rows: bool = True) -> None:
        self.takes_rows = takes_rows
        self.open = threading.Event()
        self.sizes: list[int] = []

    def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
        rows = np.asarray(inputs["x"], np.float32)
        self.sizes.append(len(rows))
        assert self.open.wait(10)
        if (rows == -1).any():
            raise ModelFailed("a bad row")
        return {"y": rows * 2}


class One:
    """Sessions with a single model."""

    device = "cpu"

    def __init__(self, session: Session) -> None:
        self.session = session

    def get(self, name: str) -> Session:
        return self.session


def row(value: float, count: int = 1, width: int = 4) -> dict[str, npt.NDArray[np.float32]]:
    return {"x": np.full((count, width), value, np.float32)}


def together(model: Doubler, inputs: list[dict[str, npt.NDArray[np.float32]]], most_rows: int = 32) -> list[object]:
    """Results or failures of calls that all wait while the device is at a first one."""
    shared = SharedSessions(One(model), most_rows=most_rows)
    with ThreadPoolExecutor(len(inputs) + 1) as pool:
        first = pool.submit(shared.seat().get("doubler").run, row(0.0))
        while not model.sizes:
            pass
        rest = [pool.submit(shared.seat().get("doubler").run, each) for each in inputs]
        batcher = shared.batcher("doubler")
        while len(batcher._queue) < len(inputs):  # pyright: ignore[reportPrivateUsage]
            pass
        model.open.set()
        first.result()
        return [future.exception() or future.result() for future in rest]


def test_calls_that_wait_become_one_batch() -> None:
    model = Doubler()
    results = together(model, [row(float(n), n) for n in (1, 2, 3)])
    assert model.sizes == [1, 6]
    for n, result in zip((1, 2, 3), results, strict=True):
        assert isinstance(result, dict)
        assert result["y"].shape == (n, 4)
        assert (result["y"] == 2 * n).all()
        assert result["y"].base is None


def test_a_bad_call_fails_alone() -> None:
    model = Doubler()
    good, bad, fine = together(model, [row(1.0), row(-1.0), row(3.0)])
    assert isinstance(bad, ModelFailed)
    assert isinstance(good, dict) and isinstance(fine, dict)
    assert (good["y"][0, 0], fine["y"][0, 0]) == (2, 6)


def test_a_batch_is_never_larger_than_allowed_and_holds_one_shape_only() -> None:
    model = Doubler()
    results = together(model, [row(1.0, 3), row(2.0, 2), row(3.0, 1, width=5), row(4.0, 1)], most_rows=4)
    assert [result["y"].shape for result in results if isinstance(result, dict)] == [(3, 4), (2, 4), (1, 5), (1, 4)]
    assert sorted(model.sizes[1:]) == [1, 2, 4]


def test_a_model_of_single_rows_is_never_given_more() -> None:
    model = Doubler(takes_rows=False)
    together(model, [row(1.0), row(2.0), row(3.0)])
    assert model.sizes == [1, 1, 1, 1]


def test_device_time_of_a_batch_goes_to_its_rows() -> None:
    device = SharedDevice()
    model = Doubler()
    model.open.set()
    batcher = Batcher(model, device)
    mine, other = device.share(), device.share()
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(batcher.run, share, row(1.0, n)) for share, n in ((mine, 3), (other, 1))]:
            future.result()
    assert mine.busy_ns > 0 and other.busy_ns > 0
    assert mine.busy_ns + other.busy_ns == device.busy_ns


def test_a_wait_gathers_calls_that_come_a_little_later() -> None:
    device = SharedDevice()
    model = Doubler()
    model.open.set()
    batcher = Batcher(model, device, most_rows=2, wait_s=10.0)
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(batcher.run, device.share(), row(n)) for n in (1.0, 2.0)]:
            future.result(timeout=9)
    assert model.sizes == [2]


@pytest.mark.parametrize("manifest", load_manifests(), ids=lambda manifest: manifest.name)
def test_embedded_models_say_rightly_whether_they_take_rows(manifest) -> None:  # type: ignore[no-untyped-def]
    session = OrtSessions().get(manifest.name)
    assert session.takes_rows == (manifest.name == "face_id_dlib128")
    rng = np.random.default_rng(3)
    if session.takes_rows:
        shape = manifest.inputs[0].sized("least")[1:]
        rows = rng.random((3, *shape), np.float32) * 255
        name = manifest.inputs[0].name
        whole = session.run({name: rows})
        for at in range(3):
            alone = session.run({name: rows[at : at + 1]})
            for key, value in alone.items():
                np.testing.assert_allclose(whole[key][at : at + 1], value, atol=2e-5)
