"""Who gets which source: rules, mappings, references, and that a decision stays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.errors import InvalidOption, MappingUnresolved, ReferenceFaceNotFound, TooManySources
from secondface.frames import Face
from secondface.spec.faces import FaceRule
from secondface.vision.choose import FaceChooser

Identity = np.ndarray


def who(*parts: float) -> Identity:
    return np.array([*parts, *[0.0] * (128 - len(parts))], np.float32)


ANNA, BEN, CLEO = who(1.0), who(0, 1.0), who(0, 0, 1.0)


def face(number: int, x: float, size: float = 100, identity: Identity | None = None) -> Face:
    points = np.zeros((478, 3), np.float32)
    points[:468, 0] = np.linspace(x - size / 2, x + size / 2, 468)
    points[:468, 1] = np.linspace(0, size, 468)
    return Face(points, 1.0, number, identity)


def run(chooser: FaceChooser, frames: Sequence[Sequence[Face]]) -> list[dict[int, int | None]]:
    out: list[dict[int, int | None]] = []
    for faces in frames:
        chooser.choose(faces)
        out.append({f.track_id: f.source for f in faces})
    return out


def test_one_source_goes_to_the_largest_and_stays_there():
    frames = [[face(0, 100, 80), face(1, 300, 120)], [face(0, 100, 300), face(1, 300, 60)], [face(0, 100, 300)]]
    assert run(FaceChooser(1), frames) == [{0: None, 1: 0}, {0: None, 1: 0}, {0: None}]


def test_largest_over_a_whole_batch_not_in_one_frame():
    frames = [[face(0, 100, 130), face(1, 300, 120)], *([[face(0, 100, 80), face(1, 300, 120)]] * 7)]
    chooser = FaceChooser(1, "largest")
    chooser.choose_batch(frames)
    assert all([f.source for f in faces] == [None, 0] for faces in frames)


def test_two_sources_go_left_to_right_by_first_appearance():
    first = [face(7, 400), face(3, 100)]
    swapped_places = [face(7, 50), face(3, 500)]
    assert run(FaceChooser(2), [first, swapped_places]) == [{7: 1, 3: 0}, {7: 1, 3: 0}]


def test_who_comes_later_gets_the_next_source_and_then_nobody():
    frames = [[face(0, 300)], [face(0, 300), face(1, 100)], [face(2, 10), face(1, 100)]]
    assert run(FaceChooser(2), frames) == [{0: 0}, {0: 0, 1: 1}, {2: None, 1: 1}]


def test_a_face_noticed_a_frame_late_in_the_batch_is_still_ordered_from_the_left():
    frames = [[face(0, 300)], [face(0, 300), face(1, 100)]]
    chooser = FaceChooser(2)
    chooser.choose_batch(frames)
    assert [f.source for f in frames[1]] == [1, 0]


def test_a_person_of_the_next_shot_comes_after_those_of_the_first():
    frames = [[face(0, 300)], [face(1, 100)]]
    chooser = FaceChooser(2)
    chooser.choose_batch(frames)
    assert [faces[0].source for faces in frames] == [0, 1]


def test_passers_by_get_no_source_while_there_are_enough_people():
    crowd = [face(0, 50, 20), face(1, 200, 100), face(2, 400, 110), face(3, 600, 24)]
    assert run(FaceChooser(2), [crowd]) == [{0: None, 1: 0, 2: 1, 3: None}]
    assert run(FaceChooser(2), [[face(0, 50, 20), face(1, 200, 100)]]) == [{0: 0, 1: 1}]


def test_all_with_one_source_and_with_several():
    people = [[face(k, 100 * k) for k in range(5)]]
    assert run(FaceChooser(1, "all"), people) == [dict.fromkeys(range(5), 0)]
    assert run(FaceChooser(2, "all"), people) == [{0: 0, 1: 1, 2: 0, 3: 1, 4: 0}]


def test_positions():
    people = [[face(k, 100 * (5 - k)) for k in range(4)]]
    assert run(FaceChooser(1, "0,2"), people) == [{3: 0, 2: None, 1: 0, 0: None}]
    assert run(FaceChooser(2, FaceRule.parse("2,0")), people) == [{3: 1, 2: None, 1: 0, 0: None}]


def test_like_follows_the_person():
    frames = [
        [face(0, 100, identity=BEN), face(1, 300, identity=who(0.9))],
        [face(0, 400), face(1, 50)],
        [face(2, 200, 500, identity=CLEO)],
    ]
    chooser = FaceChooser(1, "like:anna.png", like=ANNA)
    assert run(chooser, frames) == [{0: None, 1: 0}, {0: None, 1: 0}, {2: None}]
    chooser.finish()


def test_like_takes_the_nearer_of_two_who_would_do():
    chooser = FaceChooser(1, "like:anna.png", like=ANNA)
    assert run(chooser, [[face(0, 0, identity=who(0.7)), face(1, 200, identity=who(0.9))]]) == [{0: None, 1: 0}]


def test_like_takes_the_nearer_though_the_other_was_described_first():
    frames = [[face(0, 0, identity=who(0.6)), face(1, 200)], [face(0, 0), face(1, 200, identity=who(0.9))]]
    chooser = FaceChooser(1, "like:anna.png", like=ANNA)
    chooser.choose_batch(frames)
    assert [[f.source for f in faces] for faces in frames] == [[None, 0], [None, 0]]


def test_like_moves_on_when_the_one_who_is_meant_comes_in():
    chooser = FaceChooser(1, "like:anna.png", like=ANNA)
    frames = [[face(0, 0, identity=who(0.55))], [face(1, 200, identity=who(0.95))], [face(0, 0), face(1, 200)]]
    assert run(chooser, frames) == [{0: 0}, {1: 0}, {0: None, 1: 0}]
    chooser.finish()


def test_like_waits_for_the_one_who_is_foreseen():
    chooser = FaceChooser(1, "like:anna.png", like=ANNA)
    chooser.foresee([0.05])
    assert run(chooser, [[face(0, 0, identity=who(0.55))], [face(1, 200, identity=who(0.95))]]) == [{0: None}, {1: 0}]


def test_like_leaves_a_lookalike_who_comes_later_alone():
    chooser = FaceChooser(1, "like:anna.png", like=ANNA)
    assert run(chooser, [[face(0, 0, identity=who(0.95))], [face(1, 0, identity=who(0.55))]]) == [{0: 0}, {1: None}]


def test_like_finds_the_same_person_again_under_another_number():
    chooser = FaceChooser(1, "like:anna.png", like=ANNA)
    assert run(chooser, [[face(0, 0, identity=ANNA)], [face(5, 0, identity=who(0.8))]]) == [{0: 0}, {5: 0}]


def test_mapping_by_position_and_by_reference_in_one_pass():
    frames = [[face(0, 100, identity=BEN), face(1, 300, identity=CLEO), face(2, 500, identity=ANNA)]]
    chooser = FaceChooser(2, mapping=[(1, 0), (0, ANNA)])
    assert run(chooser, frames) == [{0: 1, 1: None, 2: 0}]
    chooser.finish()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_mapping_follows_the_sources_in_any_order(order: tuple[int, int]):
    frames = [[face(0, 100, identity=BEN), face(1, 300, identity=CLEO)]] * 2
    chooser = FaceChooser(2, mapping=[(order[0], BEN), (order[1], CLEO)])
    assert run(chooser, frames) == [{0: order[0], 1: order[1]}] * 2


def test_one_source_may_go_to_two_people():
    chooser = FaceChooser(1, mapping=[(0, 0), (0, 2)])
    assert run(chooser, [[face(k, 100 * k) for k in range(3)]]) == [{0: 0, 1: None, 2: 0}]


def test_more_sources_than_people():
    chooser = FaceChooser(2)
    chooser.choose([face(0, 100)])
    with pytest.raises(TooManySources):
        chooser.finish()


@pytest.mark.parametrize("rule", ["largest", "1", "like:x.png"])
def test_more_sources_than_the_rule_can_use_is_known_at_once(rule: str):
    with pytest.raises(TooManySources):
        FaceChooser(2, rule, like=ANNA)


def test_a_mapping_that_cannot_be():
    with pytest.raises(MappingUnresolved):
        FaceChooser(1, mapping=[(1, 0)])
    with pytest.raises(MappingUnresolved):
        FaceChooser(2, mapping=[(0, 0), (1, 0)])
    with pytest.raises(InvalidOption):
        FaceChooser(1, "like:x.png")
    with pytest.raises(InvalidOption):
        FaceChooser(1, "the tall one")


def test_an_index_that_nobody_had():
    chooser = FaceChooser(1, "3")
    chooser.choose([face(0, 100)])
    with pytest.raises(MappingUnresolved):
        chooser.finish()


def test_a_reference_that_nobody_looked_like():
    chooser = FaceChooser(1, mapping=[(0, ANNA)])
    chooser.choose([face(0, 100, identity=BEN), face(1, 200)])
    with pytest.raises(ReferenceFaceNotFound):
        chooser.finish()


def test_finish_says_nothing_where_no_face_was_seen():
    for chooser in (FaceChooser(2), FaceChooser(1, "like:x.png", like=ANNA)):
        chooser.choose([])
        chooser.finish()
        assert chooser.people == 0


@given(
    st.integers(1, 3),
    st.sampled_from(["largest", "all", "left-to-right", "0,1,2"]),
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 5), st.floats(0, 900), st.floats(20, 400)), max_size=4, unique_by=lambda t: t[0]
        ),
        max_size=20,
    ),
    st.integers(1, 8),
)
def test_nobody_ever_changes_source_and_no_source_flickers(
    sources: int, rule: str, story: list[list[tuple[int, float, float]]], group: int
):
    if rule == "largest":
        sources = 1
    chooser = FaceChooser(sources, rule)
    frames = [[face(*one) for one in faces] for faces in story]
    for k in range(0, len(frames), group):
        chooser.choose_batch(frames[k : k + group])
    given_to: dict[int, int | None] = {}
    for faces in frames:
        for one in faces:
            assert given_to.setdefault(one.track_id, one.source) == one.source
    if rule in {"largest", "left-to-right"}:
        used = [source for source in given_to.values() if source is not None]
        assert len(used) == len(set(used))
