"""The engine under random loads: order, bounds, failures and cancels at random places, and no thread left."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondface.errors import Cancelled
from secondface.observe import BusyClock
from secondface.pipeline.engine import EngineOptions, Stage, run_stages

Item = tuple[int, np.ndarray]
QUICK = settings(max_examples=40)

delays = st.sampled_from([0.0, 0.0, 0.0002, 0.002])
stage_shapes = st.lists(st.tuples(delays, st.integers(1, 32), st.integers(1, 3)), min_size=0, max_size=5)
"""Delay a frame, batch size and workers of each stage; those with a batch size divisible by 4 are grouped."""


class PlannedError(Exception):
    """Raised on purpose."""


def items(number: int) -> Iterator[Item]:
    for index in range(number):
        yield index, np.full(8, index)


def adding(delay: float, fail_at: int | None = None) -> Callable[[list[Item]], Iterable[Item]]:
    def work(batch: list[Item]) -> Iterator[Item]:
        for index, pixels in batch:
            if index == fail_at:
                raise PlannedError(str(index))
            time.sleep(delay)
            yield index, pixels + 1

    return work


def stages_of(shapes: list[tuple[float, int, int]]) -> list[Stage[Item]]:
    return [
        Stage(f"s{n}", adding(delay), batch, workers, grouped=batch % 4 == 0)
        for n, (delay, batch, workers) in enumerate(shapes)
    ]


def own_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name in STAGE_NAMES}


STAGE_NAMES = {"decode", "encode", *(f"s{n}" for n in range(6))}


@QUICK
@given(number=st.integers(0, 120), shapes=stage_shapes, in_flight=st.integers(1, 40))
def test_each_item_comes_out_once_in_order_through_every_stage(
    number: int, shapes: list[tuple[float, int, int]], in_flight: int
) -> None:
    seen: list[Item] = []
    report = run_stages(items(number), stages_of(shapes), seen.append, options=EngineOptions(max_in_flight=in_flight))
    assert [index for index, _ in seen] == list(range(number))
    assert all((pixels == index + len(shapes)).all() for index, pixels in seen)
    assert report.items == number
    assert [usage.frames for usage in report.stages] == [number] * (len(shapes) + 2)
    assert report.most_in_flight <= in_flight
    assert own_threads() == set()


@QUICK
@given(shapes=stage_shapes, in_flight=st.integers(1, 12), slow_sink=delays)
def test_what_is_between_source_and_sink_never_exceeds_the_bound(
    shapes: list[tuple[float, int, int]], in_flight: int, slow_sink: float
) -> None:
    guard, under_way, most = threading.Lock(), 0, 0

    def source() -> Iterator[Item]:
        nonlocal under_way, most
        for item in items(60):
            with guard:
                under_way += 1
                most = max(most, under_way)
            yield item

    def sink(_item: Item) -> None:
        nonlocal under_way
        time.sleep(slow_sink)
        with guard:
            under_way -= 1

    run_stages(source(), stages_of(shapes), sink, options=EngineOptions(max_in_flight=in_flight))
    assert under_way == 0
    assert most <= in_flight


@QUICK
@given(data=st.data(), shapes=stage_shapes.filter(bool), number=st.integers(1, 80), in_flight=st.integers(1, 16))
def test_the_first_failure_stops_everything_and_is_raised(
    data: st.DataObject, shapes: list[tuple[float, int, int]], number: int, in_flight: int
) -> None:
    place = data.draw(st.integers(-1, len(shapes)), label="failing place; -1 source, last sink")
    at = data.draw(st.integers(0, number - 1), label="failing item")
    stages = stages_of(shapes)
    closed: list[bool] = []
    seen: list[int] = []

    def source() -> Iterator[Item]:
        try:
            for item in items(number):
                if place == -1 and item[0] == at:
                    raise PlannedError(str(at))
                yield item
        finally:
            closed.append(True)

    def sink(item: Item) -> None:
        if place == len(shapes) and item[0] == at:
            raise PlannedError(str(at))
        seen.append(item[0])

    if 0 <= place < len(shapes):
        stages[place] = replace(stages[place], work=adding(shapes[place][0], fail_at=at))
    with pytest.raises(PlannedError, match=f"^{at}$"):
        run_stages(source(), stages, sink, options=EngineOptions(max_in_flight=in_flight))
    assert seen == list(range(len(seen)))
    assert len(seen) <= at
    assert closed == [True]
    assert own_threads() == set()


@settings(max_examples=20)
@given(shapes=stage_shapes, after=st.integers(0, 50), in_flight=st.integers(1, 16))
def test_after_a_cancel_no_thread_begins_more_than_it_holds(
    shapes: list[tuple[float, int, int]], after: int, in_flight: int
) -> None:
    cancel, stopping = threading.Event(), threading.Event()
    begun: Counter[str] = Counter()

    def begin(name: str) -> None:
        if stopping.is_set():
            begun[name] += 1

    def sink(item: Item) -> None:
        begin("encode")
        if item[0] == after:
            cancel.set()

    def endless() -> Iterator[Item]:
        for index in count():
            begin("decode")
            yield index, np.full(8, index)

    def noting(stage: Stage[Item]) -> Stage[Item]:
        def work(batch: list[Item]) -> Iterator[Item]:
            for item in batch:
                begin(stage.name)
                yield from stage.work([item])

        return replace(stage, work=work)

    stages = [noting(stage) for stage in stages_of(shapes)]
    with pytest.raises(Cancelled):
        run_stages(
            endless(), stages, sink, options=EngineOptions(max_in_flight=in_flight), cancel=cancel, stopping=stopping
        )
    # Whoever took a batch before the stop may still begin it, and is sent away when it hands on its first item;
    # one of several workers hands on whole batches.
    longest = {stage.name: max(stage.max_batch, EngineOptions.group) for stage in stages}
    most = {stage.name: stage.workers * (longest[stage.name] if stage.workers > 1 else 1) for stage in stages}
    assert all(number <= most.get(name, 1) for name, number in begun.items())
    assert own_threads() == set()


@settings(max_examples=15)
@given(shapes=stage_shapes.filter(bool), computes=st.lists(st.booleans(), min_size=5, max_size=5))
def test_device_time_is_the_union_of_what_compute_stages_did(
    shapes: list[tuple[float, int, int]], computes: list[bool]
) -> None:
    stages = [
        Stage(f"s{n}", adding(delay), batch, workers, computes[n]) for n, (delay, batch, workers) in enumerate(shapes)
    ]
    active = BusyClock()
    report = run_stages(items(40), stages, lambda _item: None, active=active)
    busy = [usage.busy_ms for usage, stage in zip(report.stages[1:-1], stages, strict=True) if stage.compute]
    single = [
        usage.busy_ms
        for usage, stage in zip(report.stages[1:-1], stages, strict=True)
        if stage.compute and stage.workers == 1
    ]
    assert max(single, default=0) <= active.busy_ms <= report.elapsed_ms
    if not busy:
        assert active.busy_ns == 0
