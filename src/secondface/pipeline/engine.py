"""Runs items from a source through stages into a sink, each in its own thread, in order and within bounded memory.

Decides overlap, batches, back-pressure, cancelling and what is measured. Must not know faces, files or models.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from secondface.errors import Cancelled, InternalFault
from secondface.observe import BusyClock
from secondface.pipeline.channel import Channel, Credits, Reorder, Stopped
from secondface.pipeline.meter import StageMeter, StageUsage

T = TypeVar("T")
MAX_BATCH = 32
_TICK_S = 0.05


class CancelToken(Protocol):
    """Anything that can say that the run should stop; a threading.Event is one."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True)
class Stage(Generic[T]):
    """One step. `work` takes a batch and yields one item for each, in order; it may yield each as soon as it is ready.

    Batches form by themselves: a stage takes what waits for it, so a slow stage sees long batches and an idle one
    sees single items without delay.
    """

    name: str
    work: Callable[[list[T]], Iterable[T]]
    max_batch: int = MAX_BATCH
    workers: int = 1
    """Threads that may run `work` side by side; more than 1 only for work without memory."""
    grouped: bool = False
    """Take exactly EngineOptions.group items, fewer only at the end: for decisions that must not depend on timing."""
    compute: bool = True
    """Whether its busy time is device time."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    done: int
    total: int | None
    elapsed_ms: int
    per_second: float
    """Items finished a second over the last few seconds."""
    device_active_ms: int
    stages: tuple[StageUsage, ...]


@dataclass(frozen=True)
class EngineReport:
    """What a finished run did."""

    items: int
    elapsed_ms: int
    stages: tuple[StageUsage, ...]
    """Source, stages and sink in order."""
    most_in_flight: int


@dataclass(frozen=True)
class EngineOptions:
    """How much may be under way, and how often progress is told."""

    max_in_flight: int = 32
    group: int = 8
    """Items that a grouped stage takes; one size for all of them, or they would wait for each other."""
    total: int | None = None
    source_name: str = "decode"
    sink_name: str = "encode"
    progress_every_s: float = 0.2
    clock: Callable[[], int] = field(default=time.perf_counter_ns)
    """Monotonic nanoseconds."""


def frames_in_flight(frame_bytes: int, budget_bytes: int) -> int:
    """How many frames of that size may be under way: what the budget holds, but at least 2 so that stages overlap."""
    return max(2, min(2 * MAX_BATCH, budget_bytes // max(1, frame_bytes)))


def run_stages(
    source: Iterable[T],
    stages: Sequence[Stage[T]],
    sink: Callable[[T], None],
    *,
    options: EngineOptions | None = None,
    active: BusyClock | None = None,
    cancel: CancelToken | None = None,
    stopping: threading.Event | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> EngineReport:
    """Run until the source ends. Progress is told in the calling thread.

    The first exception anywhere stops all threads and is raised here when none is left; Cancelled when `cancel` is
    set or Ctrl-C arrives. `active` is open whenever a compute stage works. `stopping` is set as soon as the run
    stops, for steps that work long on one item.
    """
    run = _Run(source, stages, sink, options or EngineOptions(), active or BusyClock(), stopping or threading.Event())
    return run.supervise(cancel, on_progress)


class _Run(Generic[T]):
    """One run: its threads, channels and meters."""

    def __init__(
        self,
        source: Iterable[T],
        stages: Sequence[Stage[T]],
        sink: Callable[[T], None],
        options: EngineOptions,
        active: BusyClock,
        stopping: threading.Event,
    ) -> None:
        self._options = options
        self._stopping = stopping
        self._active = active
        self._sink = sink
        self._source = source
        self._stages = stages
        self._credits = Credits(options.max_in_flight)
        self._channels: list[Channel[T]] = [Channel() for _ in range(len(stages) + 1)]
        names = [options.source_name, *(stage.name for stage in stages), options.sink_name]
        self._meters = [StageMeter(name, options.clock) for name in names]
        self._failure: BaseException | None = None
        self._guard = threading.Lock()
        self._finished = threading.Event()
        self._started_ns = options.clock()

    def supervise(self, cancel: CancelToken | None, on_progress: Callable[[Progress], None] | None) -> EngineReport:
        threads = self._threads()
        started: list[threading.Thread] = []
        try:
            for thread in threads:
                thread.start()
                started.append(thread)
            self._wait(cancel, on_progress)
        except KeyboardInterrupt:
            self._stop(Cancelled())
        except BaseException as error:  # noqa: BLE001 - whatever it is, no thread may stay behind; it is raised below
            self._stop(error)
        for thread in started:
            thread.join()
        if self._failure is not None:
            raise self._failure
        if on_progress is not None:
            on_progress(self._progress(0.0))
        return EngineReport(self._meters[-1].items, self._elapsed_ms(), self._usage(), self._credits.most_used)

    def _wait(self, cancel: CancelToken | None, on_progress: Callable[[Progress], None] | None) -> None:
        rate = _Rate(self._options.clock)
        told_ns = self._started_ns
        while not self._finished.wait(_TICK_S):
            if cancel is not None and cancel.is_set():
                self._stop(Cancelled())
                return
            now = self._options.clock()
            if on_progress is not None and now - told_ns >= self._options.progress_every_s * 1e9:
                told_ns = now
                on_progress(self._progress(rate.after(self._meters[-1].items)))

    def _threads(self) -> list[threading.Thread]:
        bodies: list[tuple[str, Callable[[], None]]] = [(self._options.source_name, self._read)]
        for place, stage in enumerate(self._stages):
            left = _Countdown(stage.workers)
            body = self._stage_body(place, stage, left)
            bodies += [(stage.name, body)] * stage.workers
        bodies.append((self._options.sink_name, self._write))
        return [
            # Each thread sees the caller's context, so that log lines carry the run's name.
            threading.Thread(target=contextvars.copy_context().run, args=(self._guarded, body), name=name, daemon=True)
            for name, body in bodies
        ]

    def _guarded(self, body: Callable[[], None]) -> None:
        try:
            body()
        except Stopped:
            return
        except BaseException as error:  # noqa: BLE001 - a thread has nobody to raise to; supervise raises it
            self._stop(error)

    def _stop(self, failure: BaseException) -> None:
        """Remember the first failure and wake every thread so that it leaves."""
        with self._guard:
            if self._failure is None:
                self._failure = failure
        self._stopping.set()
        self._credits.stop()
        for channel in self._channels:
            channel.stop()
        self._finished.set()

    def _read(self) -> None:
        meter, out = self._meters[0], self._channels[0]
        with ExitStack() as closing:
            items = iter(self._source)
            if isinstance(items, AbstractContextManager):
                closing.enter_context(items)
            elif close := getattr(items, "close", None):
                # A generator over an open file must not wait for the garbage collector.
                closing.callback(close)
            while self._read_one(items, meter, out):
                pass
        out.close()

    def _read_one(self, items: Iterator[T], meter: StageMeter, out: Channel[T]) -> bool:
        self._credits.acquire()
        with meter.busy():
            item = next(items, _END)
        if isinstance(item, _End):
            return False
        meter.count()
        out.put(item)
        return True

    def _stage_body(self, place: int, stage: Stage[T], left: _Countdown) -> Callable[[], None]:
        source, out, meter = self._channels[place], self._channels[place + 1], self._meters[place + 1]
        reorder = Reorder(out)

        most = min(stage.max_batch, MAX_BATCH)
        least = 1
        if stage.grouped:
            # A group that needs more than may be under way would never come together.
            most = least = max(1, min(self._options.group, self._options.max_in_flight))

        def body() -> None:
            # A thread that waits for the next batch must not keep the last one alive: it lives in `pass_on` alone.
            while pass_on(source.take(most, least)):
                pass
            if left.last():
                out.close()

        def pass_on(taken: tuple[int, list[T]] | None) -> bool:
            if taken is None:
                return False
            results = self._results(stage, taken[1], meter)
            if stage.workers > 1:
                reorder.hand_on(taken[0], list(results))
            else:
                for item in results:
                    out.put(item)
            return True

        return body

    def _results(self, stage: Stage[T], batch: list[T], meter: StageMeter) -> Iterator[T]:
        """What the stage makes of a batch, item by item; the time in which the next stage is fed is not busy."""
        expected, given = len(batch), 0
        active = self._active if stage.compute else None
        with meter.busy(active):
            items = iter(stage.work(batch))
        while True:
            with meter.busy(active):
                item = next(items, _END)
            if isinstance(item, _End):
                break
            given += 1
            meter.count()
            yield item
        if given != expected:
            raise InternalFault(f"Step `{stage.name}` took {expected} frames and gave {given}.", step=stage.name)

    def _write(self) -> None:
        source, meter = self._channels[-1], self._meters[-1]
        while (taken := source.take(1)) is not None:
            with meter.busy():
                self._sink(taken[1].pop())
            meter.count()
            self._credits.release()
        self._finished.set()

    def _elapsed_ms(self) -> int:
        return (self._options.clock() - self._started_ns) // 1_000_000

    def _usage(self) -> tuple[StageUsage, ...]:
        return tuple(meter.usage() for meter in self._meters)

    def _progress(self, per_second: float) -> Progress:
        done, elapsed = self._meters[-1].items, self._elapsed_ms()
        rate = per_second or done * 1000 / max(1, elapsed)
        return Progress(done, self._options.total, elapsed, rate, self._active.busy_ms, self._usage())


class _End:
    """Marks the end of an iterator, which may itself hold None."""


_END = _End()


class _Countdown:
    """Tells the last of several threads that it is the last."""

    def __init__(self, number: int) -> None:
        self._guard = threading.Lock()
        self._left = number

    def last(self) -> bool:
        with self._guard:
            self._left -= 1
            return self._left == 0


class _Rate:
    """Items a second over a sliding window of a few seconds."""

    def __init__(self, clock: Callable[[], int], window: int = 16) -> None:
        self._clock = clock
        self._window = window
        self._seen: list[tuple[int, int]] = [(clock(), 0)]

    def after(self, items: int) -> float:
        self._seen = [*self._seen[-self._window :], (self._clock(), items)]
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return (last - first) * 1e9 / max(1, end - start)
