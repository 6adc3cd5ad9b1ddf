"""Source people are prepared once for the same pictures, and never mistaken for others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from secondface.errors import NoFaceInSource
from secondface.pipeline.people import PeopleMemory, Picture, SourcePeople


def picture(name: str, code: int) -> Picture:
    return Picture(name, np.full((4, 4, 3), code, np.uint8))


def counting(built: list[str], name: str) -> Callable[[], SourcePeople]:
    def build() -> SourcePeople:
        built.append(name)
        return SourcePeople((), (name,))

    return build


def test_the_same_pictures_are_built_once() -> None:
    memory, built = PeopleMemory(), []
    for _ in range(3):
        assert memory.recall([[picture("a", 1)]], counting(built, "a")).notes == ("a",)
    assert built == ["a"]


@pytest.mark.parametrize(
    "other",
    [
        [[picture("a", 3), picture("b", 2)]],
        [[picture("a", 1)], [picture("b", 2)]],
        [[picture("b", 2), picture("a", 1)]],
        [[picture("c", 1), picture("b", 2)]],
        [[picture("a", 1)]],
    ],
    ids=["pixels", "people", "order", "name", "fewer"],
)
def test_other_pictures_are_other_people(other: list[list[Picture]]) -> None:
    memory, built = PeopleMemory(), []
    memory.recall([[picture("a", 1), picture("b", 2)]], counting(built, "first"))
    assert memory.recall(other, counting(built, "second")).notes == ("second",)
    assert built == ["first", "second"]


def test_the_ones_not_used_for_longest_are_forgotten() -> None:
    memory, built = PeopleMemory(most=2), []
    for code in (1, 2, 1, 3, 1, 2):
        memory.recall([[picture("a", code)]], counting(built, str(code)))
    assert built == ["1", "2", "3", "2"]


def test_a_failure_is_not_remembered() -> None:
    memory, built = PeopleMemory(), []

    def fail() -> SourcePeople:
        raise NoFaceInSource

    with pytest.raises(NoFaceInSource):
        memory.recall([[picture("a", 1)]], fail)
    assert memory.recall([[picture("a", 1)]], counting(built, "a")).notes == ("a",)
