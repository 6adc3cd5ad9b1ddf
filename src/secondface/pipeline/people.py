"""The people that a request brings along: source faces ready to be put on, and the descriptors of reference pictures.

Decides which face of a picture is meant (the largest). Must not know files: pictures arrive as arrays with names.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from secondface.errors import NoFaceInSource, ReferenceFaceNotFound
from secondface.frames import RGB8, ArrayFrame, Face, Float
from secondface.pipeline.moderation import Opinion
from secondface.vision.identity import SAME_PERSON, distance
from secondface.vision.mesh_swap import SwapSource
from secondface.vision.track import FaceTracker


class PersonPicture(Protocol):
    """A still with the name that messages use for it; its pixels may be read when they are first asked for."""

    @property
    def name(self) -> str: ...
    @property
    def rgb(self) -> RGB8: ...
    @property
    def digest(self) -> str:
        """Other pixels have another one."""
        ...


@dataclass(frozen=True, slots=True)
class Picture:
    """A still that was read."""

    name: str
    rgb: RGB8

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.rgb.shape};".encode() + self.rgb.tobytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class SourceLook:
    """What was seen in one source picture, kept so that a later run need not look again."""

    number: int
    """Of all source pictures, in the order given."""
    name: str
    identity: Float | None
    """[128] of the face that is given to others."""
    opinions: tuple[Opinion, ...] | None = None
    """None where nobody judged it."""


@dataclass(frozen=True, slots=True)
class SourcePeople:
    """What the swap needs to know of the source people, in the order given."""

    people: tuple[SwapSource, ...]
    notes: tuple[str, ...] = ()
    looks: tuple[SourceLook, ...] = ()


SourceJudge = Callable[[int, PersonPicture, Float | None], SourceLook]
"""Looks at a source picture before work is spent on its person; raises what refuses it."""


def unjudged(number: int, picture: PersonPicture, identity: Float | None) -> SourceLook:
    """A look without a judge."""
    return SourceLook(number, picture.name, identity)


def build_sources(
    sources: Sequence[Sequence[PersonPicture]], tracker: FaceTracker, enlarge: Callable[[RGB8], RGB8],
    judge: SourceJudge = unjudged,
) -> SourcePeople:  # fmt: skip
    """Find the face in each source picture and combine each person's pictures. Raises NoFaceInSource."""
    people: list[SwapSource] = []
    notes: list[str] = []
    looks: list[SourceLook] = []
    for pictures in sources:
        faces = [(picture, _source_face(picture, tracker)) for picture in pictures]
        looks += [judge(number, picture, face.identity) for number, (picture, face) in enumerate(faces, len(looks))]
        notes += _strangers(faces)
        people.append(SwapSource.build([(picture.rgb, face) for picture, face in faces], enlarge))
    return SourcePeople(tuple(people), tuple(notes), tuple(looks))


class PeopleMemory:
    """Source people of earlier runs, by their pictures: a folder of targets prepares them once.

    It lives as long as whoever runs the runs wants it to; at most `most` sets of people are kept, the latest used.
    """

    def __init__(self, most: int = 2, kept: Mapping[str, SourcePeople] | None = None) -> None:
        self._most = most
        self._kept: dict[str, SourcePeople] = dict(kept or {})
        self._guard = threading.Lock()
        self.packed = b""
        """The same as a caged run left it. Never opened outside of a cage."""

    @property
    def kept(self) -> Mapping[str, SourcePeople]:
        """What is remembered at the moment, by what `recall` knows it by; the latest used comes last."""
        with self._guard:
            return dict(self._kept)

    def holds(self, sources: Sequence[Sequence[PersonPicture]]) -> bool:
        """Whether the people of these pictures are known at the moment."""
        key = _digest(sources)
        with self._guard:
            return key in self._kept

    def recall(self, sources: Sequence[Sequence[PersonPicture]], build: Callable[[], SourcePeople]) -> SourcePeople:
        """The people of these pictures, built if they are not known. Raises what `build` raises."""
        key = _digest(sources)
        with self._guard:
            known = self._kept.pop(key, None)
        people = known or build()
        with self._guard:
            self._kept[key] = people
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return people


def _digest(sources: Sequence[Sequence[PersonPicture]]) -> str:
    """Of names, which stand in notes, and pictures."""
    digest = hashlib.sha256()
    for pictures in sources:
        digest.update(f"person {len(pictures)};".encode())
        for picture in pictures:
            digest.update(f"{picture.name};{picture.digest};".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def describe_reference(picture: PersonPicture, tracker: FaceTracker) -> Float:
    """The descriptor [128] of the largest face in a reference picture. Raises ReferenceFaceNotFound."""
    face = _largest_face(picture, tracker)
    if face is None or face.identity is None:
        raise ReferenceFaceNotFound(f"There is no face in the reference picture {picture.name}.", path=picture.name)
    return face.identity


def describe_source(picture: PersonPicture, tracker: FaceTracker) -> Float:
    """The descriptor [128] of the face that would be given to others. Raises NoFaceInSource."""
    face = _source_face(picture, tracker)
    if face.identity is None:
        raise NoFaceInSource(picture.name, path=picture.name)
    return face.identity


def _source_face(picture: PersonPicture, tracker: FaceTracker) -> Face:
    face = _largest_face(picture, tracker)
    if face is None:
        raise NoFaceInSource(picture.name, path=picture.name)
    return face


def _largest_face(picture: PersonPicture, tracker: FaceTracker) -> Face | None:
    return max(tracker.still(ArrayFrame(picture.rgb)), key=lambda face: face.size_px, default=None)


def _strangers(faces: Sequence[tuple[PersonPicture, Face]]) -> list[str]:
    """Notes on pictures that do not look like the first one of the same person."""
    (first, known), *others = faces
    if known.identity is None:
        return []
    return [
        f"{picture.name} does not look like the person in {first.name}."
        for picture, face in others
        if face.identity is not None and distance(known.identity, face.identity) > SAME_PERSON
    ]
