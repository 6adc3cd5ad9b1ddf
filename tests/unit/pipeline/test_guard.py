"""What a guard looks at, and what follows: by a judge that the test itself is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest

from secondface.errors import ContentRefused, ModelMissing, SourceProtected
from secondface.frames import ArrayFrame, Float, Frame, Session, Sessions, StreamInfo
from secondface.pipeline.guard import Guard
from secondface.pipeline.moderation import UNJUDGED, Opinion, Sample
from secondface.pipeline.passage import Casting, Conduct, pass_frames
from secondface.pipeline.people import Picture
from secondface.spec.faces import FaceRule
from secondface.spec.graph import PipelineSpec, compile_pipeline
from secondface.spec.moderation import ContentRules
from secondface.vision.protected import POSSIBLY, SURELY, KnownPerson
from secondface.vision.scene import following

RATE = 10


class Nothing(Sessions):
    """No models: this judge needs none."""

    def get(self, name: str) -> Session:
        raise ModelMissing(name)


class Judge:
    """Says of each picture how bright it is, by the rule `bright`, and keeps what it was asked."""

    def __init__(self, at_once: int = 1, opinions: Sequence[Opinion] | None = None) -> None:
        self.at_once, self.opinions = at_once, opinions
        self.asked: list[Sample] = []

    def judge(self, samples: Sequence[Sample], sessions: Sessions) -> Sequence[Sequence[Opinion]]:
        self.asked += samples
        return [self.opinions or [Opinion(rule="bright", score=float(each.rgb.mean()) / 255)] for each in samples]


def noise(seed: int, bright: int = 100) -> np.ndarray:
    made = np.random.default_rng(seed).integers(0, 60, (90, 120, 3))
    return np.clip(made.repeat(4, 0).repeat(4, 1)[:90, :120] + bright - 30, 0, 255).astype(np.uint8)


def film(shots: Sequence[tuple[int, int]]) -> Iterator[Frame]:
    """Shots of so many frames and brightness, ten frames a second."""
    index = 0
    for number, (length, bright) in enumerate(shots):
        for _ in range(length):
            yield ArrayFrame(noise(number, bright), index, index, Fraction(1, RATE))
            index += 1


def watched(guard: Guard, frames: Iterator[Frame]) -> list[int]:
    return [work.frame.index for work in guard.watch(following(frames), "clip.mp4", Nothing())]


def test_the_first_the_last_each_second_and_what_follows_a_cut() -> None:
    judge = Judge()
    assert watched(Guard(judge, ContentRules()), film([(17, 60), (18, 60)])) == list(range(35))
    assert [each.place.frame for each in judge.asked] == [0, 10, 17, 27, 34]
    assert [each.place.at_ms for each in judge.asked] == [0, 1000, 1700, 2700, 3400]


@pytest.mark.parametrize("step", [Fraction(0), Fraction(1, 10_000), Fraction(-1, 10)])
def test_frames_that_claim_to_be_shown_at_once_are_judged_all_the_same(step: Fraction) -> None:
    """A file says what it likes of its times: browsers show a frame of no length for a tenth of a second."""
    judge = Judge()
    frames = (ArrayFrame(noise(0), index, index, step) for index in range(150))
    assert watched(Guard(judge, ContentRules()), frames) == list(range(150))
    assert [each.place.frame for each in judge.asked] == [0, 60, 120, 149]


@pytest.mark.parametrize("shots", [[(1, 60)], [(2, 60)], [(11, 60)]])
def test_no_frame_is_judged_twice(shots: list[tuple[int, int]]) -> None:
    judge = Judge(at_once=4)
    watched(Guard(judge, ContentRules()), film(shots))
    asked = [each.place.frame for each in judge.asked]
    assert asked == sorted(set(asked))
    assert {0, shots[0][0] - 1} <= set(asked)


def test_an_empty_film_is_nothing_to_judge() -> None:
    judge = Judge()
    assert watched(Guard(judge, ContentRules()), iter(())) == []
    assert judge.asked == []


def test_a_refusal_names_rule_frame_and_time_and_ends_the_film_there() -> None:
    guard, passed = Guard(Judge(), ContentRules(hold_permille=None, refuse_permille=600)), list[int]()
    with pytest.raises(ContentRefused) as refused:
        for work in guard.watch(following(film([(17, 60), (18, 220)])), "clip.mp4", Nothing()):
            passed.append(work.frame.index)
    assert refused.value.detail.startswith("clip.mp4: the rule bright refuses frame 17 at 1.700 s, ")
    assert passed == list(range(17))
    (found,) = guard.findings
    assert (found.rule, found.verdict, found.input, found.frame, found.at_ms) == (
        "bright",
        "refuse",
        "target",
        17,
        1700,
    )
    assert found.score_permille is not None and 600 <= found.score_permille <= 1000


def test_the_last_frame_passes_only_when_all_were_judged() -> None:
    """A judge that is asked for many at once has the last word before the film is whole."""
    guard, passed = Guard(Judge(at_once=50), ContentRules(refuse_permille=600)), list[int]()
    with pytest.raises(ContentRefused, match="frame 17"):
        for work in guard.watch(following(film([(17, 60), (18, 220)])), "c", Nothing()):
            passed.append(work.frame.index)
    assert 34 not in passed


def test_a_doubt_lets_the_film_pass_and_is_kept() -> None:
    guard = Guard(Judge(), ContentRules(hold_permille=600, refuse_permille=None))
    assert len(watched(guard, film([(17, 60), (8, 200), (8, 220)]))) == 33
    assert [each.verdict for each in guard.findings] == ["hold"] * len(guard.findings)
    assert {each.frame for each in guard.findings} == {17, 25, 32}
    scores = [each.score_permille or 0 for each in guard.findings]
    assert scores == sorted(scores, reverse=True)


def test_without_thresholds_only_the_judge_itself_refuses() -> None:
    free = ContentRules(hold_permille=None, refuse_permille=None)
    assert len(watched(Guard(Judge(), free), film([(5, 255)]))) == 5
    says = Judge(opinions=[Opinion(rule="house.rule", verdict="refuse")])
    with pytest.raises(ContentRefused, match=r"the rule house\.rule refuses frame 0 at 0\.000 s"):
        watched(Guard(says, free), film([(5, 60)]))


def test_where_nobody_reviews_a_doubt_is_a_refusal() -> None:
    doubts = Judge(opinions=[Opinion(rule="x", verdict="hold")])
    with pytest.raises(ContentRefused):
        watched(Guard(doubts, ContentRules(reviewed=False)), film([(5, 60)]))


def test_many_findings_are_cut_to_the_worst() -> None:
    guard = Guard(Judge(), ContentRules(hold_permille=1, refuse_permille=None))
    watched(guard, film([(400, 60)]))
    assert len(guard.findings) == 20


# ---- sources ---------------------------------------------------------------------------------------------------------


def face(gap: float) -> Float:
    """A descriptor at that distance from the protected one."""
    made = np.zeros(128, np.float32)
    made[3] = gap
    return made


KNOWN = [
    KnownPerson("prot_far", np.full((2, 128), 1, np.float32)),
    KnownPerson("prot_1", np.stack([np.full(128, 1, np.float32), face(0)])),
]
PICTURE = Picture("me.png", noise(0))


def test_a_protected_face_is_no_source() -> None:
    guard = Guard(None, ContentRules(), KNOWN)
    with pytest.raises(SourceProtected, match=r"me\.png: the rule protected") as refused:
        guard.look(2, PICTURE, face(SURELY - 0.01), Nothing())
    assert "prot" not in refused.value.detail.replace("protected", "")
    assert [(each.rule, each.verdict, each.input) for each in guard.findings] == [("protected", "refuse", "source 2")]


def test_a_lookalike_is_for_a_reviewer_and_others_pass() -> None:
    guard = Guard(None, ContentRules(), KNOWN)
    guard.look(0, PICTURE, face((SURELY + POSSIBLY) / 2), Nothing())
    guard.look(1, PICTURE, face(POSSIBLY + 0.01), Nothing())
    guard.look(3, PICTURE, None, Nothing())
    assert [(each.rule, each.verdict, each.input) for each in guard.findings] == [("protected", "hold", "source 0")]


def test_who_was_put_on_the_list_since_is_found_among_remembered_people() -> None:
    earlier = Guard(Judge(), ContentRules()).look(0, PICTURE, face(0.1), Nothing())
    with pytest.raises(SourceProtected):
        Guard(Judge(), ContentRules(), KNOWN).check([earlier])


def test_remembered_opinions_are_weighed_by_the_rules_of_the_run() -> None:
    judge = Judge()
    earlier = Guard(judge, ContentRules()).look(0, PICTURE, None, Nothing())
    strict = Guard(judge, ContentRules(refuse_permille=100))
    assert not strict.lacks([earlier])
    with pytest.raises(ContentRefused, match=r"me\.png: the rule bright refuses it, "):
        strict.check([earlier])
    assert len(judge.asked) == 1


def test_a_judge_that_was_away_is_asked_again() -> None:
    away = Judge(opinions=[Opinion(rule=UNJUDGED, verdict="hold")])
    guard = Guard(away, ContentRules())
    earlier = guard.look(0, PICTURE, None, Nothing())
    assert [each.rule for each in guard.findings] == [UNJUDGED]
    assert guard.lacks([earlier])


@pytest.mark.parametrize(("steps", "judged"), [("colour", True), ("label", False)])
def test_who_only_marks_a_film_makes_nothing_that_would_be_judged(steps: str, judged: bool) -> None:
    judge = Judge()
    plan = compile_pipeline(PipelineSpec.parse_list(steps), 0)
    passed = list[int]()
    pass_frames(
        plan, Casting([], FaceRule.parse("all"), allow_no_face=True), StreamInfo(120, 90, 35, is_still=False),
        film([(17, 60), (18, 60)]), lambda frame: passed.append(frame.index),
        conduct=Conduct(Nothing(), guard=Guard(judge, ContentRules())),
    )  # fmt: skip
    assert passed == list(range(35))
    assert [each.place.frame for each in judge.asked] == ([0, 10, 17, 27, 34] if judged else [])
