"""The engine's promises that need one scene each: overlap, progress, Ctrl-C, lost frames."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Iterable, Iterator

import pytest

from secondface.errors import Cancelled, InternalFault
from secondface.pipeline.engine import EngineOptions, Progress, Stage, frames_in_flight, run_stages

PATIENCE_S = 60
"""How long a test waits for a thread that must come; only a broken engine makes it wait that long."""


def waiting(seconds: float):
    def work(batch: list[int]) -> Iterator[int]:
        for item in batch:
            time.sleep(seconds)
            yield item

    return work


def slow_items(number: int, seconds: float) -> Iterator[int]:
    for index in range(number):
        time.sleep(seconds)
        yield index


def test_decode_compute_and_encode_overlap() -> None:
    # All four must be at work at once, each on an item of its own, or nobody gets past the barrier.
    together = threading.Barrier(4)

    def meet(at: int, item: int) -> None:
        if item == at:
            together.wait(PATIENCE_S)

    def meeting(at: int, items: Iterable[int]) -> Iterator[int]:
        for item in items:
            meet(at, item)
            yield item

    stages = [Stage[int]("a", lambda batch: meeting(2, batch)), Stage[int]("b", lambda batch: meeting(1, batch))]
    run_stages(meeting(3, range(6)), stages, lambda item: meet(0, item))
    assert not together.broken


def test_workers_share_a_stage_and_keep_the_order() -> None:
    seen: list[int] = []
    together = threading.Barrier(4)

    def uneven(batch: list[int]) -> Iterable[int]:
        for item in batch:
            if item < 4:
                together.wait(PATIENCE_S)
            time.sleep(0.005 if item % 4 == 0 else 0.0)
        return batch

    run_stages(range(40), [Stage("uneven", uneven, max_batch=1, workers=4)], seen.append)
    assert seen == list(range(40))


def test_a_slow_stage_sees_long_batches_and_never_more_than_its_limit() -> None:
    sizes: list[int] = []
    many = threading.Event()

    def source() -> Iterator[int]:
        for index in range(100):
            if index == 40:
                many.set()
            yield index

    def work(batch: list[int]) -> Iterable[int]:
        sizes.append(len(batch))
        assert many.wait(PATIENCE_S)
        return batch

    run_stages(source(), [Stage("batched", work, max_batch=16)], lambda _: None, options=EngineOptions(64))
    assert max(sizes) == 16
    assert sum(sizes) == 100


@pytest.mark.parametrize(("in_flight", "expected"), [(32, [8, 8, 4]), (3, [3] * 6 + [2])])
def test_groups_do_not_depend_on_timing(in_flight: int, expected: list[int]) -> None:
    sizes: dict[str, list[int]] = {"first": [], "second": []}

    def grouping(name: str, delay: float):
        def work(batch: list[int]) -> Iterable[int]:
            sizes[name].append(len(batch))
            time.sleep(delay)
            return batch

        return Stage(name, work, grouped=True)

    stages = [grouping("first", 0.0), Stage("slow", waiting(0.002)), grouping("second", 0.001)]
    run_stages(slow_items(20, 0.001), stages, lambda _: None, options=EngineOptions(in_flight, group=8))
    assert sizes == {"first": expected, "second": expected}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("times", [0, 2])
def test_a_step_that_loses_or_adds_frames_is_our_fault(times: int, workers: int) -> None:
    def work(batch: list[int]) -> Iterable[int]:
        return batch * times

    with pytest.raises(InternalFault, match="broken"):
        run_stages([1, 2], [Stage("broken", work, workers=workers)], lambda _: None)


def test_progress_is_told_in_the_calling_thread_and_ends_complete() -> None:
    told: list[tuple[Progress, threading.Thread]] = []
    again = threading.Semaphore(0)

    def tell(progress: Progress) -> None:
        told.append((progress, threading.current_thread()))
        again.release()

    def source() -> Iterator[int]:
        for index in range(40):
            if index in (10, 20, 30):
                assert again.acquire(timeout=PATIENCE_S)
            yield index

    run_stages(
        source(),
        [Stage("a", waiting(0.001))],
        lambda _: None,
        options=EngineOptions(total=40, progress_every_s=0.05),
        on_progress=tell,
    )
    assert {thread for _, thread in told} == {threading.current_thread()}
    done = [progress.done for progress, _ in told]
    assert done == sorted(done)
    assert len(done) >= 4
    last = told[-1][0]
    assert (last.done, last.total) == (40, 40)
    assert last.per_second == pytest.approx(40_000 / last.elapsed_ms)
    assert last.device_active_ms <= last.elapsed_ms
    assert [stage.name for stage in last.stages] == ["decode", "a", "encode"]


def test_a_failing_progress_listener_stops_the_run() -> None:
    def fail(_progress: Progress) -> None:
        raise RuntimeError("listener")

    with pytest.raises(RuntimeError, match="listener"):
        run_stages(slow_items(1000, 0.01), [], lambda _: None, on_progress=fail)
    assert {thread.name for thread in threading.enumerate()}.isdisjoint({"decode", "encode"})


def test_ctrl_c_cancels() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        timer = threading.Timer(0.1, _thread.interrupt_main)
        timer.start()
        with pytest.raises(Cancelled):
            run_stages(slow_items(10_000, 0.01), [Stage("a", waiting(0.01))], lambda _: None)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert {thread.name for thread in threading.enumerate()}.isdisjoint({"decode", "a", "encode"})


def test_frames_in_flight_follow_the_budget() -> None:
    megabyte = 2**20
    assert frames_in_flight(3_110_400, 96 * megabyte) == 32
    assert frames_in_flight(345_600, 96 * megabyte) == 64
    assert frames_in_flight(100 * megabyte, 96 * megabyte) == 2
