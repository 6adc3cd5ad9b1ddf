"""The part of ONNX Runtime's interface that secondface uses; the wheel ships no types."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

__version__: str

class ExecutionMode(IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1

class GraphOptimizationLevel(IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_ALL = 99

class SessionOptions:
    intra_op_num_threads: int
    inter_op_num_threads: int
    execution_mode: ExecutionMode
    graph_optimization_level: GraphOptimizationLevel
    log_severity_level: int
    logid: str
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    def __init__(self) -> None: ...
    def add_session_config_entry(self, key: str, value: str, /) -> None: ...

class RunOptions:
    log_severity_level: int
    terminate: bool
    def __init__(self) -> None: ...
    def add_run_config_entry(self, key: str, value: str, /) -> None: ...

class NodeArg:
    name: str
    type: str
    shape: list[int | str | None]

Provider = str | tuple[str, Mapping[str, str]]

class InferenceSession:
    def __init__(
        self,
        path_or_bytes: str | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Provider] | None = None,
    ) -> None: ...
    def get_inputs(self) -> list[NodeArg]: ...
    def get_outputs(self) -> list[NodeArg]: ...
    def get_providers(self) -> list[str]: ...
    def disable_fallback(self) -> None: ...
    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, npt.NDArray[np.generic]],
        run_options: RunOptions | None = None,
    ) -> list[npt.NDArray[np.float32]]: ...

def get_available_providers() -> list[str]: ...
def get_device() -> Literal["CPU", "GPU"]: ...
def set_default_logger_severity(severity: int, /) -> None: ...
def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None: ...
