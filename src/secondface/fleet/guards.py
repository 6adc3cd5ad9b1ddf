"""The guards of a worker's attempts: one judge of pictures, and the list of protected people as it is now.

Decides when the list is asked for: before each attempt, so that who was put on it a moment ago is no source any more.
"""

from __future__ import annotations

import threading

import numpy as np

from secondface.domain.ports import ProtectedList, ProtectedPeople
from secondface.pipeline.guard import Guard
from secondface.pipeline.moderation import Moderation
from secondface.spec.moderation import ContentRules
from secondface.vision.protected import KnownPerson


class Guards:
    """Makes the guard of each attempt."""

    def __init__(self, moderation: Moderation | None = None, protected: ProtectedList | None = None) -> None:
        self._moderation, self._protected = moderation, protected
        self._version = ""
        self._people: tuple[KnownPerson, ...] = ()
        self._turn = threading.Lock()

    def guard(self, rules: ContentRules) -> Guard:
        """Who watches one attempt. Raises StorageUnavailable: without the list nothing is worked on."""
        return Guard(self._moderation, rules, self._known())

    def _known(self) -> tuple[KnownPerson, ...]:
        if self._protected is None:
            return ()
        with self._turn:
            changed = self._protected.since(self._version)
            if changed is not None:
                self._version, self._people = changed.version, _as_arrays(changed)
            return self._people


def _as_arrays(listed: ProtectedPeople) -> tuple[KnownPerson, ...]:
    return tuple(KnownPerson(each.id, np.array(each.descriptors, np.float32)) for each in listed.people)
