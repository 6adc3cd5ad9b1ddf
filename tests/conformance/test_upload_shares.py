"""What every store of upload shares promises; and that senders at once never take the same room."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from secondface.control.upload_shelf import UploadShelf
from secondface.domain.accounts import Account, Plan
from secondface.domain.ports import Transactions
from secondface.domain.uploads import UploadShare
from secondface.errors import UploadsFull
from secondface.storage.links import Links
from secondface.storage.machine import RandomIds
from secondface.storage.memory_objects import MemoryObjects
from tests.conformance.conftest import Place
from tests.hand_clock import HandClock

SHARE = UploadShare(id="shr_1", account="a", key="uploads/a/é", size_bytes=2**40, touched_ms=2**41)


def test_shares_change_in_place_and_go(store: Transactions) -> None:
    with store.begin() as work:
        for each in (
            SHARE,
            replace(SHARE, id="shr_3", key="uploads/a/2", size_bytes=1),
            replace(SHARE, account="b", id="x"),
        ):
            work.uploads.save(each)
        stored = replace(SHARE, size_bytes=5, stored=True)
        work.uploads.save(stored)
    with store.begin() as work:
        assert work.uploads.of_key(SHARE.key) == [stored, replace(SHARE, account="b", id="x")]
        assert [each.id for each in work.uploads.all("a")] == ["shr_1", "shr_3"]
        assert [each.id for each in work.uploads.all()] == ["shr_1", "shr_3", "x"]
        assert [work.uploads.held_bytes(name) for name in ("a", "b", "c")] == [6, 2**40, 0]
        assert work.uploads.held_bytes("a", "shr_1") == 1
        work.uploads.drop([])
        work.uploads.drop(["shr_1", *(f"none_{number}" for number in range(1_200))])
        assert work.uploads.of_key(SHARE.key) == [replace(SHARE, account="b", id="x")]
        assert work.uploads.held_bytes("a") == 1


@pytest.mark.parametrize("announced", [0, 100])
@pytest.mark.timeout(120)
def test_senders_at_once_never_hold_more_than_the_plan_allows(
    place: Place, store: Transactions, clock: HandClock, announced: int
) -> None:  # fmt: skip
    """Nine begin together, each in a thread with a connection of its own; there is room for four."""
    with store.begin() as work:
        work.accounts.save(Account(id="a", name="A", plan=Plan(max_upload_bytes=450)))
    objects = MemoryObjects(Links("http://x", (b"s" * 32,), clock))
    together, outcomes = threading.Barrier(9), list[str]()

    def chunks() -> Iterator[bytes]:
        for _ in range(10):
            yield bytes(10)

    def send(number: int) -> None:
        shelf = UploadShelf(place.open(), objects, clock, RandomIds())
        together.wait(60)
        try:
            key = f"uploads/a/{number}"
            shelf.put(key, chunks(), "image/png", most_bytes=1_000, announced_bytes=announced)
            outcomes.append("stored")
        except UploadsFull:
            outcomes.append("full")
        except BaseException as error:  # noqa: BLE001 - told in the test's own thread
            outcomes.append(repr(error))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(outcomes) <= {"stored", "full"}
    stored = outcomes.count("stored")
    assert len(objects.keys("uploads/a/")) == stored <= 4
    assert not announced or stored == 4
    with store.view() as work:
        assert work.uploads.held_bytes("a") == 100 * stored
