from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest

from secondface import processors
from secondface.pipeline.spare_cores import opencv_beside


@pytest.fixture
def three() -> Iterator[None]:
    """Where the caller's process lets OpenCV use three threads."""
    usual = cv2.getNumThreads()
    cv2.setNumThreads(3)
    yield
    assert cv2.getNumThreads() == 3, "the caller's number is put back"
    cv2.setNumThreads(usual)


@pytest.mark.parametrize(("busy", "left"), [(0, 3), (6, 2), (7, 1), (8, 1), (20, 1)])
def test_opencv_has_what_the_stages_leave(busy: int, left: int, three: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "usable", lambda: 8)
    with opencv_beside(busy):
        assert cv2.getNumThreads() == left


def test_of_runs_side_by_side_the_last_puts_it_back(three: None) -> None:
    first, second = opencv_beside(10_000), opencv_beside(10_000)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert cv2.getNumThreads() == 1
    second.__exit__(None, None, None)


def test_a_run_that_fails_puts_it_back_too(three: None) -> None:
    with pytest.raises(ZeroDivisionError), opencv_beside(10_000):
        raise ZeroDivisionError
