"""The engine's promises that need one scene each: overlap, progress, Ctrl-C, lost frames."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Iterable, Iterator

import pytest

from secondface.errors import Cancelled, InternalFault
from secondface.pipeline.engine import EngineOptions, Progress, Stage, frames_in_flight, run_stages


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
    started = time.perf_counter()
    stages = [Stage("a", waiting(0.01)), Stage("b", waiting(0.01))]
    run_stages(slow_items(30, 0.01), stages, lambda _: time.sleep(0.01))
    one_after_another = 30 * 4 * 0.01
    assert time.perf_counter() - started < 0.5 * one_after_another


def test_workers_share_a_stage_and_keep_the_order() -> None:
    seen: list[int] = []

    def uneven(batch: list[int]) -> Iterable[int]:
        for item in batch:
            time.sleep(0.02 if item % 4 == 0 else 0.001)
        return batch

    started = time.perf_counter()
    run_stages(range(40), [Stage("uneven", uneven, max_batch=1, workers=4)], seen.append)
    assert seen == list(range(40))
    assert time.perf_counter() - started < 0.17


def test_a_slow_stage_sees_long_batches_and_never_more_than_its_limit() -> None:
    sizes: list[int] = []

    def work(batch: list[int]) -> Iterable[int]:
        sizes.append(len(batch))
        time.sleep(0.01)
        return batch

    run_stages(range(100), [Stage("batched", work, max_batch=16)], lambda _: None, options=EngineOptions(64))
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
    run_stages(
        slow_items(40, 0.01),
        [Stage("a", waiting(0.005))],
        lambda _: None,
        options=EngineOptions(total=40, progress_every_s=0.05),
        on_progress=lambda progress: told.append((progress, threading.current_thread())),
    )
    assert {thread for _, thread in told} == {threading.current_thread()}
    done = [progress.done for progress, _ in told]
    assert done == sorted(done)
    assert len(done) >= 3
    last = told[-1][0]
    assert (last.done, last.total) == (40, 40)
    assert 30 < last.per_second < 100
    assert last.device_active_ms <= last.elapsed_ms
    assert [stage.name for stage in last.stages] == ["decode", "a", "encode"]


def test_a_failing_progress_listener_stops_the_run() -> None:
    def fail(_progress: Progress) -> None:
        raise RuntimeError("listener")

    with pytest.raises(RuntimeError, match="listener"):
        run_stages(slow_items(1000, 0.01), [], lambda _: None, on_progress=fail)
    assert {thread.name for thread in threading.enumerate()}.isdisjoint({"decode", "encode"})


def test_ctrl_c_cancels() -> None:
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    started = time.perf_counter()
    with pytest.raises(Cancelled):
        run_stages(slow_items(10_000, 0.01), [Stage("a", waiting(0.01))], lambda _: None)
    timer.join()
    assert time.perf_counter() - started < 1.1
    assert {thread.name for thread in threading.enumerate()}.isdisjoint({"decode", "a", "encode"})


def test_frames_in_flight_follow_the_budget() -> None:
    megabyte = 2**20
    assert frames_in_flight(3_110_400, 96 * megabyte) == 32
    assert frames_in_flight(345_600, 96 * megabyte) == 64
    assert frames_in_flight(100 * megabyte, 96 * megabyte) == 2
