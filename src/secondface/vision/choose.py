"""Which face gets which source.

Decides once per person and keeps to it: a face that becomes larger for a moment, or walks to the other side, changes
nothing. Must not know files; a reference picture arrives as its descriptor. People are numbered from 0 in the order in
which they first appear, left to right where several appear together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from secondface.errors import InvalidOption, MappingUnresolved, ReferenceFaceNotFound, TooManySources
from secondface.frames import Face, Float
from secondface.spec.faces import FaceRule
from secondface.vision.identity import SAME_PERSON, distance

Selector: TypeAlias = int | Float
"""A person's index, or the descriptor [128] of a reference picture."""
SAME_AGAIN = 0.25
"""How much further from a reference the same person may be in another shot; who is further is a lookalike."""
BACKGROUND_SHARE = 0.25
"""Faces narrower than this share of the widest are passers-by where there are more people than sources."""


class FaceChooser:
    """Sets `face.source` on every face of every frame, and says at the end what never came true.

    `sources` counts the source people. `mapping` names selectors for some of them and then replaces the rule.
    `like` is the descriptor of the rule's reference picture. A picture is one frame: `choose`, then `finish`.
    """

    def __init__(
        self, sources: int, rule: FaceRule | str | None = None, mapping: Sequence[tuple[int, Selector]] = (),
        like: Float | None = None,
    ) -> None:  # fmt: skip
        parsed = rule if isinstance(rule, FaceRule) else FaceRule.parse(rule or "auto")
        self.rule = parsed.for_sources(sources)
        self._sources = sources
        pairs = list(mapping) or self._pairs_of_rule(like)
        for source, _ in pairs:
            if not 0 <= source < sources:
                raise MappingUnresolved(f"There is no source {source}: {sources} given, counted from 0.")
        self._indices = _by_index(pairs)
        self._references = [(source, d) for source, d in pairs if isinstance(d, np.ndarray)]
        self._by_selector = bool(pairs)
        self._order: dict[int, int] = {}
        self._given: dict[int, int] = {}
        self._holders: dict[int, dict[int, float]] = {}
        """By reference: the numbers of the person who was recognised as it, and how far each was from it."""
        self._beside: dict[int, set[int]] = {}
        """By number: who was seen in the same frame, and so is somebody else."""
        self._foreseen = [float("inf")] * len(self._references)
        self._nearest = float("inf")

    @property
    def people(self) -> int:
        """How many people have appeared so far."""
        return len(self._order)

    @property
    def references(self) -> list[Float]:
        """The descriptors [128] of reference pictures, in the order that `foresee` expects."""
        return [reference for _, reference in self._references]

    @property
    def people_needed(self) -> int:
        """How many people must appear, so that `finish` has nothing to say; references are apart."""
        if self._by_selector:
            return max(self._indices, default=-1) + 1
        return self._sources

    def foresee(self, gaps: Sequence[float]) -> None:
        """How near somebody comes to each reference, where the video was looked through before."""
        self._foreseen = list(gaps)

    def choose(self, faces: Sequence[Face]) -> None:
        """Decide for the faces of the next frame."""
        self.choose_batch([faces])

    def choose_batch(self, frames: Sequence[Sequence[Face]]) -> None:
        """Decide for several frames at once; "largest" then means largest over all of them."""
        new = self._arrivals(frames)
        for number in new:
            self._order[number] = len(self._order)
        if self._by_selector:
            self._recognise(frames)
            for number in new:
                if self._order[number] in self._indices:
                    self._given[number] = self._indices[self._order[number]]
        else:
            self._apply_rule(frames, new)
        for face in (face for faces in frames for face in faces):
            face.source = self._given.get(face.track_id)

    def finish(self) -> None:
        """Raise for what never came true: a source without a face, an index or a reference without a person."""
        if not self._order:
            return
        held = [0.0 if self._holders.get(k) else self._nearest for k in range(len(self._references))]
        self.check(len(self._order), held)
        if not self._by_selector and len(set(self._given.values())) < self._sources:
            raise TooManySources(f"{self._sources} sources, {len(self._order)} face(s).")

    def check(self, people: int, gaps: Sequence[float], where: str = "in all frames") -> None:
        """Raise for what that many people, and the nearest faces to the references, leave wanting."""
        if gaps and max(gaps) > SAME_PERSON:
            raise ReferenceFaceNotFound(
                f"The nearest face is {max(gaps):.2f} away, {SAME_PERSON} is the limit, {where}."
            )
        missing = [index for index in self._indices if index >= people]
        if missing:
            raise MappingUnresolved(f"There is no face {missing[0]}: {people} found, counted from 0, {where}.")
        if not self._by_selector and people < self._sources:
            raise TooManySources(f"{self._sources} sources, {people} face(s) {where}.")

    def _pairs_of_rule(self, like: Float | None) -> list[tuple[int, Selector]]:
        """The rules that name people, as a mapping; none for the others. Raises where sources cannot fit."""
        most = self.rule.most_faces()
        if most is not None and self._sources > most:
            raise TooManySources(f"{self._sources} sources, but --faces {self.rule} means {most} face(s).")
        if self.rule.kind == "index":
            return [(k % self._sources, n) for k, n in enumerate(self.rule.indices)]
        if self.rule.kind == "like":
            if like is None:
                raise InvalidOption("--faces like:IMAGE needs a face in IMAGE.")
            return [(0, like)]
        return []

    def _arrivals(self, frames: Sequence[Sequence[Face]]) -> list[int]:
        """People who were never seen before, in their order."""
        first: dict[int, tuple[int, float]] = {}
        together: dict[int, set[int]] = {}
        for k, faces in enumerate(frames):
            new = [face for face in faces if face.track_id not in self._order]
            for face in new:
                first.setdefault(face.track_id, (k, _middle(face)))
                together.setdefault(face.track_id, set()).update(f.track_id for f in new)
        # Whoever shares a frame is ordered from the left, even if one of them was noticed a frame later.
        since = {number: min(first[other][0] for other in together[number]) for number in first}
        return sorted(first, key=lambda number: (since[number], first[number][1]))

    def _apply_rule(self, frames: Sequence[Sequence[Face]], new: Sequence[int]) -> None:
        match self.rule.kind:
            case "all":
                self._given.update({number: self._order[number] % self._sources for number in new})
            case "largest" if not self._given and new:
                sizes = _areas(frames)
                self._given[max(new, key=lambda number: sizes[number])] = 0
            case "left-to-right":
                free = range(len(self._given), self._sources)
                self._given.update(zip(self._foreground(frames, new, len(free)), free, strict=False))
            case _:
                pass

    def _foreground(self, frames: Sequence[Sequence[Face]], new: Sequence[int], places: int) -> list[int]:
        if len(new) <= places:
            return list(new)
        sizes = _areas(frames)
        least = BACKGROUND_SHARE**2 * max(sizes[number] for number in new)
        large = [number for number in new if sizes[number] >= least]
        return large if len(large) >= places else list(new)

    def _recognise(self, frames: Sequence[Sequence[Face]]) -> None:
        """Give each reference's source to one person: the nearest of those who resemble it.

        Somebody seen at another time may be the same person under another number, if they resemble it about as much.
        """
        found: dict[tuple[int, int], float] = {}
        for faces in frames:
            visible = {face.track_id for face in faces}
            for face in faces:
                self._beside.setdefault(face.track_id, set()).update(visible)
                if face.identity is not None:
                    for k, (_, reference) in enumerate(self._references):
                        gap = distance(face.identity, reference)
                        found[face.track_id, k] = min(gap, found.get((face.track_id, k), gap))
        for gap, (number, k) in sorted((gap, who) for who, gap in found.items()):
            self._nearest = min(self._nearest, gap)
            if gap <= SAME_PERSON:
                self._consider(number, k, gap)

    def _consider(self, number: int, k: int, gap: float) -> None:
        """Let a person hold reference `k` if nobody does who resembles it more."""
        holders = self._holders.setdefault(k, {})
        if number in holders:
            holders[number] = min(gap, holders[number])
            return
        best = min([*holders.values(), self._foreseen[k]])
        rivals = [other for other in holders if other in self._beside[number] or holders[other] > gap + SAME_AGAIN]
        beaten = any(holders[other] <= gap for other in rivals)
        if number in self._given or beaten or gap > best + SAME_AGAIN:
            return
        for other in rivals:
            del holders[other]
            del self._given[other]
        holders[number] = gap
        self._given[number] = self._references[k][0]


def _by_index(pairs: Sequence[tuple[int, Selector]]) -> dict[int, int]:
    indices: dict[int, int] = {}
    for source, selector in pairs:
        if isinstance(selector, int) and indices.setdefault(selector, source) != source:
            raise MappingUnresolved(f"Two sources are mapped to face {selector}.")
    return indices


def _middle(face: Face) -> float:
    return float(face.points[:468, 0].mean())


def _areas(frames: Sequence[Sequence[Face]]) -> dict[int, float]:
    """By person, the area of the face summed over frames."""
    areas: dict[int, float] = {}
    for face in (face for faces in frames for face in faces):
        areas[face.track_id] = areas.get(face.track_id, 0.0) + face.size_px**2
    return areas
