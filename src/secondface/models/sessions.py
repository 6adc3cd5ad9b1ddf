"""Loaded models: one ONNX Runtime session per model, shared by all threads, with the time they kept the device busy.

Decides threads, memory and accounting; must not know what a model is for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from secondface.errors import DeviceUnavailable, ModelCorrupt, ModelFailed
from secondface.models.devices import (
    ORT_ERRORS,
    PROVIDERS,
    Device,
    DeviceChoice,
    DeviceOptions,
    provider_chain,
    resolve_device,
)
from secondface.models.manifest import Manifest
from secondface.models.store import read_verified, resolve
from secondface.observe import BusyClock, histogram, span

_ERRORS_ONLY = 3
Shape = tuple[int | str | None, ...]


class OrtSession:
    """One loaded model. `run` may be called from several threads at once."""

    def __init__(
        self, manifest: Manifest, session: ort.InferenceSession, clocks: tuple[BusyClock, BusyClock], serial: bool
    ) -> None:
        self.manifest = manifest
        self._session = session
        self._output_names = [tensor.name for tensor in manifest.outputs]
        self._clocks = clocks
        # A CPU session computes in the calling thread. On an accelerator, calls side by side would each take
        # their own scratch memory and still wait for the same device.
        self._turn = threading.Lock() if serial else None

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def takes_rows(self) -> bool:
        """Whether inputs of several callers can be put together along the first axis of all tensors."""
        first = {tensor.shape[0] for tensor in (*self.manifest.inputs, *self.manifest.outputs)}
        return len(first) == 1 and isinstance(first.pop(), str)

    @property
    def busy_ms(self) -> int:
        """Milliseconds in which at least one call of this model was running."""
        return self._clocks[0].busy_ms

    def tensors(self) -> tuple[list[tuple[str, Shape]], list[tuple[str, Shape]]]:
        """Names and shapes that the loaded graph itself takes and gives, which must be those of its manifest."""
        taken, given = self._session.get_inputs(), self._session.get_outputs()
        return [(each.name, tuple(each.shape)) for each in taken], [(each.name, tuple(each.shape)) for each in given]

    def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
        """Named arrays in, all of the manifest's outputs by name out. Raises ModelFailed."""
        if self._turn is None:
            return self._timed_run(inputs)
        with self._turn:
            return self._timed_run(inputs)

    def _timed_run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
        of_model, of_device = self._clocks
        with of_model, of_device:
            try:
                arrays = self._session.run(self._output_names, inputs)
            except ORT_ERRORS as error:
                raise ModelFailed(f"{self.name}: {error}", model=self.name) from error
        return dict(zip(self._output_names, arrays, strict=True))


class OrtSessions:
    """Sessions by model name on one device; each is loaded once, verified, and kept until `unload`.

    threads: per session and call; 1 because the stages of a run already fill the cores side by side.
    """

    def __init__(
        self,
        device: DeviceChoice = "cpu",
        threads: int | None = None,
        *,
        options: DeviceOptions | None = None,
    ) -> None:
        self.device: Device = resolve_device(device)
        self.threads = 1 if threads is None else threads
        self.options = options or DeviceOptions()
        if self.device == "tensorrt" and self.options.engine_cache is not None:
            _make_folder(self.options.engine_cache)
        self._clock = BusyClock()
        self._sessions: dict[str, OrtSession] = {}
        self._guard = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}

    def get(self, name: str) -> OrtSession:
        """The session of that model, loaded if it is not yet. Raises ModelMissing, ModelCorrupt, DeviceUnavailable."""
        with self._guard:
            if (session := self._sessions.get(name)) is not None:
                return session
            turn = self._loading.setdefault(name, threading.Lock())
        with turn:
            if (session := self._sessions.get(name)) is not None:
                return session
            session = self._load(resolve(name))
            with self._guard:
                self._sessions[name] = session
            return session

    def loaded(self) -> list[str]:
        """Names of the models that are in memory."""
        with self._guard:
            return sorted(self._sessions)

    def unload(self, name: str) -> None:
        """Give the model's memory back as soon as its running calls have ended."""
        with self._guard:
            self._sessions.pop(name, None)

    def warm_up(self, names: Iterable[str]) -> None:
        """Load models and run each once on zeros, so that the first frame is not the one that waits."""
        for name in names:
            session = self.get(name)
            session.run({each.name: np.zeros(each.sized("least"), np.float32) for each in session.manifest.inputs})

    @property
    def device_active_ms(self) -> int:
        """Milliseconds in which at least one model call was running: the union of all calls' intervals."""
        return self._clock.busy_ms

    def busy_ms(self) -> dict[str, int]:
        """Busy milliseconds by model."""
        with self._guard:
            return {name: session.busy_ms for name, session in sorted(self._sessions.items())}

    def _load(self, manifest: Manifest) -> OrtSession:
        with span("model.load", model=manifest.name, device=self.device) as timing:
            blob = read_verified(manifest)
            chain = provider_chain(self.device, self.options, manifest)
            try:
                session = ort.InferenceSession(blob, self._session_options(manifest), providers=chain)
            except ORT_ERRORS as error:
                raise ModelCorrupt(f"{manifest.file}: {error}", model=manifest.name) from error
        if PROVIDERS[self.device] not in session.get_providers():
            raise DeviceUnavailable(f"{manifest.name} does not load on {self.device}.", device=self.device)
        # Otherwise a failing device is replaced by the CPU in mid-run, at a device's price.
        session.disable_fallback()
        histogram("model.load_ms", timing.elapsed_ms, model=manifest.name)
        return OrtSession(manifest, session, (BusyClock(), self._clock), serial=self.device != "cpu")

    def _session_options(self, manifest: Manifest) -> ort.SessionOptions:
        options = ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        options.logid = manifest.name
        # Waiting threads of a pool would burn the cores that decode and encode need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # The arena is no faster here and keeps what each model ever needed at its worst: 320 MB after a few tiles
        # of super-resolution, against 110 MB without it.
        options.enable_cpu_mem_arena = False
        return options


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DeviceUnavailable(f"tensorrt: no folder for its engines at {path}: {error.strerror}") from error
