"""Submitting, following and waiting, without a socket."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from secondface import errors
from secondface.sdk import jobs
from secondface.sdk.calls import Answer, Call, Unreachable
from secondface.sdk.inputs import Asked, JobWords
from secondface.spec.service import InputRef
from secondface.spec.views import EventView, JobView
from tests.unit.sdk.played import STEADY, Played, good, refusal

JOB: dict[str, Any] = {
    "id": "job_1", "state": "running", "tier": "cpu", "priority": 0, "created_ms": 1, "ended_ms": None,
    "waiting": None, "done_frames": 0, "total_frames": 60, "attempts": 1, "cause": None, "error": None,
    "currency": "CNY", "price_micros": 300, "hold_micros": 3_900, "max_cost_micros": None, "cost_micros": 0,
    "deadline_ms": None, "expected_active_ms": 100, "links": {},
}  # fmt: skip
STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def event(number: int, kind: str, **facts: Any) -> bytes:
    data = {"number": number, "kind": kind, "at_ms": number, "facts": facts}
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def storage(call: Call) -> Answer | None:
    """Plays uploads."""
    if call.path == "/v1/uploads":
        return good(201, id="upl_1", method="PUT", url="http://files/x?sign", expires_ms=1, most_bytes=10**9)
    if call.method == "PUT":
        content = call.file if isinstance(call.file, bytes) else call.file.read_bytes() if call.file else b""
        return good(id="upl_1", size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    return None


def asked(source: Any, target: Any, **words: Any) -> Asked:
    return Asked(sources=[source], target=target, words=JobWords(**words))


def test_submits_with_a_key_of_its_own_that_stays_the_same_over_all_tries(tmp_path: Path) -> None:
    face = tmp_path / "me.jpg"
    face.write_bytes(b"face")
    service = Played([Unreachable("cut"), good(202, **JOB)], answer_to=storage)
    made = service.run(jobs.submit(asked(face, face, max_cost_micros=5), None, STEADY))
    assert made == JobView.model_validate(JOB)
    submits = [call for call in service.calls if call.path == "/v1/jobs"]
    assert len({call.headers["idempotency-key"] for call in submits}) == 1
    assert len(submits) == 2
    assert submits[0].words == {
        "sources": [{"upload": "upl_1"}], "target": {"upload": "upl_1"}, "max_cost_micros": 5,
    }  # fmt: skip
    assert [call.path for call in service.calls].count("/v1/uploads") == 1, "one file is sent once"


def test_a_key_of_the_caller_is_used() -> None:
    service = Played([good(202, **JOB)])
    service.run(jobs.submit(asked(InputRef(upload="upl_7"), "https://example.org/a.mp4"), "mine-1", STEADY))
    assert service.calls[0].headers["idempotency-key"] == "mine-1"
    assert service.calls[0].words == {
        "sources": [{"upload": "upl_7"}], "target": {"url": "https://example.org/a.mp4"},
    }  # fmt: skip


def test_no_key_goes_to_a_signed_link(tmp_path: Path) -> None:
    service = Played([good(202, **JOB)], answer_to=storage)
    service.run(jobs.submit(asked(b"face", b"target"), None, STEADY))
    assert [call.is_signed for call in service.calls if call.method == "PUT"] == [True, True]


def test_a_file_that_changed_on_its_way_is_noticed() -> None:
    def mixed_up(call: Call) -> Answer | None:
        if call.method == "PUT":
            return good(id="upl_1", size_bytes=6, sha256="0" * 64)
        return storage(call)

    with pytest.raises(errors.ProviderFault, match="not what was sent"):
        Played(answer_to=mixed_up).run(jobs.submit(asked(b"face", b"target"), None, STEADY))


def test_wrong_options_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    service = Played()
    with pytest.raises(errors.InvalidOption, match="max_cost_micros"):
        service.run(jobs.submit(asked(b"face", b"target", max_cost_micros=-1), None, STEADY))
    with pytest.raises(errors.FileUnreadable):
        service.run(jobs.submit(asked(tmp_path / "none.jpg", b"target"), None, STEADY))
    assert service.calls == []


def test_waits_with_events_and_takes_a_broken_stream_up_where_it_broke() -> None:
    ended = {**JOB, "state": "succeeded"}
    service = Played(
        [Answer(200, STREAM), Answer(200, STREAM), good(**ended)],
        streams=[
            [event(1, "job.accepted"), event(2, "job.progress", done=20, total=60)[:30], Unreachable("cut")],
            [event(1, "job.accepted"), event(2, "job.progress", done=20, total=60) + event(3, "job.succeeded")],
        ],
    )
    told: list[EventView] = []
    assert service.run(jobs.wait("job_1", told.append, 1.0, STEADY)).state == "succeeded"
    assert [each.number for each in told] == [1, 2, 3]
    assert [call.headers.get("last-event-id") for call in service.calls[:2]] == ["0", "1"]
    assert service.closed == 2


def test_looks_by_itself_where_streams_bring_nothing() -> None:
    looks = [{**JOB, "done_frames": done} for done in (10, 10, 30)]
    service = Played(
        [*[Answer(200, STREAM)] * 3, *(good(**look) for look in looks), good(**{**JOB, "state": "succeeded"})],
        streams=[[], [], []],
    )
    told: list[EventView] = []
    assert service.run(jobs.wait("job_1", told.append, 2.0, STEADY)).state == "succeeded"
    assert [each.facts["done"] for each in told] == [30]
    assert service.pauses[-3:] == [2.0, 2.0, 2.0]


def test_looks_by_itself_where_something_else_answers() -> None:
    service = Played([good(), good(**{**JOB, "state": "failed", "error": "no_face_in_target"})], streams=[[]])
    seen = service.run(jobs.wait("job_1", None, 1.0, STEADY))
    with pytest.raises(errors.NoFaceInTarget, match="job_1"):
        jobs.require_success(seen)


@pytest.mark.parametrize(
    ("state", "error", "kind"),
    [
        ("cancelled", None, errors.Cancelled), ("expired", None, errors.JobExpired),
        ("failed", "worker_lost", errors.WorkerLost), ("failed", None, errors.JobProblem),
        ("cancelled", "cost_limit_reached", errors.CostLimitReached),
    ],
)  # fmt: skip
def test_how_a_job_ended_is_raised(state: str, error: str | None, kind: type[Exception]) -> None:
    with pytest.raises(kind) as raised:
        jobs.require_success(JobView.model_validate({**JOB, "state": state, "error": error}))
    assert type(raised.value) is kind


def test_a_missing_job_is_no_reason_to_go_on_asking() -> None:
    service = Played([refusal("job_missing", 404)])
    with pytest.raises(errors.JobMissing):
        service.run(jobs.wait("job_9", None, 1.0, STEADY))


def test_the_name_of_a_job_leads_nowhere_else() -> None:
    service = Played([good(**JOB)])
    service.run(jobs.job("../admin?x=#", STEADY))
    assert service.calls[0].path == "/v1/jobs/..%2Fadmin%3Fx%3D%23"
