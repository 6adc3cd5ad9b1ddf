from __future__ import annotations

from pathlib import Path

import pytest

from secondface.errors import DeviceUnavailable
from secondface.models.devices import DeviceOptions, probe_devices, provider_chain, resolve_device
from secondface.models.store import resolve

MESH = resolve("face_mesh_478")


def test_the_cpu_always_works_and_every_device_is_explained() -> None:
    statuses = {status.device: status for status in probe_devices()}
    assert list(statuses) == ["tensorrt", "cuda", "cpu"]
    assert statuses["cpu"].usable
    assert all(status.usable or status.reason for status in statuses.values())


def test_auto_takes_the_fastest_device_that_works() -> None:
    assert resolve_device("auto") == next(status.device for status in probe_devices() if status.usable)


@pytest.mark.parametrize("device", ["cuda", "tensorrt"])
def test_a_device_that_is_not_here_is_refused_with_the_reason(device: str) -> None:
    status = next(status for status in probe_devices() if status.device == device)
    if status.usable:
        pytest.skip(f"{device} works on this machine")
    with pytest.raises(DeviceUnavailable, match=r"onnxruntime|driver"):
        resolve_device(status.device)


def test_each_chain_ends_with_the_cpu() -> None:
    chains = {device: provider_chain(device, DeviceOptions(), MESH) for device in ("cpu", "cuda", "tensorrt")}
    assert [name for name, _ in chains["cpu"]] == ["CPUExecutionProvider"]
    assert [name for name, _ in chains["cuda"]] == ["CUDAExecutionProvider", "CPUExecutionProvider"]
    assert [name for name, _ in chains["tensorrt"]] == [
        "TensorrtExecutionProvider",
        "CUDAExecutionProvider",
        "CPUExecutionProvider",
    ]


def test_tensorrt_keeps_its_engines_apart_by_model(tmp_path: Path) -> None:
    options = DeviceOptions(device_id=1, engine_cache=tmp_path)
    tensorrt = dict(provider_chain("tensorrt", options, MESH))["TensorrtExecutionProvider"]
    assert tensorrt["trt_fp16_enable"] == "1"
    assert tensorrt["trt_engine_cache_enable"] == "1"
    assert tensorrt["trt_engine_cache_path"] == str(tmp_path)
    assert tensorrt["trt_engine_cache_prefix"] == "face_mesh_478"
    assert tensorrt["device_id"] == "1"


def test_tensorrt_builds_one_engine_for_all_tile_sizes() -> None:
    tiled = dict(provider_chain("tensorrt", DeviceOptions(), resolve("sr2x_photo")))["TensorrtExecutionProvider"]
    assert tiled["trt_profile_min_shapes"] == "Input1:1x3x15x15"
    assert tiled["trt_profile_opt_shapes"] == "Input1:1x3x174x174"
    assert tiled["trt_profile_max_shapes"] == "Input1:1x3x526x526"
    fixed = dict(provider_chain("tensorrt", DeviceOptions(), MESH))["TensorrtExecutionProvider"]
    assert "trt_profile_min_shapes" not in fixed


def test_device_memory_is_bounded_on_request() -> None:
    options = DeviceOptions(memory_limit_bytes=2 << 30, fp16=False)
    cuda = dict(provider_chain("cuda", options, MESH))["CUDAExecutionProvider"]
    assert cuda["gpu_mem_limit"] == str(2 << 30)
    assert cuda["use_tf32"] == "0"
    assert "gpu_mem_limit" not in dict(provider_chain("cuda", DeviceOptions(), MESH))["CUDAExecutionProvider"]
