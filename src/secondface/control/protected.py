"""The list of protected people: operators write it, workers read it.

What is kept of a person are numbers and a note. Must not know pictures: the numbers come from whoever looked at one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from secondface.control.auth import Caller
from secondface.domain.jobs import Event, Fact
from secondface.domain.ports import Ids, Transactions, UnitOfWork
from secondface.domain.protected import Descriptor, Protected, ProtectedPeople
from secondface.errors import InvalidOption, ProtectedMissing

_MOST_DESCRIPTORS = 32


class ProtectedRegister:
    """What operators do with the list; and the port by which workers hear of it."""

    def __init__(self, transactions: Transactions, ids: Ids) -> None:
        self._transactions, self._ids = transactions, ids

    def all(self, caller: Caller) -> Sequence[Protected]:
        """Every entry, oldest first."""
        caller.require("admin")
        with self._transactions.view() as work:
            return work.protected.all()

    def add(self, caller: Caller, descriptors: Sequence[Descriptor], note: str) -> Protected:
        """A new entry of one or several faces of a person. Raises InvalidOption."""
        caller.require("admin")
        with self._transactions.begin() as work:
            now_ms = work.now_ms()
            person = Protected(
                id=self._ids.new("prot"), note=note, descriptors=_bounded(descriptors), created_ms=now_ms,
                changed_ms=now_ms,
            )  # fmt: skip
            work.protected.save(person)
            _tell(work, caller, person.id, "protected.added", faces=len(person.descriptors))
        return person

    def extend(self, caller: Caller, entry_id: str, descriptors: Sequence[Descriptor]) -> Protected:
        """More faces of the same person. Raises ProtectedMissing, InvalidOption."""
        caller.require("admin")
        with self._transactions.begin() as work:
            known = work.protected.get(entry_id)
            if known is None:
                raise ProtectedMissing(entry=entry_id)
            changed_ms = max(work.now_ms(), known.changed_ms + 1)  # two changes within a millisecond are two versions
            person = replace(
                known, descriptors=_bounded([*known.descriptors, *descriptors]), changed_ms=changed_ms
            )  # fmt: skip
            work.protected.save(person)
            _tell(work, caller, person.id, "protected.extended", faces=len(person.descriptors))
        return person

    def remove(self, caller: Caller, entry_id: str) -> None:
        """Forget an entry with all its numbers. Raises ProtectedMissing."""
        caller.require("admin")
        with self._transactions.begin() as work:
            if not work.protected.remove(entry_id):
                raise ProtectedMissing(entry=entry_id)
            _tell(work, caller, entry_id, "protected.removed")

    def since(self, version: str) -> ProtectedPeople | None:
        """The list for a worker; None where it has it already."""
        with self._transactions.view() as work:
            now = work.protected.version()
            return None if now == version else ProtectedPeople(now, tuple(work.protected.all()))

    def version(self) -> str:
        """A word for the list as it is: results that were made under another one are not handed out again."""
        with self._transactions.view() as work:
            return work.protected.version()


def _bounded(descriptors: Sequence[Descriptor]) -> tuple[Descriptor, ...]:
    if not 0 < len(descriptors) <= _MOST_DESCRIPTORS:
        raise InvalidOption(f"A protected person is known by 1 to {_MOST_DESCRIPTORS} pictures.")
    return tuple(descriptors)


def _tell(work: UnitOfWork, caller: Caller, entry_id: str, kind: str, **facts: Fact) -> None:
    """Into the audit, without the note: that may hold a name, and the audit is never changed."""
    work.journal.record("operator", caller.actor, [Event(entry_id, kind, work.now_ms(), facts)])
