from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from secondface.errors import ModelCorrupt, ModelFailed, ModelMissing
from secondface.models import sessions as sessions_module
from secondface.models.manifest import Manifest
from secondface.models.sessions import OrtSessions

RANDOM = np.random.default_rng(7)


def test_runs_by_name_and_gives_every_output_by_name() -> None:
    session = OrtSessions().get("face_mesh_478")
    outputs = session.run({"input_1": np.zeros((1, 192, 192, 3), np.float32)})
    assert {name: array.shape for name, array in outputs.items()} == {
        tensor.name: tensor.shape for tensor in session.manifest.outputs
    }


def test_loads_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    real = sessions_module.read_verified

    def counted(manifest: Manifest) -> bytes:
        reads.append(manifest.name)
        return real(manifest)

    monkeypatch.setattr(sessions_module, "read_verified", counted)
    sessions, barrier = OrtSessions(), threading.Barrier(8)

    def get(_: int) -> int:
        barrier.wait()
        return id(sessions.get("person_seg_256"))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(get, range(8)))) == 1
    assert reads == ["person_seg_256"]
    assert sessions.loaded() == ["person_seg_256"]


def test_threads_side_by_side_get_their_own_results() -> None:
    session = OrtSessions().get("face_id_dlib128")
    pictures = [RANDOM.uniform(0, 255, (1, 3, 150, 150)).astype(np.float32) for _ in range(6)]
    alone = [session.run({"input": picture})["descriptor"] for picture in pictures]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda picture: session.run({"input": picture})["descriptor"], pictures))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_batch_is_the_same_as_one_by_one() -> None:
    session = OrtSessions().get("face_id_dlib128")
    batch = RANDOM.uniform(0, 255, (4, 3, 150, 150)).astype(np.float32)
    together = session.run({"input": batch})["descriptor"]
    alone = np.concatenate([session.run({"input": batch[i : i + 1]})["descriptor"] for i in range(4)])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_more_threads_give_the_same_answer() -> None:
    tile = RANDOM.uniform(0, 1, (1, 3, 46, 60)).astype(np.float32)
    one = OrtSessions(threads=1).get("sr2x_photo").run({"Input1": tile})["Eltwise4"]
    two = OrtSessions(threads=2).get("sr2x_photo").run({"Input1": tile})["Eltwise4"]
    assert one.shape == (1, 3, 64, 92)
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_time_is_counted_by_model_and_as_a_union() -> None:
    sessions = OrtSessions()
    assert sessions.device_active_ms == 0
    sessions.warm_up(["face_detect_full192", "person_seg_256"])
    by_model = sessions.busy_ms()
    assert set(by_model) == {"face_detect_full192", "person_seg_256"}
    assert 0 < sessions.device_active_ms <= sum(by_model.values()) + 2


@pytest.mark.parametrize(
    "inputs",
    [
        {"input_1": np.zeros((1, 64, 64, 3), np.float32)},
        {"input_1": np.zeros((1, 256, 256, 3), np.float64)},
        {"pixels": np.zeros((1, 256, 256, 3), np.float32)},
        {},
    ],
    ids=["shape", "type", "name", "nothing"],
)
def test_wrong_input_is_our_error_with_the_model_named(inputs: dict[str, np.ndarray]) -> None:
    with pytest.raises(ModelFailed, match="person_seg_256"):
        OrtSessions().get("person_seg_256").run(inputs)


def test_bytes_that_are_no_model_are_corrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "read_verified", lambda manifest: b"not a graph")
    with pytest.raises(ModelCorrupt, match=r"person_seg_256\.onnx"):
        OrtSessions().get("person_seg_256")


def test_a_failed_load_is_tried_again() -> None:
    sessions = OrtSessions()
    for _ in range(2):
        with pytest.raises(ModelMissing):
            sessions.get("nothing")
    assert sessions.loaded() == []


def test_unload_forgets_and_get_loads_again() -> None:
    sessions = OrtSessions()
    first = sessions.get("person_seg_256")
    sessions.unload("person_seg_256")
    assert sessions.loaded() == []
    assert sessions.get("person_seg_256") is not first
