"""From requests to orders and submissions: sizes, names, comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from secondface.control.admission import Submission
from secondface.domain.accounts import Plan
from secondface.domain.ports import Stored
from secondface.errors import (
    InvalidOption,
    InvalidPipeline,
    MappingUnresolved,
    MediaUnsupported,
    OutputFormatUnsupported,
    TooManySources,
)
from secondface.gateway.inputs import KnownInput
from secondface.gateway.options import GatewayOptions
from secondface.gateway.orders import Material, Orders, waives_label
from secondface.spec.service import JobOptions
from secondface.spec.work import InputFacts, WorkOrder
from tests.surface.live import Live


@pytest.fixture(scope="module")
def made() -> Live:
    """All parts of a server that is never started."""
    live = Live(GatewayOptions(), None)
    live.socket.close()
    live.client.close()
    return live


PICTURE = InputFacts(kind="still", format_name="JPEG", width=800, height=600)
FILM = InputFacts(kind="video", format_name="mov,mp4", width=1280, height=720, frames=250, duration_ms=10_000)


def known(name: str, facts: InputFacts = PICTURE, sha256: str = "") -> KnownInput:
    stored = Stored(key=f"uploads/a/{name}", size_bytes=1, sha256=sha256 or name, content_type="x/y")
    return KnownInput(stored, facts, name)


def material(target: KnownInput | None = None, sources: int = 1, **more: Any) -> Material:
    return Material(sources=[known(f"s{at}") for at in range(sources)], target=target or known("t"), **more)


def submission(made: Live, given: Material, **options: Any) -> Submission:
    caller = made.keyring.caller(made.owner)
    return Orders(made.service).submission(caller, JobOptions.model_validate(options), given)


def order(made: Live, given: Material, **options: Any) -> WorkOrder:
    return WorkOrder.read(submission(made, given, **options).spec)


@pytest.mark.parametrize(
    ("facts", "output", "name"),
    [
        (PICTURE, "auto", "out.jpg"),
        (PICTURE, "avif", "out.avif"),
        (replace_format := PICTURE.model_copy(update={"format_name": "BMP"}), "auto", "out.png"),
        (replace_format, "tiff", "out.tiff"),
        (FILM, "auto", "out.mp4"),
        (FILM, "webm", "out.webm"),
        (FILM.model_copy(update={"format_name": "GIF"}), "auto", "out.gif"),
        (FILM.model_copy(update={"format_name": "WEBP"}), "auto", "out.webp"),
        (FILM.model_copy(update={"format_name": "matroska,webm"}), "auto", "out.mp4"),
    ],
)
def test_the_output_has_the_targets_kind(made: Live, facts: InputFacts, output: str, name: str) -> None:
    asked = submission(made, material(known("t", facts)), output=output)
    assert WorkOrder.read(asked.spec).output_name == name
    assert asked.probed.result == {"out.jpg": "jpeg"}.get(name, name.removeprefix("out."))


@pytest.mark.parametrize(("facts", "output"), [(PICTURE, "mp4"), (PICTURE, "gif"), (FILM, "jpeg"), (FILM, "tiff")])
def test_an_output_of_another_kind_is_refused(made: Live, facts: InputFacts, output: str) -> None:
    with pytest.raises(OutputFormatUnsupported):
        order(made, material(known("t", facts)), output=output)


@pytest.mark.parametrize(
    ("video", "frames"),
    [
        ({}, 250), ({"begin": "2", "end": "6"}, 100), ({"begin": "f50"}, 200), ({"end": "f10"}, 10),
        ({"end": "00:01:00"}, 250), ({"begin": "9.999"}, 1), ({"begin": "f900"}, 1),
        ({"begin": "0", "end": "0.001"}, 1),
    ],
)  # fmt: skip
def test_only_the_part_that_is_asked_for_is_quoted(made: Live, video: dict[str, str], frames: int) -> None:
    assert submission(made, material(known("t", FILM)), video=video).probed.frames == frames


def test_a_film_that_does_not_say_its_length_is_taken_for_a_long_one(made: Live) -> None:
    endless = FILM.model_copy(update={"frames": None, "duration_ms": None})
    assert submission(made, material(known("t", endless))).probed.frames == 10_000


@pytest.mark.parametrize(
    ("sources", "faces", "count"),
    [
        (1, "auto", 1), (1, "largest", 1), (1, "all", 2), (2, "auto", 2), (3, "left-to-right", 3), (1, "0,2,4", 3),
        (0, "all", 1),
    ],
)  # fmt: skip
def test_faces_that_are_meant_are_counted_for_approval(made: Live, sources: int, faces: str, count: int) -> None:
    probed = submission(made, material(sources=sources), faces=faces).probed
    assert (probed.faces, probed.counted) == (count, faces != "all" or not sources)


def test_the_limit_of_the_plan_goes_with_a_job_whose_faces_nobody_counted(made: Live) -> None:
    def followed(faces: str, sources: int = 1) -> int | None:
        return WorkOrder.read(submission(made, material(sources=sources), faces=faces).spec).limits.max_faces

    assert followed("all") == Plan().max_faces
    # who names one of five faces gets that one, though the plan lets no five be changed
    assert [followed(faces) for faces in ("auto", "largest", "left-to-right", "0,4")] == [None] * 4


def test_files_have_names_of_ours(made: Live) -> None:
    given = material(known("t", FILM), 2, reference=None, mapping=[(0, None, known("like")), (1, 0, None)])
    made_order = order(made, given)
    assert [each.name for each in made_order.inputs] == ["target.mp4", "source-0.jpg", "source-1.jpg", "like-0.jpg"]
    assert [len(person) for person in made_order.sources] == [1, 1]
    assert [len(person) for person in order(made, material(sources=2), same_person=True).sources] == [2]


def test_the_same_bytes_under_other_names_compare_equal(made: Live) -> None:
    first, again = material(known("t1", sha256="abc")), material(known("t2", sha256="abc"))
    other = material(known("t1", sha256="abd"))
    digests = [submission(made, each).digest for each in (first, again, other)]
    assert digests[0] == digests[1] != digests[2]
    keys = [submission(made, each).cache_key for each in (first, again, other)]
    assert keys[0] == keys[1] != keys[2]


def test_what_the_cage_said_goes_with_the_order_and_is_not_compared(made: Live) -> None:
    facts = PICTURE.model_copy(update={"notes": ("it ends early",)})
    given = material(known("t", facts), mapping=[(0, None, known("like"))], reference=None)
    assert order(made, given).facts == {
        "uploads/a/t": facts, "uploads/a/s0": PICTURE, "uploads/a/like": PICTURE,
    }  # fmt: skip
    plain = material(known("t"), mapping=[(0, None, known("like"))], reference=None)
    assert submission(made, given).digest == submission(made, plain).digest


def test_what_changes_nothing_of_the_result_shares_it(made: Live) -> None:
    given = material()
    base = submission(made, given)
    dear = submission(made, given, max_cost_micros=9_000, priority=5, deadline_s=9)
    assert (dear.cache_key, dear.digest == base.digest) == (base.cache_key, False)
    for change in ({"restore": 0.5}, {"output": "png"}, {"still": {"quality": 3}}, {"tier": "cpu"}):
        assert submission(made, given, **change).cache_key != base.cache_key


def test_a_result_is_shared_within_one_account_only(made: Live) -> None:
    caller = made.keyring.caller(made.key("b"))
    theirs = Orders(made.service).submission(caller, JobOptions(), material())
    assert theirs.cache_key != submission(made, material()).cache_key


def test_a_result_that_was_marked_in_another_way_is_not_shared(made: Live) -> None:
    key = submission(made, material()).cache_key
    renamed = replace(made.service, marked_by="1.2.3 Somebody else")
    assert Orders(renamed).submission(made.keyring.caller(made.owner), JobOptions(), material()).cache_key != key


@pytest.mark.parametrize(
    ("given", "options", "error"),
    [
        (material(), {"faces": "like"}, InvalidOption),
        (material(reference=known("r")), {}, InvalidOption),
        (material(), {"faces": "like:/etc/passwd"}, InvalidOption),
        (material(sources=3), {"faces": "0"}, TooManySources),
        (material(mapping=[(4, 0, None)]), {}, MappingUnresolved),
        (material(sources=0), {"restore": "off"}, InvalidOption),
        (material(), {"label": {"visible": False, "acknowledgement": "ours"}}, InvalidPipeline),
    ],
)
def test_what_cannot_be_run_is_refused(
    made: Live, given: Material, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        submission(made, given, **options)


OFF = {"visible": False, "acknowledgement": "ours"}


@pytest.mark.parametrize(
    ("options", "waived"),
    [
        ({}, False),
        ({"label": {"languages": "en"}}, False),
        ({"label": OFF}, True),
        ({"pipeline": {"steps": [{"step": "face_swap"}], "label": OFF}}, True),
        ({"pipeline": {"steps": [{"step": "face_swap"}], "label": OFF}, "label": {"languages": "zh"}}, False),
    ],
)
def test_a_label_that_is_left_off_is_known_from_the_request(options: dict[str, Any], waived: bool) -> None:
    assert waives_label(JobOptions.model_validate(options)) is waived


def test_a_reference_says_who_is_meant(made: Live) -> None:
    made_order = order(made, material(reference=known("r")), faces="like")
    assert made_order.like is not None
    assert (made_order.rule, made_order.like.name) == ("like", "like.jpg")


def test_a_deadline_is_a_moment(made: Live) -> None:
    before = made.clock.now_ms()
    asked = submission(made, material(), deadline_s=60)
    assert asked.deadline_ms is not None
    assert before + 60_000 <= asked.deadline_ms <= made.clock.now_ms() + 60_000
    assert submission(made, material()).deadline_ms is None


def test_before_a_measurement_making_a_person_is_part_of_the_guess_once(made: Live) -> None:
    def expected_s(given: Material, **options: Any) -> int:
        asked = submission(made, given, **options)
        assert not asked.rate.measured
        return asked.rate.active_us * asked.probed.frames // 1_000_000

    alone, restored = (
        expected_s(material()),
        expected_s(material(sources=0), pipeline={"steps": [{"step": "face_restore"}]}),
    )
    assert expected_s(material(sources=2)) - alone == alone - restored == 3
    film = material(known("t", FILM))
    long, short = expected_s(film), expected_s(film, video={"end": "f10"})
    assert short >= 3
    assert long < 25 * short, "twenty-five times as long, but the person is made once"


@pytest.mark.parametrize(
    "given",
    [
        {"sources": [known("s0"), known("film", FILM)]},
        {"reference": known("film", FILM)},
        {"mapping": [(0, None, known("film", FILM))]},
    ],
    ids=["source", "reference", "mapping"],
)
def test_who_is_shown_in_a_video_is_refused_by_the_name_of_its_place(made: Live, given: dict[str, Any]) -> None:
    words = {"sources": [known("s0")], "target": known("t", FILM), **given}
    options = {"faces": "like"} if "reference" in given else {}
    with pytest.raises(MediaUnsupported, match="film: a video"):
        submission(made, Material(**words), **options)
