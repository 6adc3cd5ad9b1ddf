"""What rules of faces and mappings mean, and what is refused before a file is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondface.errors import InvalidOption, MappingUnresolved
from secondface.spec.faces import FaceMapping, FaceRule, parse_mapping


@pytest.mark.parametrize("words", ["auto", "largest", "all", "left-to-right", "0", "2,0", "like:a b=c.jpg"])
def test_a_rule_reads_its_own_words(words: str) -> None:
    assert str(FaceRule.parse(words)) == words


@pytest.mark.parametrize("words", ["biggest", "1,1", "-1", "1,", "like:", "like: ", "0 2", "1.5", "9" * 5000])
def test_other_words_are_refused(words: str) -> None:
    with pytest.raises(InvalidOption, match="faces="):
        FaceRule.parse(words)


@pytest.mark.parametrize(("sources", "kind"), [(0, "all"), (1, "largest"), (2, "left-to-right"), (3, "left-to-right")])
def test_auto_depends_on_the_number_of_sources(sources: int, kind: str) -> None:
    assert FaceRule().for_sources(sources).kind == kind
    assert FaceRule.parse("0").for_sources(sources).kind == "index"


SOURCES = [[Path("in/a=1.jpg")], [Path("b.jpg"), Path("b2.jpg")], [Path("other/c.png")]]


@pytest.mark.parametrize(
    ("entry", "source", "goal"),
    [
        ("in/a=1.jpg=0", 0, 0),
        ("a=1.jpg=2", 0, 2),
        ("b2.jpg=1", 1, 1),
        ("2=0", 2, 0),
        ("2=" + "9" * 5000, 2, Path("9" * 5000)),
        ("c.png=who=is it.jpg", 2, Path("who=is it.jpg")),
        ("./b.jpg=3", 1, 3),
    ],
)
def test_a_mapping_is_read(entry: str, source: int, goal: int | Path) -> None:
    expected = (
        FaceMapping(source=source, index=goal) if isinstance(goal, int) else FaceMapping(source=source, like=goal)
    )
    assert parse_mapping(entry, SOURCES) == expected


@pytest.mark.parametrize("entry", ["", "b.jpg", "b.jpg=", "=1", "nobody.jpg=0", "3=0", "a=0"])
def test_a_mapping_that_names_nobody_is_refused(entry: str) -> None:
    with pytest.raises(MappingUnresolved):
        parse_mapping(entry, SOURCES)


def test_a_file_name_that_two_people_share_is_not_guessed() -> None:
    with pytest.raises(MappingUnresolved):
        parse_mapping("me.jpg=0", [[Path("a/me.jpg")], [Path("b/me.jpg")]])
