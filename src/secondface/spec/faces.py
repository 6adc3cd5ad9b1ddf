"""Which faces of the target are meant, and which source goes where: the words for both.

Decides what the words mean; must not look at a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from secondface.errors import InvalidOption, MappingUnresolved

RuleKind = Literal["auto", "largest", "all", "left-to-right", "index", "like"]
_WORDS: dict[str, RuleKind] = {
    "auto": "auto", "largest": "largest", "all": "all", "left-to-right": "left-to-right"
}  # fmt: skip


_LONGEST_POSITION = 6


class FaceRule(BaseModel):
    """Which faces are chosen: `largest`, `all`, `left-to-right`, `0,2` (from the left) or `like:IMAGE`.

    `auto` is the largest face for one source, left to right for several, and all without a source.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: RuleKind = "auto"
    indices: tuple[int, ...] = Field(default=(), description="Positions from the left, from 0; only with kind indices.")
    like: Path | None = Field(default=None, description="A picture of the person meant; only with kind like.")

    @model_validator(mode="after")
    def _complete(self) -> FaceRule:
        if (self.kind == "index") != bool(self.indices) or (self.kind == "like") != (self.like is not None):
            raise InvalidOption("faces: `indices` needs positions and `like` needs a picture, other rules neither.")
        return self

    @classmethod
    def parse(cls, text: object) -> FaceRule:
        """Read the words of a rule. Raises InvalidOption."""
        if not isinstance(text, str):
            raise InvalidOption(
                f"faces: give a text such as 'all' or '0,2', not {type(text).__name__}.", option="faces"
            )
        word = text.strip()
        if word.lower() in _WORDS:
            return cls(kind=_WORDS[word.lower()])
        if word.lower().startswith("like:") and word[5:].strip():
            return cls(kind="like", like=Path(word[5:].strip()))
        parts = [part.strip() for part in word.split(",")]
        numbers = tuple(number for part in parts if (number := _position(part)) is not None)
        if len(set(numbers)) == len(parts):
            return cls(kind="index", indices=numbers)
        raise InvalidOption(
            f"faces={text!r}: write largest, all, left-to-right, numbers such as 0,2, or like:IMAGE.", option="faces"
        )

    def for_sources(self, sources: int) -> FaceRule:
        """The rule with `auto` decided by the number of source people; without any, all faces are meant."""
        if self.kind != "auto":
            return self
        kinds: tuple[RuleKind, ...] = ("all", "largest", "left-to-right")
        return FaceRule(kind=kinds[min(sources, 2)])

    def most_faces(self) -> int | None:
        """How many faces the rule can choose at most; None if only the pixels can tell."""
        match self.kind:
            case "largest" | "like":
                return 1
            case "index":
                return len(self.indices)
            case "auto" | "all" | "left-to-right":
                return None

    def __str__(self) -> str:
        match self.kind:
            case "index":
                return ",".join(map(str, self.indices))
            case "like":
                return f"like:{self.like}"
            case word:
                return word


class FaceMapping(BaseModel):
    """One entry of a mapping: a source goes to the face at `index`, or to the person who looks like `like`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: int = Field(ge=0, description="Which source person, from 0 in the order given.")
    index: int | None = Field(default=None, ge=0, description="Position of the face from the left, from 0.")
    like: Path | None = Field(default=None, description="A picture of the person whose face is replaced.")

    @model_validator(mode="after")
    def _one_goal(self) -> FaceMapping:
        if (self.index is None) == (self.like is None):
            raise MappingUnresolved("A mapping names either the position of a face or a reference picture.")
        return self


def parse_mapping(entry: object, source_images: Sequence[Sequence[Path]]) -> FaceMapping:
    """Read `SOURCE=INDEX` or `SOURCE=IMAGE`, SOURCE a source's path, file name or number. Raises MappingUnresolved.

    A path may hold `=`, so the entry is cut at the first `=` whose left side is a source.
    """
    if not isinstance(entry, str):
        raise MappingUnresolved(f"A mapping is a text such as 'ann.jpg=1', not {type(entry).__name__}.")
    cuts = [at for at, sign in enumerate(entry) if sign == "="]
    for at in cuts:
        person = _person_of(entry[:at].strip(), source_images)
        goal = entry[at + 1 :].strip()
        if person is not None and goal:
            if (index := _position(goal)) is not None:
                return FaceMapping(source=person, index=index)
            return FaceMapping(source=person, like=Path(goal))
    known = ", ".join(str(image) for person in source_images for image in person)
    raise MappingUnresolved(f"mapping {entry!r}: the left side is none of the sources ({known}).", entry=entry)


def _person_of(name: str, source_images: Sequence[Sequence[Path]]) -> int | None:
    if not name:
        return None
    by_path = [Path(name) in images for images in source_images]
    by_file_name = [any(image.name == name for image in images) for images in source_images]
    for matches in (by_path, by_file_name):
        if matches.count(True) == 1:
            return matches.index(True)
    number = _position(name)
    return number if number is not None and number < len(source_images) else None


def _position(word: str) -> int | None:
    """A number that can be a position; a longer row of digits is more likely a file's name."""
    return int(word) if word.isdecimal() and len(word) <= _LONGEST_POSITION else None
