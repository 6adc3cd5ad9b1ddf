"""The worker's end of the lanes: models are called here, and the guard asked, for a run that is in a cage.

Decides what such a run may call: models that there are, with arrays as their manifests describe them. Whatever runs in
the cage has read a stranger's files, so nothing it says is believed.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from secondface.errors import InternalFault, ModelFailed, SecondfaceError
from secondface.fleet.guard_desk import GuardDesk
from secondface.fleet.lanes import Arena, hang_up, received, send
from secondface.fleet.run_words import error_words
from secondface.frames import Sessions
from secondface.models.manifest import Manifest, Tensor
from secondface.models.store import resolve
from secondface.observe import BusyClock, log
from secondface.pipeline.device_share import DeviceShare

_MOST_THREADS = 64
_LONGEST_FAULT = 2000


class ToldWork:
    """What a caged run says of its own work, on its share of the device. It cannot go below nothing.

    It counts while the work is `open`, which is the phase in which device time is used.
    """

    def __init__(self, active: BusyClock) -> None:
        self._share = active if isinstance(active, DeviceShare) else None
        self._guard = threading.Lock()
        self._is_open = False
        self._told = self._shown = 0

    def add(self, step: int) -> None:
        """One more thread works, or one less."""
        with self._guard:
            self._told = max(-_MOST_THREADS, min(_MOST_THREADS, self._told + step))
            self._show(self._told if self._is_open else 0)

    def open(self) -> None:
        with self._guard:
            self._is_open = True
            self._show(self._told)

    def close(self) -> None:
        """Nothing counts from now on, whatever is told."""
        with self._guard:
            self._is_open = False
            self._show(0)

    def _show(self, threads: int) -> None:
        threads = max(0, threads)
        step, self._shown = threads - self._shown, threads
        if step and self._share is not None:
            self._share.device.change({self._share: step})


class ModelDesk:
    """Answers the lanes of one run, each in a thread of its own, until the other ends are gone."""

    def __init__(
        self, sessions: Sessions, guard: GuardDesk, arena: Arena, lanes: tuple[int, ...], work: ToldWork
    ) -> None:  # fmt: skip
        self._sessions, self._guard, self._arena, self._work = sessions, guard, arena, work
        self._turn = threading.Condition()
        self._is_open, self._calls = False, 0
        self._told_fault = False
        self._threads = [
            threading.Thread(target=self._serve, args=each, name=f"lane-{each[0]}", daemon=True)
            for each in enumerate(lanes)
        ]

    def open(self) -> None:
        """From now on models can be called, and device time is counted."""
        with self._turn:
            self._is_open = True
        self._work.open()

    def close(self) -> None:
        """Take no more calls, and wait for those that are under way: none may compute after its time."""
        with self._turn:
            self._is_open = False
            while self._calls:
                self._turn.wait()
        self._work.close()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Wait for calls that are under way; call it when the other ends are closed."""
        for thread in self._threads:
            thread.join()

    def _serve(self, lane: int, descriptor: int) -> None:
        with suppress(OSError, ValueError):
            while (words := received(descriptor)) is not None:
                send(descriptor, self._answer(lane, words))
        hang_up(descriptor)  # or a run that said what is no message would wait for ever

    def _answer(self, lane: int, words: Any) -> dict[str, Any]:
        try:
            return self._call(lane, words)
        except SecondfaceError as error:
            return error_words(error)
        except Exception as error:  # noqa: BLE001 - a model that breaks in a new way ends this run alone
            if not self._told_fault:  # once: a run may ask nonsense for ever, and must not fill the disk
                self._told_fault = True
                log("worker.fault", "error", error=f"{type(error).__name__}: {error}"[:_LONGEST_FAULT])
            return error_words(InternalFault(type(error).__name__))

    def _call(self, lane: int, words: Any) -> dict[str, Any]:
        if "ask" in words:
            with self._counted("guard", 1 if words.get("aside") else 0):
                return self._guard.answer(words, lambda shapes: self._arena.read_pictures(lane, shapes))
        name, shapes = str(words["model"]), words.get("inputs")
        manifest, session = resolve(name), self._sessions.get(name)
        if shapes is None:
            return {}
        inputs = self._arena.read(lane, shapes, given=False)
        require_fitting(manifest, inputs)
        with self._counted(name, 1 if words.get("aside") else 0):
            results = session.run(inputs)
        return {"outputs": self._arena.write(lane, results, given=True)}

    @contextmanager
    def _counted(self, name: str, aside: int) -> Generator[None]:
        """A call in its time. The thread that waits for it is set `aside`, for its time is counted here."""
        with self._turn:
            if not self._is_open:
                raise ModelFailed(f"{name}: called outside of a run", model=name)
            self._calls += 1
        self._work.add(-aside)
        try:
            yield
        finally:
            self._work.add(aside)
            with self._turn:
                self._calls -= 1
                self._turn.notify_all()


def require_fitting(manifest: Manifest, inputs: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Raises ModelFailed unless the arrays are those of the manifest, in number, name, and every side."""
    if {each.name for each in manifest.inputs} != set(inputs):
        raise ModelFailed(f"{manifest.name}: other inputs than it takes", model=manifest.name)
    for tensor in manifest.inputs:
        if not _fits(tensor, inputs[tensor.name].shape):
            raise ModelFailed(f"{manifest.name}: {tensor.name} does not fit", model=manifest.name)


def _fits(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    if len(shape) != len(tensor.shape):
        return False
    for side, wanted in zip(shape, tensor.shape, strict=True):
        low, high = (wanted, wanted) if isinstance(wanted, int) else (tensor.free[wanted][0], tensor.free[wanted][2])
        if not low <= side <= high:
            return False
    return True
