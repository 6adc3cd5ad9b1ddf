"""Large pictures wait for each other, in the order in which they came; who is cancelled gives its place up."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from secondface.errors import Cancelled
from secondface.fleet.pixel_room import PixelRoom


def _go_on() -> None:
    pass


class Visitor:
    """Somebody who takes room in a thread of its own until it is told to leave."""

    def __init__(self, pool: ThreadPoolExecutor, room: PixelRoom, pixels: int) -> None:
        self.inside, self.leave, self.cancel = threading.Event(), threading.Event(), threading.Event()
        self.visit: Future[None] = pool.submit(self._visit, room, pixels)

    def _visit(self, room: PixelRoom, pixels: int) -> None:
        with room.take(pixels, self._checkpoint):
            self.inside.set()
            self.leave.wait(20)

    def _checkpoint(self) -> None:
        if self.cancel.is_set():
            raise Cancelled


def test_small_ones_share_and_a_large_one_waits_and_is_not_passed() -> None:
    room = PixelRoom(100)
    with ThreadPoolExecutor(4) as pool:
        first, second = Visitor(pool, room, 40), Visitor(pool, room, 40)
        assert first.inside.wait(30) and second.inside.wait(30)
        large = Visitor(pool, room, 1_000)
        assert not large.inside.wait(0.3)
        late = Visitor(pool, room, 10)
        first.leave.set()
        assert not late.inside.wait(0.3), "it would fit, but the large one came first"
        second.leave.set()
        assert large.inside.wait(30)
        assert not late.inside.wait(0.3)
        large.leave.set()
        assert late.inside.wait(30)
        late.leave.set()


def test_who_is_cancelled_while_waiting_lets_the_next_one_in() -> None:
    room = PixelRoom(100)
    with ThreadPoolExecutor(3) as pool:
        first = Visitor(pool, room, 80)
        assert first.inside.wait(30)
        second = Visitor(pool, room, 80)
        third = Visitor(pool, room, 20)
        second.cancel.set()
        assert third.inside.wait(30)
        with pytest.raises(Cancelled):
            second.visit.result(5)
        for each in (first, third):
            each.leave.set()


def test_room_is_given_back_after_a_failure() -> None:
    room = PixelRoom(10)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), room.take(10, _go_on):
            raise ZeroDivisionError
