from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from secondface.media.low_priority import STEP, giving_way
from secondface.media.read import VideoReader
from secondface.media.write import VideoWriter
from tests.unit.media.conftest import MakeClip

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="priorities of single threads are Linux's")
LEAST = 19


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def threads() -> set[int]:
    return {int(task.name) for task in Path("/proc/self/task").iterdir()}


def test_work_yields_and_its_caller_does_not() -> None:
    before = niceness()
    assert giving_way(niceness) == min(LEAST, before + STEP)
    assert niceness() == before


def test_what_the_work_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        giving_way(lambda: 1 // 0)


def test_the_threads_of_an_encoder_yield(make_clip: MakeClip, tmp_path: Path) -> None:
    with VideoReader(make_clip(size=(640, 480))) as reader:
        before, here = niceness(), threads()
        with VideoWriter(tmp_path / "out.mp4", reader):
            started = threads() - here
            assert started
            assert {os.getpriority(os.PRIO_PROCESS, each) for each in started} == {min(LEAST, before + STEP)}


def test_the_threads_of_a_decoder_yield(make_clip: MakeClip) -> None:
    path = make_clip(size=(640, 480))
    before, here = niceness(), threads()
    with VideoReader(path) as reader:
        next(reader.frames())
        started = threads() - here
        assert started
        assert {os.getpriority(os.PRIO_PROCESS, each) for each in started} == {min(LEAST, before + STEP)}
