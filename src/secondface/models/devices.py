"""Which devices ONNX Runtime can use here, with which options, and why not.

Decides providers and their options; must not know what a model is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from secondface.errors import DeviceUnavailable, InvalidOption
from secondface.models.manifest import Manifest

Device = Literal["cpu", "cuda", "tensorrt"]
DeviceChoice = Literal["auto", "cpu", "cuda", "tensorrt"]

PROVIDERS: Mapping[Device, str] = {
    "tensorrt": "TensorrtExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "cpu": "CPUExecutionProvider",
}
"""Fastest first: the order in which `auto` tries them."""


ORT_ERRORS: tuple[type[Exception], ...] = (
    ort_state.EPFail, ort_state.EngineError, ort_state.Fail, ort_state.InvalidArgument, ort_state.InvalidGraph,
    ort_state.InvalidProtobuf, ort_state.ModelLoaded, ort_state.NoModel, ort_state.NoSuchFile,
    ort_state.NotImplemented, ort_state.RuntimeException, RuntimeError, ValueError,
)  # fmt: skip
"""What ONNX Runtime raises; its own classes have no root but Exception, its Python face adds the last two."""

_IDENTITY_MODEL = bytes.fromhex(
    "080812001a003a370a100a017812017922084964656e746974791201705a0f0a0178120a0a08080112040a020801620f0a0179120a0a0808"
    "0112040a02080142040a001011"
)
"""The smallest graph, y = x, with which a device is started to see whether it starts."""


@dataclass(frozen=True, slots=True)
class DeviceOptions:
    """How a device is used; what a device has no use for is ignored."""

    device_id: int = 0
    memory_limit_bytes: int | None = None
    """Upper bound of the device memory arena; None lets it grow."""
    fp16: bool = True
    """TensorRT: 16-bit engines. CUDA: TF32 matrix products, since its kernels keep the types of the model."""
    engine_cache: Path | None = None
    """Folder in which TensorRT keeps built engines; without it each process builds them again, for minutes."""


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """One row of `secondface doctor`."""

    device: Device
    usable: bool
    reason: str
    """Why it cannot be used; empty if it can."""


def provider_chain(device: Device, options: DeviceOptions, model: Manifest) -> list[tuple[str, dict[str, str]]]:
    """Providers with their options for one model, most wanted first; each chain ends with the CPU."""
    builders: Mapping[Device, Callable[[], dict[str, str]]] = {
        "tensorrt": lambda: _tensorrt_options(options, model),
        "cuda": lambda: _cuda_options(options),
        "cpu": dict,
    }
    order: list[Device] = list(PROVIDERS)
    return [(PROVIDERS[each], builders[each]()) for each in order[order.index(device) :]]


def _cuda_options(options: DeviceOptions) -> dict[str, str]:
    chosen = {
        "device_id": str(options.device_id),
        # The default doubles the arena at each growth: a 1080p tile would reserve gigabytes for good.
        "arena_extend_strategy": "kSameAsRequested",
        # The exhaustive search measures every kernel for every new input size, which stalls tiles of odd sizes.
        "cudnn_conv_algo_search": "HEURISTIC",
        "do_copy_in_default_stream": "1",
        "use_tf32": "1" if options.fp16 else "0",
    }
    if options.memory_limit_bytes is not None:
        chosen["gpu_mem_limit"] = str(options.memory_limit_bytes)
    return chosen


def _tensorrt_options(options: DeviceOptions, model: Manifest) -> dict[str, str]:
    chosen = {"device_id": str(options.device_id), "trt_fp16_enable": "1" if options.fp16 else "0"}
    if options.memory_limit_bytes is not None:
        chosen["trt_max_workspace_size"] = str(options.memory_limit_bytes)
    if any(tensor.free for tensor in model.inputs):
        # Without a range TensorRT builds an engine for the first size it meets, and a new one for each larger size.
        chosen |= {
            "trt_profile_min_shapes": _shapes(model, "least"),
            "trt_profile_opt_shapes": _shapes(model, "usual"),
            "trt_profile_max_shapes": _shapes(model, "most"),
        }
    if options.engine_cache is not None:
        chosen |= {
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": str(options.engine_cache),
            "trt_engine_cache_prefix": model.name,
            "trt_timing_cache_enable": "1",
            "trt_timing_cache_path": str(options.engine_cache),
        }
    return chosen


def _shapes(model: Manifest, which: Literal["least", "usual", "most"]) -> str:
    return ",".join(f"{tensor.name}:{'x'.join(map(str, tensor.sized(which)))}" for tensor in model.inputs)


@cache
def _load_accelerator_libraries() -> None:
    # Wheels of CUDA and cuDNN lie in site-packages, where the dynamic loader does not look by itself.
    if PROVIDERS["cuda"] in ort.get_available_providers():
        ort.preload_dlls()


def resolve_device(choice: DeviceChoice) -> Device:
    """The device that `choice` stands for here. Raises DeviceUnavailable."""
    _load_accelerator_libraries()
    if choice == "auto":
        return next(status.device for status in probe_devices() if status.usable)
    status = next((status for status in probe_devices() if status.device == choice), None)
    if status is None:
        raise InvalidOption(f"device {choice!r}: choose auto, {', '.join(PROVIDERS)}.")
    if not status.usable:
        raise DeviceUnavailable(f"{choice}: {status.reason}", device=choice)
    return choice


def probe_devices() -> list[DeviceStatus]:
    """Which devices work here and why others do not, fastest first. Starts each device once."""
    _load_accelerator_libraries()
    return [_probe(device) for device in PROVIDERS]


@cache
def _probe(device: Device) -> DeviceStatus:
    provider = PROVIDERS[device]
    if provider not in ort.get_available_providers():
        return DeviceStatus(
            device, False, reason=f"this build of onnxruntime has no {provider}; install onnxruntime-gpu"
        )
    if device == "cpu":
        return DeviceStatus(device, True, "")
    return _probe_session(device)


def _probe_session(device: Device) -> DeviceStatus:
    provider = PROVIDERS[device]
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(_IDENTITY_MODEL, options, providers=[provider])
    except ORT_ERRORS as error:
        return DeviceStatus(device, False, str(error).splitlines()[0])
    # ONNX Runtime goes on with the CPU when a provider's libraries do not load, and says so only in its log.
    if provider not in session.get_providers():
        return DeviceStatus(
            device, False, reason=f"{provider} does not start: its driver or libraries are not installed here"
        )
    return DeviceStatus(device, True, "")
