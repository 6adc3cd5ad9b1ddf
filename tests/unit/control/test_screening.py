"""Files of callers before their use: asked about once, refused where there is no word, and no way around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from secondface.control.screening import Screening
from secondface.domain.accounts import Actor
from secondface.domain.ports import Stored
from secondface.errors import MalwareFound, ObjectMissing, ScannerUnavailable
from secondface.storage.links import Links
from secondface.storage.memory import MemoryTransactions
from secondface.storage.memory_objects import MemoryObjects
from tests.hand_clock import HandClock

BAD, GOOD = b"a file with harm in it", b"a file without"
ACTOR = Actor("key:k", "203.0.113.9")


class Reader:
    """A scanner that knows one word, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked, self.away = 0, False
        self.before: Callable[[], object] = lambda: None

    def scan(self, chunks: Iterable[bytes]) -> str | None:
        self.asked += 1
        self.before()
        if self.away:
            raise ScannerUnavailable("away")
        return "Harm" if b"harm" in b"".join(chunks) else None

    def check(self) -> None:
        if self.away:
            raise ScannerUnavailable("away")


class Desk:
    """A screening over stores in memory."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.scanner = Reader()
        self.objects = MemoryObjects(Links("http://x", (b"s" * 32,), self.clock))
        self.transactions = MemoryTransactions(self.clock)
        self.screening = Screening(self.scanner, self.objects, self.transactions)

    def put(self, content: bytes, key: str = "uploads/a/upl_1") -> Stored:
        return self.objects.put(key, [content], "image/png")

    def told(self, name: str = "upl_1") -> list[tuple[str, object, object, object]]:
        with self.transactions.view() as work:
            return [
                (each.event.kind, each.event.facts["code"], each.account, each.actor)
                for each in work.journal.since(name)
            ]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_clean_file_is_asked_about_once_wherever_it_lies(desk: Desk) -> None:
    assert desk.screening.require_clean(desk.put(GOOD), "a", ACTOR) == "clean"
    for key in ("uploads/a/upl_1", "uploads/a/upl_2", "uploads/b/upl_3"):
        assert desk.screening.require_clean(desk.put(GOOD, key), "a", ACTOR) == "known"
    assert desk.scanner.asked == 1
    assert desk.told() == []


def test_a_good_word_holds_for_a_day(desk: Desk) -> None:
    stored = desk.put(GOOD)
    desk.screening.require_clean(stored, "a", ACTOR)
    desk.clock.at_ms += 86_400_001
    assert desk.screening.require_clean(stored, "a", ACTOR) == "clean"
    assert desk.scanner.asked == 2


def test_a_harmful_file_is_removed_and_written_down(desk: Desk) -> None:
    with pytest.raises(MalwareFound, match="Harm"):
        desk.screening.require_clean(desk.put(BAD), "a", ACTOR)
    assert desk.objects.keys("") == []
    assert desk.told() == [("upload.refused", "malware_found", "a", ACTOR)]
    with pytest.raises(MalwareFound):  # a bad word is asked for again: scanners err, and learn
        desk.screening.require_clean(desk.put(BAD), "a", ACTOR)
    assert desk.scanner.asked == 2


def test_without_a_word_nothing_passes_and_nothing_is_remembered(desk: Desk) -> None:
    desk.scanner.away = True
    stored = desk.put(GOOD)
    for _ in range(2):
        with pytest.raises(ScannerUnavailable):
            desk.screening.require_clean(stored, "a", ACTOR)
    assert [code for _, code, _, _ in desk.told()] == ["scanner_unavailable"] * 2
    desk.scanner.away = False
    assert desk.screening.require_clean(stored, "a", ACTOR) == "clean"


def test_a_good_word_for_one_file_is_none_for_another_put_in_its_place(desk: Desk) -> None:
    """Harm is stored, and swapped for a clean file while the scanner reads; then it comes back."""
    harmful = desk.put(BAD)
    desk.put(GOOD)
    with pytest.raises(ObjectMissing):
        desk.screening.require_clean(harmful, "a", ACTOR)
    desk.put(BAD)
    with pytest.raises(MalwareFound):
        desk.screening.require_clean(harmful, "a", ACTOR)
