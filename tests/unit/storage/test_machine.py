"""Names rise and never repeat; the bell is heard once, by whoever waits for its tier."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import replace

import pytest

from secondface.domain.accounts import Actor
from secondface.domain.audit import FIRST
from secondface.domain.chain import first_broken, link
from secondface.domain.jobs import Event
from secondface.domain.ports import Recorded
from secondface.storage.doorbell import LocalDoorbell
from secondface.storage.machine import MachineClock, RandomIds


def test_names_sort_in_the_order_in_which_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = RandomIds()
    names = [ids.new("job") for _ in range(2_000)]
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    names += [ids.new("job") for _ in range(100)]
    assert names == sorted(set(names))
    assert all(re.fullmatch(r"job_[0-9a-hjkmnp-tv-z]{26}", name) for name in names)


def test_names_of_two_processes_differ() -> None:
    assert len({RandomIds().new("x") for _ in range(500)}) == 500
    assert RandomIds().secret() != RandomIds().secret()


def test_the_clocks_run() -> None:
    clock = MachineClock()
    assert abs(clock.now_ms() - time.time() * 1000) < 1_000
    before = clock.elapsed_ms()
    time.sleep(0.01)
    assert clock.elapsed_ms() - before >= 9


def test_a_bell_that_rang_before_is_heard_once() -> None:
    bell = LocalDoorbell()
    bell.ring("t4")
    assert not bell.wait(["cpu"], 0)
    assert bell.wait(["cpu", "t4"], 0)
    assert not bell.wait(["t4"], 0)


def test_a_bell_wakes_who_waits() -> None:
    bell, heard = LocalDoorbell(), list[bool]()
    waiter = threading.Thread(target=lambda: heard.append(bell.wait(["t4"], 10)))
    waiter.start()
    bell.ring("t4")
    waiter.join(5)
    assert heard == [True]


def test_closing_lets_everybody_go() -> None:
    bell, heard = LocalDoorbell(), list[bool]()
    waiter = threading.Thread(target=lambda: heard.append(bell.wait(["t4"], 10)))
    waiter.start()
    bell.close()
    waiter.join(5)
    assert heard == [False]


# ---- the chain -------------------------------------------------------------------------------------------------------


def chained(count: int) -> list[Recorded]:
    rows: list[Recorded] = []
    before, actor = FIRST, Actor("k", "192.0.2.7")
    for position in range(1, count + 1):
        row = Recorded(number=position * 3, account="a", actor=actor, event=Event("j", "x", position, {"n": position}))
        before = link(before, position, row)
        rows.append(replace(row, position=position, digest=before))
    return rows


def test_a_whole_chain_holds() -> None:
    assert first_broken([]) is None
    assert first_broken(chained(5)) is None


def test_a_row_that_was_removed_moved_or_changed_is_found() -> None:
    rows = chained(5)
    assert first_broken(rows[:2] + rows[3:]) == 3
    assert first_broken([rows[1], rows[0], *rows[2:]]) == 1
    third = rows[2]
    forged = replace(third, event=replace(third.event, facts={"n": 99}))
    assert first_broken([*rows[:2], forged, *rows[3:]]) == 3
    assert first_broken([*rows[:2], replace(third, actor=Actor("k", "192.0.2.8")), *rows[3:]]) == 3
    assert first_broken([*rows[:2], replace(third, actor=Actor("k")), *rows[3:]]) == 3
    whole_new = replace(forged, digest=link(rows[1].digest or "", 3, forged))
    assert first_broken([*rows[:2], whole_new, *rows[3:]]) == 4
