"""Whatever is done to the audit, in an export or in the database, is found; and what is whole is called so."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from secondface.control.audit import AuditTrail
from secondface.domain.accounts import Actor
from secondface.domain.audit_file import check
from secondface.domain.chain import link
from secondface.domain.jobs import Event
from secondface.domain.ports import Recorded
from secondface.storage.memory import MemoryTransactions
from secondface.storage.signing import holds
from tests.hand_clock import HandClock
from tests.hand_key import HandKey

KEY = HandKey()
"""One for all, for its making costs more than all it signs here."""
SEEDS = st.integers(0, 2**32)


def written(count: int, every: int, pruned: int = 0) -> tuple[MemoryTransactions, AuditTrail]:
    """A store with so many sealed entries, signed after each `every` of them, and its oldest pruned."""
    clock = HandClock()
    store = MemoryTransactions(clock)
    KEY.word = None
    trail = AuditTrail(store, KEY, sign_every_s=60)
    for number in range(count):
        clock.at_ms += 61_000
        with store.begin() as work:
            facts = {"worth": number, "name": f"ü{number}", "yes": True, "nothing": None}
            event = Event(f"job_{number % 3}", "job.accepted", clock.at_ms, facts)
            work.journal.record("a", Actor("key:k", "192.0.2.7" if number % 2 else None), [event])
            work.journal.seal()
        if number % every == every - 1:
            trail.sign()
    trail.sign()
    if pruned:
        with store.view() as work:
            before_ms = work.journal.audit(None)[pruned].event.at_ms
        assert trail.prune(before_ms) == pruned
    return store, trail


def exported(trail: AuditTrail) -> str:
    return "".join(trail.export())


def lines_of(text: str) -> list[str]:
    return text.splitlines(keepends=True) if "\x85" not in text else text.split("\n")


STORE, TRAIL = written(12, 4)
TEXT = exported(TRAIL)
PRUNED = exported(written(12, 4, pruned=5)[1])


def test_what_is_whole_is_called_so() -> None:
    for text, first, entries in ((TEXT, 0, 12), (PRUNED, 5, 7)):
        found = check(text.splitlines(keepends=True), holds, KEY.public_key)
        assert (found.flaw, found.entries, found.last, found.signed_to) == (None, entries, 12, 12), first
    assert TRAIL.check().whole


@settings(max_examples=400, deadline=None)
@given(seed=SEEDS, of_pruned=st.booleans())
def test_no_byte_of_an_export_changes_unseen(seed: int, of_pruned: bool) -> None:
    """Changed, removed, doubled or moved bytes and lines; a file that is cut anywhere."""
    chance, text = random.Random(seed), PRUNED if of_pruned else TEXT
    raw = bytearray(text.encode())
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(raw))
    match chance.randrange(7):
        case 0:
            raw[at] = (raw[at] + chance.randrange(1, 256)) % 256
        case 1:
            del raw[at : at + chance.randrange(1, 40)]
        case 2:
            raw[at:at] = bytes(chance.choices(b'0 a",{}\n\\', k=chance.randrange(1, 4)))
        case 3:
            raw = raw[:at]
        case 4:
            del lines[chance.randrange(len(lines))]
            raw = bytearray("".join(lines).encode())
        case 5:
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
            raw = bytearray("".join(lines).encode())
        case _:
            one, two = chance.sample(range(len(lines)), 2)
            lines[one], lines[two] = lines[two], lines[one]
            raw = bytearray("".join(lines).encode())
    if bytes(raw) == text.encode():
        return
    changed = raw.decode("utf-8", "surrogateescape")
    found = check([f"{line}\n" for line in changed.split("\n")[:-1]] + ([changed.split("\n")[-1]] if not
                  changed.endswith("\n") and changed else []), holds, KEY.public_key)  # fmt: skip
    assert not found.whole
    same = next((n for n, (a, b) in enumerate(zip(lines_of(text), lines_of(changed), strict=False)) if a != b), 10**6)
    if found.flaw == "entry":
        assert found.first_bad == (5 if of_pruned else 0) + max(1, same), "the first line that differs is named"


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
def test_nothing_in_the_database_changes_unseen(seed: int) -> None:
    """By somebody who may write to it, and does not chain anew."""
    chance = random.Random(seed)
    store, trail = written(12, 4)
    shelves: Any = store._shelves
    events: dict[int, Recorded] = shelves.events
    number = chance.choice(list(events))
    before, event = events[number], events[number].event
    changes: list[Callable[[], Any]] = [
        lambda: events.__setitem__(number, replace(before, account="b")),
        lambda: events.__setitem__(number, replace(before, actor=replace(before.actor, name="key:other"))),
        lambda: events.__setitem__(number, replace(before, actor=replace(before.actor, address="203.0.113.9"))),
        lambda: events.__setitem__(number, replace(before, event=replace(event, kind="job.failed"))),
        lambda: events.__setitem__(number, replace(before, event=replace(event, at_ms=event.at_ms + 1))),
        lambda: events.__setitem__(number, replace(before, event=replace(event, facts={**event.facts, "worth": -1}))),
        lambda: events.__setitem__(number, replace(before, digest="0" * 64)),
        lambda: events.pop(number),
        lambda: swapped(events, number, 1 + number % 12),
    ]
    chance.choice(changes)()
    found = trail.check()
    assert found.first_bad is not None and found.first_bad <= (before.position or 0) + 1
    assert found.first_bad >= min(before.position or 0, 1 + number % 12)


def swapped(events: dict[int, Recorded], one: int, two: int) -> None:
    first, second = events[one], events[two]
    events[one] = replace(first, position=second.position, digest=second.digest)
    events[two] = replace(second, position=first.position, digest=first.digest)


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS)
def test_a_chain_that_was_made_anew_or_cut_is_not_the_one_that_was_signed(seed: int) -> None:
    """By somebody who may write to the database and knows how it is chained, but has not the key."""
    chance = random.Random(seed)
    store, trail = written(12, 4)
    shelves: Any = store._shelves
    events: dict[int, Recorded] = shelves.events
    at = chance.randrange(1, 13)
    if chance.random() < 0.5:
        for number in range(at, 13):
            del events[number]
        for place in [place for place in shelves.heads if place[1] >= at]:
            del shelves.heads[place]  # with the words that tell of them: the one outside of the database stays
        assert trail.check().flaw == "truncated"
        assert trail.check().first_bad == at
        return
    events[at] = replace(events[at], account="b")
    digest = events[at - 1].digest if at > 1 else "0" * 64
    for number in range(at, 13):
        digest = link(digest or "", number, events[number])
        events[number] = replace(events[number], digest=digest)
    found = trail.check()
    assert found.flaw == "rewritten" and found.first_bad is not None
    assert found.first_bad <= at <= found.first_bad + 3, "it lies between the last good signed word and the next"
