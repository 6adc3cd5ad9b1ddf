"""Where the model calls of several runs meet: one batch on the device, each run's rows given back to it.

Decides when a batch is full and what happens when it fails: each run is then tried alone, so that a bad one fails
alone. Calls that come while the device works are put together; a device that is idle is not kept waiting for more.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from secondface.errors import InternalFault, SecondfaceError
from secondface.frames import Session, Sessions
from secondface.pipeline.device_share import DeviceShare, SharedDevice

MOST_ROWS = 32
Arrays: TypeAlias = Mapping[str, npt.NDArray[np.generic]]
Results: TypeAlias = dict[str, npt.NDArray[np.float32]]


@dataclass(eq=False, slots=True)
class _Call:
    """One call that waits for its turn."""

    share: DeviceShare
    inputs: Arrays
    rows: int
    kind: tuple[object, ...]
    """Calls of one kind fit into one batch."""
    done: threading.Event = field(default_factory=threading.Event)
    results: Results | None = None
    failure: BaseException | None = None


class Batcher:
    """The queue before one model. `lanes` batches may run side by side."""

    def __init__(
        self, session: Session, device: SharedDevice, *, most_rows: int = MOST_ROWS, lanes: int = 1, wait_s: float = 0.0
    ) -> None:
        self._session, self._device = session, device
        self._most_rows = most_rows if getattr(session, "takes_rows", False) else 1
        self._wait_s = wait_s
        self._free = lanes
        self._queue: list[_Call] = []
        self._changed = threading.Condition()

    def run(self, share: DeviceShare, inputs: Arrays) -> Results:
        """As Session.run, for one run. Raises ModelFailed."""
        rows = next(iter(inputs.values())).shape[0] if self._most_rows > 1 else 1
        kind = tuple((name, array.dtype, array.shape[1:]) for name, array in sorted(inputs.items()))
        call = _Call(share, inputs, rows, kind)
        with share.aside():
            with self._changed:
                self._queue.append(call)
                self._changed.notify_all()
            while not call.done.is_set():
                self._lead_or_wait(call)
        if call.failure is not None:
            raise call.failure
        if call.results is None:
            raise InternalFault(f"{self._session.name}: a batch gave nothing back")
        return call.results

    def _lead_or_wait(self, call: _Call) -> None:
        """Run the next batch if a lane is free, whoever's it is; else wait for the one that is under way."""
        with self._changed:
            while not call.done.is_set() and not (self._free and self._queue):
                self._changed.wait()
            if call.done.is_set():
                return
            self._free -= 1
            if self._wait_s and self._most_rows > 1:
                self._changed.wait_for(self._is_full, self._wait_s)
            batch = self._next_batch()
        try:
            if batch:
                self._compute(batch)
        finally:
            with self._changed:
                self._free += 1
                for each in batch:
                    each.done.set()
                self._changed.notify_all()

    def _is_full(self) -> bool:
        return sum(call.rows for call in self._queue) >= self._most_rows

    def _next_batch(self) -> list[_Call]:
        """The longest waiting call, and others of its kind that fit, in the order in which they came."""
        if not self._queue:
            return []
        batch = [self._queue.pop(0)]
        rows = batch[0].rows
        for call in list(self._queue):
            if call.kind == batch[0].kind and rows + call.rows <= self._most_rows:
                self._queue.remove(call)
                batch.append(call)
                rows += call.rows
        return batch

    def _compute(self, batch: Sequence[_Call]) -> None:
        if len(batch) == 1:
            self._alone(batch[0])
            return
        try:
            with self._device.batch(_rows_of(batch)):
                merged = {
                    name: np.concatenate([call.inputs[name] for call in batch]) for name in batch[0].inputs
                }  # fmt: skip
                results = self._session.run(merged)
            _hand_out(batch, results, self._session.name)
        except (SecondfaceError, ValueError, MemoryError):
            for call in batch:
                self._alone(call)

    def _alone(self, call: _Call) -> None:
        try:
            with self._device.batch({call.share: call.rows}):
                call.results = self._session.run(call.inputs)
        except BaseException as failure:  # noqa: BLE001 - it is raised in the thread of the run that it belongs to
            call.failure = failure


def _rows_of(batch: Sequence[_Call]) -> dict[DeviceShare, int]:
    rows: dict[DeviceShare, int] = {}
    for call in batch:
        rows[call.share] = rows.get(call.share, 0) + call.rows
    return rows


def _hand_out(batch: Sequence[_Call], results: Results, model: str) -> None:
    total = sum(call.rows for call in batch)
    for name, array in results.items():
        if array.shape[0] != total:
            raise InternalFault(f"{model}: {name} has {array.shape[0]} rows for {total}", model=model)
    begin = 0
    for call in batch:
        # Copies: a view would keep the rows of all other runs alive.
        call.results = {name: array[begin : begin + call.rows].copy() for name, array in results.items()}
        begin += call.rows


class SharedSessions:
    """Loaded models that several runs use at once, each through a seat of its own."""

    def __init__(
        self, sessions: Sessions, device: SharedDevice | None = None, *, lanes: int = 1, wait_s: float = 0.0,
        most_rows: int = MOST_ROWS,
    ) -> None:  # fmt: skip
        self._sessions = sessions
        self.device = device or SharedDevice()
        self._lanes, self._wait_s, self._most_rows = lanes, wait_s, most_rows
        self._batchers: dict[str, Batcher] = {}
        self._guard = threading.Lock()

    @property
    def kind(self) -> str:
        """What the models run on."""
        return getattr(self._sessions, "device", "cpu")

    def seat(self) -> Seat:
        """Sessions for one run, with its share of the device."""
        return Seat(self, self.device.share())

    def batcher(self, name: str) -> Batcher:
        """The queue before a model, which is loaded if it is not. Raises the errors of models."""
        session = self._sessions.get(name)
        with self._guard:
            if name not in self._batchers:
                self._batchers[name] = Batcher(
                    session, self.device, most_rows=self._most_rows, lanes=self._lanes, wait_s=self._wait_s
                )
            return self._batchers[name]


@dataclass(frozen=True, slots=True)
class SeatSession:
    """A model as one run sees it."""

    name: str
    batcher: Batcher
    share: DeviceShare

    def run(self, inputs: Arrays) -> Results:
        """As Session.run."""
        return self.batcher.run(self.share, inputs)


class Seat:
    """One run's sessions and its share of the device."""

    def __init__(self, shared: SharedSessions, active: DeviceShare) -> None:
        self._shared, self.active = shared, active
        self.device = shared.kind

    def get(self, name: str) -> SeatSession:
        """As Sessions.get."""
        return SeatSession(name, self._shared.batcher(name), self.active)
