"""A first look across a video, before work is spent on it: do the people whom the request names appear at all?

Decides when enough was seen, and refuses within seconds what the whole run could only refuse at its end. Must not know
files: sample frames come from an iterator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from secondface.errors import NoFaceInTarget
from secondface.frames import Float, Frame, Sessions
from secondface.vision.choose import FaceChooser
from secondface.vision.find import FaceFinder, VideoSearch
from secondface.vision.identity import Identifier, PeopleGallery, distance

CLEARLY = 0.35
"""A face that is this near to a reference ends the search for it."""


@dataclass(slots=True)
class Scouted:
    """What was seen in the sample frames."""

    frames: int = 0
    people: int = 0
    gaps: list[float] = field(default_factory=list[float])
    """For each reference, how near the nearest face came to it."""


def scout(frames: Iterable[Frame], chooser: FaceChooser, sessions: Sessions) -> Scouted:
    """Look through sample frames until everybody who is needed was seen.

    Raises NoFaceInTarget, TooManySources, MappingUnresolved or ReferenceFaceNotFound when the samples end before that.
    """
    finder = FaceFinder(sessions)
    identifier, people = Identifier(sessions), PeopleGallery()
    seen = Scouted(gaps=[float("inf")] * len(chooser.references))
    needed = max(1, chooser.people_needed)
    for frame in frames:
        seen.frames += 1
        _meet(frame, finder, identifier, people, seen, chooser.references)
        if seen.people >= needed and all(gap <= CLEARLY for gap in seen.gaps):
            return seen
    where = f"in {seen.frames} frames looked at across the video; --allow-no-face runs all the same"
    if not seen.people:
        raise NoFaceInTarget(f"No face {where}.", frames=seen.frames)
    chooser.check(seen.people, seen.gaps, where)
    return seen


def _meet(
    frame: Frame, finder: FaceFinder, identifier: Identifier, people: PeopleGallery, seen: Scouted,
    references: list[Float],
) -> None:  # fmt: skip
    """Count those who are new, and see how near each comes to the references."""
    faces, _ = VideoSearch(finder).everything(frame, [])
    present: set[int] = set()
    for face in faces:
        identity = identifier.describe(frame, face.points)
        absent = [number for number in people.everyone() if number not in present]
        number = people.recognise(identity, absent)
        if number is None:
            number = people.new_person()
        people.add_view(number, identity)
        present.add(number)
        seen.gaps = [min(gap, distance(identity, known)) for gap, known in zip(seen.gaps, references, strict=True)]
    seen.people = len(people.everyone())
