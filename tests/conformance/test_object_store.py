"""What every object store promises: whole files or none, ranges, links, and no way out of it."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from secondface.domain.ports import ObjectStore
from secondface.errors import DiskFull, LinkInvalid, MediaTooLarge, ObjectMissing
from secondface.storage.links import Links
from secondface.storage.memory_objects import MemoryObjects
from secondface.storage.objects import FolderStore
from tests.hand_clock import HandClock

BASE = "http://127.0.0.1:8000/v1/objects"
OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def links(clock: HandClock) -> Links:
    return Links(BASE, (NEW, OLD), clock)


@pytest.fixture(params=["memory", "folder"])
def objects(request: pytest.FixtureRequest, links: Links, tmp_path: Path) -> ObjectStore:
    """Each adapter in turn, empty."""
    return MemoryObjects(links) if request.param == "memory" else FolderStore(tmp_path / "objects", links)


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def leftovers(folder: Path) -> list[str]:
    return [name for name in everything(folder) if not name.endswith("/sealing")]


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_file_comes_back_with_its_facts(objects: ObjectStore) -> None:
    stored = objects.put("jobs/j1/1/out.mp4", [b"abc", b"", b"defg"], "video/mp4")
    assert (stored.size_bytes, stored.sha256) == (7, hashlib.sha256(b"abcdefg").hexdigest())
    assert objects.head("jobs/j1/1/out.mp4") == stored
    assert b"".join(objects.read("jobs/j1/1/out.mp4")) == b"abcdefg"


@pytest.mark.parametrize(
    ("first", "last", "read"),
    [(0, 0, b"a"), (2, 4, b"cde"), (5, None, b"fg"), (5, 99, b"fg"), (7, None, b""), (9, 20, b""), (0, 6, b"abcdefg")],
)
def test_ranges_include_both_ends(objects: ObjectStore, first: int, last: int | None, read: bytes) -> None:
    objects.put("k", [b"abcdefg"], "text/plain")
    assert b"".join(objects.read("k", first, last)) == read


def test_a_large_file_comes_in_pieces(objects: ObjectStore) -> None:
    piece = os.urandom(1 << 20)
    objects.put("big", (piece for _ in range(5)), "application/octet-stream")
    assert b"".join(objects.read("big", 3, (4 << 20) + 7)) == (piece * 5)[3 : (4 << 20) + 8]


def test_an_empty_file_is_a_file(objects: ObjectStore) -> None:
    assert objects.put("empty", [], "text/plain").size_bytes == 0
    assert b"".join(objects.read("empty")) == b""


def test_what_is_not_there_is_missing_before_the_first_byte(objects: ObjectStore) -> None:
    with pytest.raises(ObjectMissing):
        objects.read("nothing")
    with pytest.raises(ObjectMissing):
        objects.head("nothing/at/all")
    objects.delete("nothing")


def test_a_file_may_be_replaced_and_removed(objects: ObjectStore) -> None:
    objects.put("a/k", [b"old"], "text/plain")
    objects.put("a/k", [b"newer"], "text/html")
    assert objects.head("a/k").content_type == "text/html"
    assert b"".join(objects.read("a/k")) == b"newer"
    objects.delete("a/k")
    with pytest.raises(ObjectMissing):
        objects.head("a/k")
    objects.put("a", [b"a file where a folder was"], "text/plain")


def test_keys_are_listed_by_prefix(objects: ObjectStore) -> None:
    for key in ("jobs/b/1/o", "jobs/a/2/o", "jobs/ab/1/o", "uploads/x"):
        objects.put(key, [b"x"], "text/plain")
    assert list(objects.keys("jobs/a")) == ["jobs/a/2/o", "jobs/ab/1/o"]
    assert list(objects.keys("jobs/a/")) == ["jobs/a/2/o"]
    assert len(objects.keys("")) == 4


def test_names_that_look_like_ours_are_in_nobodys_way(objects: ObjectStore) -> None:
    for key in ("a", "a.json", "parts/x", "facts/a", "b.json/a", "b"):
        objects.put(key, [key.encode()], "text/plain")
    assert [b"".join(objects.read(key)).decode() for key in objects.keys("")] == list(objects.keys(""))
    assert len(objects.keys("")) == 6


def test_a_file_cannot_be_a_folder_too(objects: ObjectStore) -> None:
    objects.put("a", [b"x"], "text/plain")
    with pytest.raises(LinkInvalid):
        objects.put("a/b", [b"x"], "text/plain")
    objects.put("c/d", [b"x"], "text/plain")
    with pytest.raises(LinkInvalid):
        objects.put("c", [b"x"], "text/plain")
    assert b"".join(objects.read("a")) == b"".join(objects.read("c/d")) == b"x"


# ---- what does not become a file -------------------------------------------------------------------------------------


def test_an_upload_that_breaks_off_leaves_nothing(objects: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(ConnectionResetError):
        objects.put("k", broken_connection(), "text/plain")
    with pytest.raises(ObjectMissing):
        objects.head("k")
    assert list(objects.keys("")) == []
    assert leftovers(tmp_path) == []


def broken_connection() -> Iterator[bytes]:
    yield b"half of it"
    raise ConnectionResetError


def test_an_upload_that_is_too_large_is_cut_off_and_leaves_nothing(objects: ObjectStore, tmp_path: Path) -> None:
    given: list[int] = []

    def endless() -> Iterator[bytes]:
        while True:
            given.append(1)
            yield b"x" * 100

    with pytest.raises(MediaTooLarge):
        objects.put("k", endless(), "text/plain", most_bytes=1_000)
    assert len(given) == 11
    assert leftovers(tmp_path) == []
    assert objects.put("k", [b"x" * 1_000], "text/plain", most_bytes=1_000).size_bytes == 1_000


def test_a_full_disk_has_our_name_for_it(links: Links, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path / "objects", links)

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull):
        store.put("k", [b"x"], "text/plain")
    assert leftovers(tmp_path) == []


def test_what_a_dead_writer_left_is_tidied_and_what_a_living_one_writes_is_not(links: Links, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "objects", links)
    go_on, begun = threading.Event(), threading.Event()

    def slow() -> Iterator[bytes]:
        yield b"first"
        begun.set()
        assert go_on.wait(60)
        yield b"last"

    (tmp_path / "objects" / "parts" / "dead.part").write_bytes(b"left by a kill")
    writer = threading.Thread(target=lambda: store.put("k", slow(), "text/plain"))
    writer.start()
    assert begun.wait(60)
    assert store.tidy() == 1
    go_on.set()
    writer.join()
    assert b"".join(store.read("k")) == b"firstlast"
    assert everything(tmp_path / "objects") == ["facts/k~", "files/k", "sealing"]


def test_a_part_that_was_swept_before_it_was_locked_is_begun_again(
    links: Links, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, lock, swept = FolderStore(tmp_path / "objects", links), fcntl.flock, list[str]()

    def late(file: FileIO, how: int) -> None:
        name = str(getattr(file, "name", ""))
        if not swept and name.endswith(".part"):
            swept.append(name)
            Path(name).unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    store.put("k", [b"abc"], "text/plain")
    assert (len(swept), b"".join(store.read("k"))) == (1, b"abc")


def test_a_file_that_lost_its_end_is_missing_rather_than_short(links: Links, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "objects", links)
    store.put("k", [b"abcdefg"], "text/plain")
    (tmp_path / "objects" / "files" / "k").write_bytes(b"abc")
    with pytest.raises(ObjectMissing):
        store.read("k")


def test_what_is_found_out_of_a_file_holds_for_its_bytes_only(links: Links, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "objects", links)
    first = store.put("k", [b"first"], "text/plain")
    with store.held(first) as path:
        assert path.read_bytes() == b"first"
    second = store.put("k", [b"second"], "text/plain")
    with pytest.raises(ObjectMissing), store.held(first):
        pytest.fail("it is another file by now")
    with pytest.raises(ObjectMissing), store.held(second):
        # Back to the same bytes before the end: what was read in between may have been of others.
        store.put("k", [b"third"], "text/plain")
        store.put("k", [b"second"], "text/plain")
    with pytest.raises(ObjectMissing), store.held(second):
        store.delete("k")
    with pytest.raises(ObjectMissing), store.held(second):
        pytest.fail("it is gone")


def test_a_link_of_the_file_system_is_not_followed(links: Links, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "objects", links)
    (tmp_path / "secret").write_bytes(b"abcdefg")
    store.put("k", [b"abcdefg"], "text/plain")
    path = tmp_path / "objects" / "files" / "k"
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(ObjectMissing):
        store.read("k")


# ---- names -----------------------------------------------------------------------------------------------------------

TRICKS = [
    "", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "a//b", "a/", "./a", ".hidden", "a/.git", "a\\b", "a\0b",
    "C:x", "a b", "é", "%2e%2e/x", "a/%2F", "a\n", "~root", "-rf", "x" * 201, "a/" * 300 + "a", "k.part", "a.part/b",
    "a?b", "a#b", "*", "a:b",
]  # fmt: skip


@pytest.mark.parametrize("key", TRICKS)
def test_tricks_with_names_are_refused(objects: ObjectStore, key: str, tmp_path: Path) -> None:
    for attempt in (
        lambda: objects.put(key, [b"x"], "text/plain"),
        lambda: objects.read(key),
        lambda: objects.head(key),
        lambda: objects.delete(key),
        lambda: objects.link(key, "GET", 5),
    ):
        with pytest.raises(LinkInvalid):
            attempt()
    assert leftovers(tmp_path) == []


# ---- links -----------------------------------------------------------------------------------------------------------


def opened(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    assert url.startswith(f"{BASE}/")
    query = {name: values[0] for name, values in parse_qs(parts.query, strict_parsing=True).items()}
    return {"key": unquote(parts.path.removeprefix("/v1/objects/"))} | query


def test_a_link_opens_what_it_was_made_for(objects: ObjectStore, links: Links) -> None:
    links.check(**opened(objects.link("jobs/j=1/out+1.png", "GET", 60)))


def test_a_link_ends_with_its_time(links: Links, clock: HandClock) -> None:
    asked = opened(links.sign("k", "GET", 60))
    clock.at_ms += 59_999
    links.check(**asked)
    clock.at_ms += 1
    with pytest.raises(LinkInvalid, match="expired"):
        links.check(**asked)


@pytest.mark.parametrize(
    "change",
    [
        {"key": "k2"}, {"key": "../k"}, {"method": "PUT"}, {"method": "get"}, {"expires": "99999999999"},
        {"expires": "-1"}, {"expires": "1e9"}, {"expires": "٣"}, {"expires": ""}, {"signature": ""},
        {"signature": "0" * 64}, {"signature": "é"},
    ],
)  # fmt: skip
def test_a_link_opens_nothing_else(links: Links, change: dict[str, str]) -> None:
    with pytest.raises(LinkInvalid):
        links.check(**(opened(links.sign("k", "GET", 60)) | change))


def test_an_old_secret_opens_what_it_signed_until_it_is_dropped(links: Links, clock: HandClock) -> None:
    asked = opened(Links(BASE, (OLD,), clock).sign("k", "GET", 60))
    links.check(**asked)
    with pytest.raises(LinkInvalid):
        Links(BASE, (NEW,), clock).check(**asked)


@pytest.mark.parametrize("secrets", [(), (b"short",), (NEW, b"short")])
def test_a_weak_secret_is_refused(secrets: tuple[bytes, ...], clock: HandClock) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Links(BASE, secrets, clock)


def test_many_writers_of_one_key_leave_one_whole_file(links: Links, tmp_path: Path) -> None:
    stores = [FolderStore(tmp_path / "objects", links) for _ in range(4)]
    contents = [bytes([65 + number]) * (100_000 + number) for number in range(4)]

    def write(number: int) -> None:
        stores[number].put("k", [contents[number]], "text/plain")

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    content = b"".join(stores[1].read("k"))
    assert content in contents
    assert stores[1].head("k").sha256 == hashlib.sha256(content).hexdigest()
    assert everything(tmp_path / "objects" / "parts") == []
