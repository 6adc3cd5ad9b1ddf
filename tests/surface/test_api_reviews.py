"""Held results and the list of protected people over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from secondface.domain import ledger
from secondface.domain.findings import Finding
from secondface.domain.pricing import Usage
from secondface.spec.work import WorkOrder
from tests.surface.live import RESULT, STILL, Live, events_of, live

FOUND = (Finding(rule="nsfw", verdict="hold", input="target", frame=75, at_ms=3000, score_permille=612),)


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    with live() as running:
        yield running


def held(server: Live, key: str | None = None) -> str:
    """A job whose result is made and held."""
    job = server.submit(key=key)
    grant = server.claim()
    key = f"jobs/{job}/1/{WorkOrder.read(grant.spec).output_name}"
    server.objects.put(key, [RESULT], "image/png")
    server.desk.succeed(grant.lease, Usage(run_ms=2_000, device_active_ms=1_500), key, FOUND)
    return job


def test_nobody_gets_what_is_held_but_a_reviewer(server: Live) -> None:
    job, reviewer = held(server), server.key("b", "reviewer")
    seen = server.call("GET", f"/v1/jobs/{job}").json()
    assert (seen["state"], seen["waiting"], "result" in seen["links"]) == ("held", "review", False)
    assert seen["findings"] == [
        {"rule": "nsfw", "verdict": "hold", "input": "target", "frame": 75, "at_ms": 3000, "score_permille": 612}
    ]
    refused = server.call("GET", f"/v1/jobs/{job}/result")
    assert (refused.status_code, refused.json()["code"]) == (409, "job_settled")
    for path in ("reviews", f"reviews/{job}", f"reviews/{job}/result"):
        assert server.call("GET", f"/v1/admin/{path}").json()["code"] == "scope_missing"
    assert job in [each["job"]["id"] for each in server.call("GET", "/v1/admin/reviews", reviewer).json()["data"]]
    assert server.call("GET", f"/v1/admin/reviews/{job}/result", reviewer).content == RESULT
    assert server.call("GET", f"/v1/jobs/{job}/result", reviewer).status_code == 403


def test_approved_with_a_reason(server: Live) -> None:
    job, reviewer = held(server), server.key("b", "reviewer")
    without = server.call("POST", f"/v1/admin/reviews/{job}/approve", reviewer, json={"reason": " "})
    assert without.status_code == 422
    done = server.call("POST", f"/v1/admin/reviews/{job}/approve", reviewer, json={"reason": "a swimming lesson"})
    assert (done.json()["account"], done.json()["job"]["state"]) == ("a", "succeeded")
    assert server.call("GET", f"/v1/jobs/{job}/result").content == RESULT
    events = events_of(server.call("GET", f"/v1/jobs/{job}/events").text)
    told = [(each["kind"], each["facts"].get("reason")) for each in events][-3:]
    assert told == [("job.held", None), ("job.reviewed", "a swimming lesson"), ("job.succeeded", None)]
    again = server.call("POST", f"/v1/admin/reviews/{job}/refuse", reviewer, json={"reason": "no"})
    assert again.json()["code"] == "job_settled"


def test_refused_is_paid_and_gone(server: Live) -> None:
    job, reviewer = held(server), server.key("b", "reviewer")
    server.call("POST", f"/v1/admin/reviews/{job}/refuse", reviewer, json={"reason": "not with us"})
    seen = server.call("GET", f"/v1/jobs/{job}").json()
    assert (seen["state"], seen["error"], seen["reason"]) == ("failed", "review_refused", "not with us")
    assert seen["cost_micros"] > 0
    receipt = server.call("GET", f"/v1/jobs/{job}/receipt").json()
    assert (receipt["final"], receipt["total_micros"]) == (True, seen["cost_micros"])
    assert server.call("GET", f"/v1/jobs/{job}/result").status_code == 409
    server.seal()
    audit = server.call("GET", "/v1/admin/audit", server.key("b", "operator"), params={"limit": 1000}).json()["data"]
    (reviewed,) = [each for each in audit if each["subject"] == job and each["kind"] == "job.reviewed"]
    assert (reviewed["facts"]["verdict"], reviewed["facts"]["reason"]) == ("refuse", "not with us")


def test_a_swap_does_not_wait_for_a_reviewer(server: Live) -> None:
    answers: list[object] = []

    def swap() -> None:
        files = {"source": STILL, "target": b"PICTURE 640x480 held"}
        reply = server.call("POST", "/v1/swap", files=files, headers={"Prefer": "wait=60"})
        answers.extend([reply.status_code, reply.json()["state"]])

    asking = threading.Thread(target=swap)
    asking.start()
    grant = server.claim()
    server.desk.succeed(grant.lease, Usage(run_ms=9), "jobs/x/1/out.png", FOUND)
    asking.join(20)
    assert answers == [202, "held"]


def test_a_refused_swap_says_rule_and_input(server: Live) -> None:
    problems: list[dict[str, object]] = []

    def swap() -> None:
        reply = server.call("POST", "/v1/swap", files={"source": STILL, "target": b"PICTURE 640x480 refused"})
        problems.append({**reply.json(), "http": reply.status_code})

    asking = threading.Thread(target=swap)
    asking.start()
    grant = server.claim()
    found = (Finding(rule="protected", verdict="refuse", input="source 0"),)
    server.desk.fail(
        grant.lease, Usage(run_ms=9), error="source_protected", fault="caller", retryable=False, findings=found
    )
    asking.join(20)
    (problem,) = problems
    assert (problem["http"], problem["code"], problem["fault"]) == (403, "source_protected", "caller")
    assert "the rule protected refuses source 0" in str(problem["detail"])


def test_a_plan_that_wants_the_likeness_confirmed(server: Live) -> None:
    server.set_account("c", likeness_required=True)
    key = server.key("c", "owner")
    with server.transactions.begin() as work:
        work.ledger.post(ledger.deposit("c", 10_000_000, "pay_c", server.clock.now_ms(), "CNY"))
    words = {"sources": [{"upload": server.upload(STILL, key)}], "target": {"upload": server.upload(STILL + b"!", key)}}
    refused = server.call("POST", "/v1/jobs", key, json=words)
    assert (refused.status_code, refused.json()["code"]) == (403, "likeness_unconfirmed")
    made = server.call("POST", "/v1/jobs", key, json={**words, "likeness_confirmed": True}).json()
    assert made["likeness_confirmed"] is True
    server.call("DELETE", f"/v1/jobs/{made['id']}", key)


def test_protected_people_are_kept_as_numbers_and_their_pictures_deleted(server: Live) -> None:
    operator = server.key("b", "operator")
    before = set(server.objects.keys("uploads/"))
    pictures = [{"upload": server.upload(b"PICTURE 8x8 front", operator)}, {"upload": server.upload(STILL, operator)}]
    made = server.call("POST", "/v1/admin/protected", operator, json={"pictures": pictures, "note": "letter"})
    assert made.status_code == 201, made.text
    assert (made.json()["faces"], made.json()["note"]) == (2, "letter")
    assert set(server.objects.keys("uploads/")) == before
    assert server.call("GET", "/v1/admin/protected", server.owner).json()["code"] == "scope_missing"
    entry = made.json()["id"]
    more = {"pictures": [{"upload": server.upload(b"PICTURE 8x8 side", operator)}]}
    assert server.call("POST", f"/v1/admin/protected/{entry}/pictures", operator, json=more).json()["faces"] == 3
    listed = server.call("GET", "/v1/admin/protected", operator).json()["data"]
    assert [each["id"] for each in listed] == [entry]
    assert set(listed[0]) == {"id", "note", "faces", "created_ms", "changed_ms"}, "no numbers, and no picture"
    assert server.call("DELETE", f"/v1/admin/protected/{entry}", operator).status_code == 204
    gone = server.call("DELETE", f"/v1/admin/protected/{entry}", operator)
    assert (gone.status_code, gone.json()["code"]) == (404, "protected_missing")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"PICTURE 8x8 nobody", "no_face_in_source"), (b"x", "media_unsupported"),
        (b"CLIP 1280x720 9", "media_unsupported"),
    ],
)  # fmt: skip
def test_a_picture_that_cannot_be_used_is_deleted_too(server: Live, content: bytes, code: str) -> None:
    operator = server.key("b", "operator")
    before = set(server.objects.keys("uploads/"))
    words = {"pictures": [{"upload": server.upload(content, operator)}]}
    refused = server.call("POST", "/v1/admin/protected", operator, json=words)
    assert (refused.json()["code"], "pictures[0]" in refused.json()["detail"]) == (code, True)
    assert set(server.objects.keys("uploads/")) == before


def test_a_cached_result_is_not_handed_out_under_another_list(server: Live) -> None:
    operator = server.key("b", "operator")
    words = server.request(b"PICTURE 640x480 cached")
    server.call("POST", "/v1/jobs", json=words)
    server.work()
    again = server.call("POST", "/v1/jobs", json=words).json()
    assert (again["state"], again["cause"]) == ("succeeded", "cached")
    pictures = [{"upload": server.upload(b"PICTURE 8x8 somebody", operator)}]
    entry = server.call("POST", "/v1/admin/protected", operator, json={"pictures": pictures}).json()["id"]
    anew = server.call("POST", "/v1/jobs", json=words).json()
    assert anew["state"] == "queued"
    server.call("DELETE", f"/v1/jobs/{anew['id']}")
    server.call("DELETE", f"/v1/admin/protected/{entry}", operator)
