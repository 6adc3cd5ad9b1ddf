"""What a caged run shows and what is signed of it: judged and signed outside, whatever the run makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from secondface.domain.jobs import Job
from secondface.domain.protected import Protected, ProtectedPeople
from secondface.errors import ModerationUnavailable
from secondface.fleet.attempt import Terms
from secondface.fleet.caged_runs import RUN
from secondface.fleet.guards import Guards
from secondface.fleet.runs import DirectRuns, Runs
from secondface.frames import Sessions
from secondface.media.cage import worker_cage_reason
from secondface.pipeline.moderation import BuiltInModeration, Moderation, Opinion, Sample
from secondface.pipeline.people import Picture, describe_source
from secondface.pipeline.verification import verify_file
from secondface.provenance.signing import ContentSigner
from secondface.spec.graph import PipelineSpec
from secondface.spec.moderation import ContentRules
from secondface.vision.track import FaceTracker
from tests.conformance.test_moderation import Judge as Server
from tests.conformance.test_moderation import client
from tests.signed_files import key_in
from tests.unit.fleet.caged_shop import Shop, opened
from tests.unit.fleet.workshop import face, models

pytestmark = pytest.mark.skipif(worker_cage_reason() is not None, reason=f"no cage here: {worker_cage_reason()}")


class Judge:
    """Keeps what it was shown, and says what the test wants."""

    at_once = 3

    def __init__(self, say: Callable[[Sample], Sequence[Opinion]] = lambda _: ()) -> None:
        self.say, self.shown = say, list[Sample]()

    def judge(self, samples: Sequence[Sample], sessions: Sessions) -> Sequence[Sequence[Opinion]]:
        self.shown += samples
        return [self.say(each) for each in samples]


class Listed:
    """A list of protected people with one entry, once there is one."""

    def __init__(self) -> None:
        self.people: tuple[Protected, ...] = ()

    def since(self, version: str) -> ProtectedPeople | None:
        return ProtectedPeople(f"v{len(self.people)}", self.people) if version != f"v{len(self.people)}" else None


@pytest.fixture(scope="module")
def real_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from opened(tmp_path_factory.mktemp("real"), walls=False, task=RUN)


@pytest.fixture(scope="module")
def hostile_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    yield from opened(tmp_path_factory.mktemp("hostile"), walls=False)


@pytest.fixture
def real(real_shop: Shop) -> Iterator[Shop]:
    yield from fresh(real_shop)


@pytest.fixture
def hostile(hostile_shop: Shop) -> Iterator[Shop]:
    yield from fresh(hostile_shop)


def fresh(shop: Shop) -> Iterator[Shop]:
    terms, guards, people = shop.terms, shop.guards, shop.people
    shop.people = type(people)()
    yield shop
    shop.terms, shop.guards, shop.people = terms, guards, people


def judged(shop: Shop, moderation: Moderation, runs: Runs | None = None, **order: object) -> Job:
    shop.guards = Guards(moderation)
    return shop.run(shop.attempt(runs, **order))


# ---- what is shown ---------------------------------------------------------------------------------------------------


def test_a_guard_outside_sees_what_one_inside_would(real: Shop) -> None:
    inside, outside = Judge(), Judge()
    assert judged(real, inside, DirectRuns()).state == "succeeded"
    assert judged(real, outside).state == "succeeded"
    assert [each.place.input for each in outside.shown] == ["source 0", "target"]
    assert [each.place for each in outside.shown] == [each.place for each in inside.shown]
    for one, other in zip(outside.shown, inside.shown, strict=True):
        np.testing.assert_array_equal(one.rgb, other.rgb)


def test_the_model_of_the_package_judges_on_the_shared_device(real: Shop) -> None:
    job = judged(real, BuiltInModeration())
    assert (job.state, job.findings) == ("succeeded", ())
    strict = judged(real, BuiltInModeration(), rules=ContentRules(hold_permille=None, refuse_permille=1))
    assert (strict.state, strict.error) == ("failed", "content_refused")


def test_a_doubt_is_kept_with_the_job(real: Shop) -> None:
    doubt = Judge(lambda each: [Opinion(rule="house", score=0.6)] if each.place.input == "target" else [])
    job = judged(real, doubt)
    assert job.state == "held"
    assert [(each.rule, each.verdict, each.input) for each in job.findings] == [("house", "hold", "target")]


def test_who_only_marks_a_picture_shows_nothing(real: Shop) -> None:
    judge = Judge()
    job = judged(real, judge, sources=(), pipeline=PipelineSpec.parse_list("label"))
    assert (job.state, job.attempts[0].error) == ("succeeded", None)
    assert judge.shown == []


@pytest.mark.parametrize("where", ["source 0", "target"])
def test_a_refusal_is_the_callers_and_says_what_was_found(real: Shop, where: str) -> None:
    job = judged(
        real, Judge(lambda each: [Opinion(rule="house", verdict="refuse")] if each.place.input == where else [])
    )
    assert (job.state, job.error, job.attempts[0].fault) == ("failed", "content_refused", "caller")
    assert [(each.rule, each.verdict, each.input) for each in job.findings] == [("house", "refuse", where)]
    assert real.shop.results(job.id) == []


def test_a_judge_at_an_address_is_asked_from_outside(real: Shop) -> None:
    server = Server()
    try:
        assert judged(real, client(server)).state == "succeeded"
        asked = [picture["input"] for body in server.bodies for picture in body["pictures"]]
        assert asked == ["source 0", "target"]
    finally:
        server.stop()
    away = judged(real, client(server, timeout_s=0.2))
    assert (away.state, away.attempts[0].error) == ("queued", "moderation_unavailable")
    real.shop.requests.cancel(real.shop.owner, away.id)
    flagged = judged(real, client(server, timeout_s=0.2, flags=True))
    assert flagged.state == "held"


def test_who_was_put_on_the_list_since_is_found_among_remembered_people(real: Shop) -> None:
    listed, judge = Listed(), Judge()
    real.guards = Guards(judge, listed)
    assert real.run(real.attempt()).state == "succeeded"
    assert real.people.packed
    assert real.run(real.attempt()).state == "succeeded"
    shown = [each.place.input for each in judge.shown]
    assert shown == ["source 0", "target", "target"], "the source was judged before"
    decoded = np.asarray(cv2.imdecode(np.frombuffer(face("a"), np.uint8), cv2.IMREAD_COLOR))
    picture = np.ascontiguousarray(decoded[..., ::-1])
    known = describe_source(Picture("a", picture), FaceTracker(models()))
    listed.people = (Protected(id="prot_1", descriptors=(tuple(map(float, known)),)),)
    job = real.run(real.attempt())
    assert (job.state, job.error) == ("failed", "source_protected")
    assert [(each.rule, each.input) for each in job.findings] == [("protected", "source 0")]


# ---- what is not believed --------------------------------------------------------------------------------------------

JUDGE = {"ask": "judge", "moments": [{"frame": 0, "at_ms": None}]}
CHECK = {"ask": "check", "pictures": []}


def shows(shop: Shop, moderation: Moderation, *words: object, shapes: object = ()) -> Job:
    shop.guards = Guards(moderation)
    return shop.does("show", words=words, shapes=shapes)


def test_a_run_that_shows_all_is_let_through(hostile: Shop) -> None:
    judge = Judge()
    job = shows(hostile, judge, {"ask": "look", "identity": [0.5] * 128}, CHECK, JUDGE, shapes=[[40, 60, 3]])
    assert job.state == "succeeded", job.attempts
    assert [each.rgb.mean() for each in judge.shown] == [200, 200]


@pytest.mark.parametrize("words", [[], [{**CHECK, "opinions": []}], [JUDGE]], ids=["nothing", "a source", "the target"])
def test_a_run_that_shows_less_hands_out_nothing(hostile: Shop, words: list[object]) -> None:
    shapes = [[40, 60, 3]] if words == [JUDGE] else []
    job = shows(hostile, Judge(), *words, shapes=shapes)
    assert (job.state, job.attempts[0].error) == ("queued", "internal_fault")
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


@pytest.mark.parametrize("more", [[], [JUDGE], [{"ask": "forget"}], ["nonsense"]])
def test_a_run_that_goes_on_after_a_refusal_hands_out_nothing(hostile: Shop, more: list[object]) -> None:
    hostile.guards = Guards(Judge(lambda _: [Opinion(rule="house", verdict="refuse")]))
    nonsense = more == ["nonsense"]
    words = [JUDGE] if nonsense else [JUDGE, *more]
    job = hostile.does("show", words=words, shapes=[[40, 60, 3]], nonsense=nonsense)
    assert (job.state, job.error) == ("failed", "content_refused")
    assert [each.rule for each in job.findings] == ["house"]


def test_a_run_that_goes_on_without_a_judge_hands_out_nothing(hostile: Shop) -> None:
    def away(_: Sample) -> Sequence[Opinion]:
        raise ModerationUnavailable("It does not answer.")

    job = shows(hostile, Judge(away), JUDGE, shapes=[[40, 60, 3]])
    assert (job.state, job.attempts[0].error) == ("queued", "moderation_unavailable")
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


@pytest.mark.parametrize("error", ["content_refused", "source_protected", "moderation_unavailable"])
def test_a_refusal_that_the_guard_did_not_say_is_not_believed(hostile: Shop, error: str) -> None:
    job = hostile.does("end", words={"error": error, "detail": "x"})
    assert (job.attempts[0].error, job.attempts[0].fault) == ("internal_fault", "provider")
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


@pytest.mark.parametrize(
    ("words", "shapes"),
    [
        ({"ask": "look"}, []), ({"ask": "look", "number": 7}, [[40, 60, 3]]), ({"ask": "look", "number": -1}, []),
        ({"ask": "look"}, [[40, 60, 3]] * 2), ({"ask": "look"}, [[449, 60, 3]]), ({"ask": "look"}, [[40, 60]]),
        ({"ask": "look"}, [[40, 60, 4]]), ({"ask": "look", "identity": [1.0]}, [[40, 60, 3]]),
        ({"ask": "look", "identity": [float("nan")] * 128}, [[40, 60, 3]]), ({"ask": "judge"}, [[40, 60, 3]]),
        ({"ask": "judge", "moments": [{"frame": -1, "at_ms": 0}]}, [[40, 60, 3]]), ({"ask": "forget"}, []),
        ({**JUDGE, "moments": [{"frame": 0, "at_ms": 0}] * 4}, [[40, 60, 3]] * 4),
        ({"ask": "check", "opinions": [{"rule": "x y"}]}, []), ({"ask": "check", "more": 1}, []),
        ({**JUDGE, "pictures": [[1 << 20, 1 << 20, 3]]}, []), ({**JUDGE, "pictures": [[-1, 4, 3]]}, []),
    ],
)  # fmt: skip
def test_a_question_out_of_place_ends_the_run(hostile: Shop, words: object, shapes: object) -> None:
    job = shows(hostile, Judge(), words, shapes=shapes)
    assert job.attempts[0].fault == "provider"
    assert hostile.shop.results(job.id) == []
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


# ---- what is signed --------------------------------------------------------------------------------------------------


def test_the_output_is_signed_by_who_holds_the_key(real: Shop, tmp_path: Path) -> None:
    key = key_in(tmp_path)
    real.terms = Terms(signer=ContentSigner(key))
    job = real.run(real.attempt())
    path = tmp_path / "out.png"
    path.write_bytes(real.output(job))
    found = verify_file(path, key.roots)
    assert (found.signed, found.job) == ("trusted", job.id)
    assert found.credentials is not None
    assert found.credentials.ingredients == ("target", "source")


@pytest.mark.parametrize("case", ["link", "pipe"])
def test_what_is_no_file_is_not_signed_through(hostile: Shop, tmp_path: Path, case: str) -> None:
    hostile.terms = Terms(signer=ContentSigner(key_in(tmp_path)))
    other = tmp_path / "other.png"
    other.write_bytes(b"somebody else's")
    job = hostile.does(case, to=str(other))
    assert job.attempts[0].error == "internal_fault"
    assert other.read_bytes() == b"somebody else's"
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)
