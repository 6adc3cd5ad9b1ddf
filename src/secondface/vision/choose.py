"""Which face gets which source.

Decides once per person and keeps to it: a face that becomes larger for a moment, or walks to the other side, changes
nothing. Must not know files; a reference picture arrives as its descriptor. People are numbered from 0 in the order in
which they first appear, left to right where several appear in the same frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from secondface.errors import InvalidOption, MappingUnresolved, ReferenceFaceNotFound, TooManySources
from secondface.frames import Face, Float
from secondface.vision.identity import SAME_PERSON, distance

RuleKind = Literal["default", "largest", "all", "left-to-right", "index", "like"]
Selector: TypeAlias = int | Float
"""A person's index, or the descriptor of a reference picture."""


@dataclass(frozen=True, slots=True)
class FaceRule:
    """Which people are meant, read from what follows `--faces`."""

    kind: RuleKind
    indices: tuple[int, ...] = ()
    image: str = ""

    @staticmethod
    def parse(text: str | None) -> FaceRule:
        """Reads `largest`, `all`, `left-to-right`, `N,...`, `like:IMAGE` or nothing."""
        match (text or "").strip():
            case "":
                return FaceRule("default")
            case "largest" | "all" | "left-to-right" as kind:
                return FaceRule(kind)
            case like if like.startswith("like:") and like[5:]:
                return FaceRule("like", image=like[5:])
            case numbers if all(part.strip().isdecimal() for part in numbers.split(",")):
                return FaceRule("index", tuple(dict.fromkeys(int(part) for part in numbers.split(","))))
            case other:
                raise InvalidOption(f"--faces {other!r}: use largest, all, left-to-right, N,... or like:IMAGE.")


class FaceChooser:
    """Sets `face.source` on every face of every frame, and says at the end what never came true.

    `sources` counts the source people. `mapping` names selectors for some of them and then replaces the rule.
    `like` is the descriptor of the rule's reference picture. A picture is one frame: `choose`, then `finish`.
    """

    def __init__(
        self, sources: int, rule: FaceRule | str | None = None, mapping: Sequence[tuple[int, Selector]] = (),
        like: Float | None = None,
    ) -> None:  # fmt: skip
        self.rule = rule if isinstance(rule, FaceRule) else FaceRule.parse(rule)
        if self.rule.kind == "default":
            self.rule = FaceRule("largest" if sources == 1 else "left-to-right")
        self._sources = sources
        self._indices, self._references = self._selectors(mapping, like)
        self._order: dict[int, int] = {}
        self._given: dict[int, int | None] = {}
        self._resolved: set[int] = set()
        self._best_distance = float("inf")

    def choose(self, faces: Sequence[Face]) -> None:
        """Decide for the faces of the next frame."""
        self.choose_batch([faces])

    def choose_batch(self, frames: Sequence[Sequence[Face]]) -> None:
        """Decide for several frames at once; "largest" then means largest over all of them."""
        for faces in frames:
            self._number(faces)
        if self._references:
            self._match(frames)
        elif self.rule.kind == "largest" and not self._indices:
            self._take_largest(frames)
        for face in (face for faces in frames for face in faces):
            face.source = self._source_of(face.track_id)

    def finish(self) -> None:
        """Raise for what never came true: a source without a face, an index or a reference without a person."""
        if not self._order:
            return
        if self._references:
            missing = [k for k in range(len(self._references)) if k not in self._resolved]
            if missing:
                raise ReferenceFaceNotFound(f"Nearest distance {self._best_distance:.2f}, needed {SAME_PERSON}.")
        missing_index = [n for n in self._indices if n >= len(self._order)]
        if missing_index:
            raise MappingUnresolved(f"There is no face {missing_index[0]}: {len(self._order)} found, counted from 0.")
        wanted = 1 if self.rule.kind in {"largest", "like"} else self._sources
        if not self._indices and not self._references and len(self._order) < wanted:
            raise TooManySources(f"{self._sources} sources, {len(self._order)} face(s).")

    @property
    def people(self) -> int:
        """How many people have appeared so far."""
        return len(self._order)

    def _selectors(
        self, mapping: Sequence[tuple[int, Selector]], like: Float | None
    ) -> tuple[dict[int, int], list[tuple[int, Float]]]:
        """Sources by person index, and (source, descriptor) pairs."""
        for source, _ in mapping:
            if not 0 <= source < self._sources:
                raise MappingUnresolved(f"There is no source {source}: {self._sources} given, counted from 0.")
        indices: dict[int, int] = {}
        references: list[tuple[int, Float]] = []
        pairs: list[tuple[int, Selector]] = list(mapping)
        if not pairs and self.rule.kind == "index":
            if self._sources > len(self.rule.indices):
                raise TooManySources(f"{self._sources} sources, {len(self.rule.indices)} face(s) in --faces.")
            pairs = [(k % self._sources, n) for k, n in enumerate(self.rule.indices)]
        if not pairs and self.rule.kind == "like":
            if like is None:
                raise InvalidOption("--faces like:IMAGE needs a face in IMAGE.")
            if self._sources > 1:
                raise TooManySources(f"{self._sources} sources, one face in --faces like:IMAGE.")
            pairs = [(0, like)]
        for source, selector in pairs:
            if isinstance(selector, np.ndarray):
                references.append((source, selector))
            elif indices.setdefault(selector, source) != source:
                raise MappingUnresolved(f"Two sources are mapped to face {selector}.")
        if not pairs and self.rule.kind == "largest" and self._sources > 1:
            raise TooManySources(f"{self._sources} sources, one face with --faces largest.")
        return indices, references

    def _number(self, faces: Sequence[Face]) -> None:
        for face in sorted(faces, key=lambda f: float(f.points[:468, 0].mean())):
            self._order.setdefault(face.track_id, len(self._order))

    def _take_largest(self, frames: Sequence[Sequence[Face]]) -> None:
        if self._given:
            return
        area: dict[int, float] = {}
        for face in (face for faces in frames for face in faces):
            area[face.track_id] = area.get(face.track_id, 0.0) + face.size_px**2
        if area:
            self._given[max(area, key=lambda n: area[n])] = 0

    def _match(self, frames: Sequence[Sequence[Face]]) -> None:
        """Give each reference the nearest person that is near enough; a person keeps what it was given."""
        for face in (face for faces in frames for face in faces):
            if face.identity is None or self._given.get(face.track_id) is not None:
                continue
            ranked = sorted((distance(face.identity, d), k) for k, (_, d) in enumerate(self._references))
            self._best_distance = min(self._best_distance, ranked[0][0])
            if ranked[0][0] <= SAME_PERSON and face.track_id not in self._indices:
                self._resolved.add(ranked[0][1])
                self._given[face.track_id] = self._references[ranked[0][1]][0]

    def _source_of(self, number: int) -> int | None:
        place = self._order[number]
        if self._indices or self._references:
            return self._given.get(number, self._indices.get(place))
        match self.rule.kind:
            case "largest":
                return self._given.get(number)
            case "all":
                return place % self._sources
            case _:
                return place if place < self._sources else None
