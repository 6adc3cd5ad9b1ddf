"""No account holds more in uploads than its plan allows, and what is gone is given back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from secondface.control.upload_shelf import UploadShelf
from secondface.domain.accounts import Account, Plan
from secondface.errors import AccountMissing, MediaTooLarge, UploadsFull
from secondface.storage.links import Links
from secondface.storage.memory_objects import MemoryObjects
from tests.unit.control.service import Service

MIB = 1 << 20
MOST = 10 * MIB


@pytest.fixture
def objects(service: Service) -> MemoryObjects:
    service.set_account(Account(id="a", name="A", plan=Plan(max_upload_bytes=MOST)))
    return MemoryObjects(Links("http://x", (b"s" * 32,), service.clock))


@pytest.fixture
def shelf(service: Service, objects: MemoryObjects) -> UploadShelf:
    return UploadShelf(service.transactions, objects, service.clock, service.ids)


def put(shelf: UploadShelf, name: str, size: int, announced: int = 0, account: str = "a") -> None:
    blocks = (bytes(min(MIB, size - at)) for at in range(0, size, MIB))
    shelf.put(f"uploads/{account}/{name}", blocks, "image/png", most_bytes=20 * MIB, announced_bytes=announced)


def held(service: Service, account: str = "a") -> int:
    with service.transactions.view() as work:
        return work.uploads.held_bytes(account)


def test_a_file_takes_what_it_is_long(service: Service, shelf: UploadShelf) -> None:
    put(shelf, "1", 5 * MIB + 3)
    put(shelf, "2", 2 * MIB, announced=2 * MIB)
    put(shelf, "3", 0)
    assert held(service) == 7 * MIB + 3
    put(shelf, "1", 9 * MIB, account="b")
    assert (held(service), held(service, "b")) == (7 * MIB + 3, 9 * MIB)


@pytest.mark.parametrize("announced", [0, 6 * MIB])
def test_what_has_no_room_is_refused_and_leaves_nothing(
    service: Service, objects: MemoryObjects, shelf: UploadShelf, announced: int
) -> None:  # fmt: skip
    put(shelf, "1", 6 * MIB)
    with pytest.raises(UploadsFull) as refused:
        put(shelf, "2", 6 * MIB, announced)
    assert refused.value.facts["most_bytes"] == MOST
    assert (refused.value.fault, refused.value.retryable) == ("caller", False)
    assert objects.keys("") == ["uploads/a/1"]
    assert held(service) == 6 * MIB
    put(shelf, "2", 4 * MIB, announced and 4 * MIB)
    assert held(service) == MOST


def test_nothing_is_read_of_what_was_announced_too_large(shelf: UploadShelf) -> None:
    def unread() -> Iterator[bytes]:
        pytest.fail("it was read")
        yield b""

    with pytest.raises(UploadsFull):
        shelf.put("uploads/a/1", unread(), "image/png", most_bytes=20 * MIB, announced_bytes=MOST + 1)


def test_no_more_is_read_than_there_is_room_for(service: Service, shelf: UploadShelf) -> None:
    read: list[int] = []

    def endless() -> Iterator[bytes]:
        while True:
            read.append(held(service))
            yield bytes(MIB)

    with pytest.raises(UploadsFull):
        shelf.put("uploads/a/1", endless(), "image/png", most_bytes=20 * MIB)
    assert len(read) == 11
    assert all(taken >= min(MOST, at * MIB) for at, taken in enumerate(read)), "it is taken before it is stored"
    assert held(service) == 0


def test_a_file_on_its_way_counts(service: Service, shelf: UploadShelf) -> None:
    def slow() -> Iterator[bytes]:
        yield bytes(10)
        with pytest.raises(UploadsFull):
            put(shelf, "2", 5 * MIB)
        with pytest.raises(UploadsFull):
            shelf.require_room("a", 5 * MIB)
        yield bytes(10)

    shelf.put("uploads/a/1", slow(), "image/png", most_bytes=20 * MIB, announced_bytes=6 * MIB)
    assert held(service) == 20, "what was announced and did not come is given back"


def test_a_sender_who_breaks_off_has_nothing(service: Service, shelf: UploadShelf) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(MIB)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        shelf.put("uploads/a/1", broken(), "image/png", most_bytes=20 * MIB)
    with pytest.raises(MediaTooLarge):
        shelf.put("uploads/a/1", [bytes(9)], "image/png", most_bytes=5)
    assert held(service) == 0


def test_another_file_under_the_same_key_takes_the_place_of_the_first(service: Service, shelf: UploadShelf) -> None:
    for size in (2, 4, 3):
        put(shelf, "1", size * MIB)
    assert held(service) == 3 * MIB


def test_the_last_of_two_senders_of_one_key_is_counted(service: Service, shelf: UploadShelf) -> None:
    def overtaken() -> Iterator[bytes]:
        yield bytes(3 * MIB)
        put(shelf, "1", 5)

    shelf.put("uploads/a/1", overtaken(), "image/png", most_bytes=20 * MIB)
    assert held(service) == 3 * MIB


def test_room_comes_back_with_a_file_that_goes(service: Service, objects: MemoryObjects, shelf: UploadShelf) -> None:
    put(shelf, "1", 8 * MIB)
    with pytest.raises(UploadsFull):
        put(shelf, "2", 8 * MIB)
    objects.delete("uploads/a/1")
    shelf.require_room("a", 8 * MIB)
    put(shelf, "2", 8 * MIB)
    objects.delete("uploads/a/2")
    put(shelf, "3", 8 * MIB, announced=8 * MIB)
    objects.delete("uploads/a/3")
    assert shelf.step() == 1
    assert held(service) == 0


def test_files_from_before_are_counted_once(service: Service, objects: MemoryObjects, shelf: UploadShelf) -> None:
    for name in ("uploads/a/1", "uploads/a/2", "uploads/nobody/1", "jobs/job_1/1/out.png"):
        objects.put(name, [bytes(7)], "image/png")
    assert [shelf.step(), shelf.step()] == [2, 0]
    assert held(service) == 14


def test_a_share_whose_sender_died_is_given_back(service: Service, objects: MemoryObjects, shelf: UploadShelf) -> None:
    """Those who are only slow keep theirs."""

    def slow() -> Iterator[bytes]:
        for _ in range(90):
            service.clock.at_ms += 60_000
            shelf.step()
            assert held(service) == 8 * MIB
            yield bytes(10)

    shelf.put("uploads/a/1", slow(), "image/png", most_bytes=20 * MIB, announced_bytes=8 * MIB)
    with service.transactions.begin() as work:
        [share] = work.uploads.all("a")
        work.uploads.save(replace(share, id="shr_dead", stored=False, size_bytes=8 * MIB, touched_ms=work.now_ms()))
    with pytest.raises(UploadsFull):
        shelf.require_room("a", 8 * MIB)
    service.clock.at_ms += 3_600_000
    shelf.require_room("a", 8 * MIB)
    assert held(service) == 900


def test_an_account_that_is_not_there_has_no_room(shelf: UploadShelf) -> None:
    with pytest.raises(AccountMissing):
        shelf.require_room("nobody", 1)
    with pytest.raises(AccountMissing):
        put(shelf, "1", 1, account="nobody")
