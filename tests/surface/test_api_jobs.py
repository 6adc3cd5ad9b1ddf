"""Jobs over HTTP: upload, quote, submit, follow, fetch, pay; once, and only by those who may."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry

from secondface.control.speeds import Speeds
from secondface.domain.ports import Stored
from secondface.errors import InvalidOption
from secondface.gateway.watch import Watch
from secondface.sdk.inputs import options_of
from secondface.spec.work import InputFacts, WorkOrder
from tests.surface.live import CLIP, OTHER_STILL, RESULT, STILL, Live, events_of, live


@pytest.fixture(scope="module")
def server() -> Generator[Live, None, None]:
    with live() as running:
        yield running


def test_from_upload_to_receipt(server: Live) -> None:
    words = server.request(faces="largest", max_cost_micros=20_000)
    offer = server.call("POST", "/v1/quotes", json=words).json()
    assert (offer["tier"], offer["frames"], offer["width"], offer["measured"]) == ("a10g", 1, 640, False)
    assert offer["expected_micros"] <= offer["upper_micros"]
    made = server.call("POST", "/v1/jobs", json=words)
    assert (made.status_code, made.json()["state"]) == (202, "queued")
    job = made.headers["location"]
    assert server.call("GET", job).json()["waiting"] == "queue"
    with server.working():
        stream = server.call("GET", f"{job}/events").text
    kinds = [event["kind"] for event in events_of(stream)]
    assert kinds[0] == "job.accepted"
    assert kinds[-1] == "job.succeeded"
    assert "job.progress" in kinds
    assert server.call("GET", f"{job}/result").content == RESULT
    bill = server.call("GET", f"{job}/receipt").json()
    assert (bill["final"], bill["charged_ms"], bill["charged_s"], bill["total_micros"]) == (True, 1_500, 2, 6_000)
    assert sum(line["charged_ms"] for line in bill["lines"]) == 1_500
    with server.transactions.view() as work:
        moved = {entry.kind: entry.postings[-1].micros for entry in work.ledger.entries(job.rsplit("/", 1)[-1])}
    assert moved["capture"] == bill["total_micros"] == server.call("GET", job).json()["cost_micros"]


def test_an_upload_is_looked_at_once_and_before_a_job_names_it() -> None:
    with live() as server:
        looked: list[str] = []
        inspect = server.service.inspect

        def counted(stored: Stored) -> InputFacts:
            looked.append(stored.sha256)
            return inspect(stored)

        object.__setattr__(server.service, "inspect", counted)
        words = server.request()
        until = time.monotonic() + 20
        while len(looked) < 2:
            assert time.monotonic() < until, "nobody looks at what was sent"
            time.sleep(0.01)
        server.call("POST", "/v1/quotes", json=words)
        assert server.call("POST", "/v1/jobs", json=words).status_code == 202
        assert len(looked) == len(set(looked)) == 2


def test_what_is_wrong_with_an_upload_is_said_to_the_job_that_names_it(server: Live) -> None:
    for _ in range(2):
        refused = server.call("POST", "/v1/jobs", json=server.request(b"no picture"))
        assert (refused.status_code, refused.json()["code"]) == (422, "media_unsupported")


def test_a_form_with_the_files_is_a_job_too(server: Live) -> None:
    files = [("source", ("../../etc/passwd", STILL)), ("target", ("x\x00.mp4", CLIP))]
    made = server.call("POST", "/v1/jobs", files=files, data={"faces": "all", "options": '{"priority": 3}'})
    assert made.status_code == 202, made.text
    view = made.json()
    assert (view["total_frames"], view["priority"]) == (100, 3)
    with server.transactions.view() as work:
        spec = work.jobs.get(view["id"]).spec
    assert "passwd" not in spec
    assert '"name":"target.mp4"' in spec
    assert server.work() == view["id"]


def test_the_same_request_again_is_the_same_job(server: Live) -> None:
    content, headers = OTHER_STILL + b" once", {"Idempotency-Key": "k1"}
    words = server.request(content, max_cost_micros=21_000)
    first, again = (server.call("POST", "/v1/jobs", json=words, headers=headers) for _ in range(2))
    assert first.json()["id"] == again.json()["id"]
    assert again.status_code == 202
    reuploaded = server.request(content, max_cost_micros=21_000)
    assert server.call("POST", "/v1/jobs", json=reuploaded, headers=headers).json()["id"] == first.json()["id"]
    other = server.call("POST", "/v1/jobs", json={**words, "max_cost_micros": 22_000}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "request_changed")
    assert server.work() == first.json()["id"]


def test_forms_are_compared_by_what_they_hold(server: Live) -> None:
    def send(target: bytes) -> httpx.Response:
        files = [("source", ("a", STILL)), ("target", ("b", target))]
        return server.call("POST", "/v1/jobs", files=files, headers={"Idempotency-Key": "form"})

    first, again, other = send(CLIP), send(CLIP), send(CLIP + b" more")
    assert first.json()["id"] == again.json()["id"]
    assert other.json()["code"] == "request_changed"
    server.call("DELETE", f"/v1/jobs/{first.json()['id']}")


def test_the_key_of_another_account_is_another_key(server: Live) -> None:
    stranger = server.key("b")
    headers = {"Idempotency-Key": "shared"}
    made = [
        server.call("POST", "/v1/jobs", key, files={"target": ("t", CLIP)}, headers=headers)
        for key in (server.owner, stranger)
    ]
    assert [each.status_code for each in made] == [202, 202]
    assert made[0].json()["id"] != made[1].json()["id"]
    for each, key in zip(made, (server.owner, stranger), strict=True):
        assert server.call("DELETE", each.headers["location"], key).json()["state"] == "cancelled"


def test_what_was_made_before_is_not_made_again_and_costs_nothing(server: Live) -> None:
    words = server.request()
    first = server.call("POST", "/v1/jobs", json=words).json()["id"]
    server.work()
    again = server.call("POST", "/v1/jobs", json=words).json()
    assert (again["state"], again["cause"], again["cost_micros"]) == ("succeeded", "cached", 0)
    assert again["id"] != first
    assert server.call("GET", again["links"]["result"]).content == RESULT
    stranger = server.key("b")
    content = b"".join(server.objects.read(f"uploads/a/{words['target']['upload']}"))
    files = [("source", ("s", STILL)), ("target", ("t", content))]
    theirs = server.call("POST", "/v1/jobs", stranger, files=files)
    assert theirs.json()["state"] == "queued"  # nobody learns what somebody else has had made
    server.call("DELETE", theirs.headers["location"], stranger)


@pytest.mark.parametrize("key", ["", "é", "x" * 201, "a\tb"])
def test_an_idempotency_key_is_plain(server: Live, key: str) -> None:
    refused = server.call("POST", "/v1/jobs", json=server.request(), headers={b"Idempotency-Key": key.encode()})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_option")


def test_a_broken_stream_goes_on_where_it_broke(server: Live) -> None:
    job = server.submit()
    server.work()
    whole = server.call("GET", f"/v1/jobs/{job}/events").text
    numbers = re.findall(r"^id: (\d+)$", whole, re.MULTILINE)
    assert len(numbers) >= 4
    rest = server.call("GET", f"/v1/jobs/{job}/events", headers={"Last-Event-ID": numbers[1]}).text
    assert re.findall(r"^id: (\d+)$", rest, re.MULTILINE) == numbers[2:]
    assert (
        server.call("GET", f"/v1/jobs/{job}/events", headers={"Last-Event-ID": numbers[-1]}).text == "retry: 1000\n\n"
    )
    assert server.call("GET", f"/v1/jobs/{job}/events", headers={"Last-Event-ID": "x"}).status_code == 422


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-9", 206, slice(0, 10)),
        ("bytes=10-", 206, slice(10, None)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=0-999999999", 206, slice(None)),
        ("bytes=-999999999", 206, slice(None)),
        ("bytes=9-3", 200, slice(None)),
        ("bytes=0-1,5-6", 200, slice(None)),
        ("lines=0-1", 200, slice(None)),
        ("bytes=-", 200, slice(None)),
        (f"bytes={len(RESULT)}-", 416, None),
        ("bytes=-0", 416, None),
        (f"bytes={'9' * 30}-", 416, None),
        (f"bytes={'9' * 30}-{'9' * 31}", 416, None),
        (f"bytes=0-{'9' * 30}", 206, slice(None)),
        (f"bytes=-{'9' * 30}", 206, slice(None)),
        (f"bytes=0-{'9' * 5_000}", 200, slice(None)),
        ("Bytes=0-9", 206, slice(0, 10)),
        ("bytes=1 0-19", 200, slice(None)),
        ("bytes=0x1-9", 200, slice(None)),
        ("bytes=\u0661-9", 200, slice(None)),
        ("bytes", 200, slice(None)),
    ],
)
def test_ranges_of_a_result(server: Live, asked: str, status: int, part: slice | None) -> None:
    job = server.submit()
    server.work()
    key = server.service.requests.get(server.keyring.caller(server.owner), job).result or ""
    link = server.objects.link(key, "GET", 60).removeprefix(server.url)
    for path in (link, f"/v1/jobs/{job}/result"):
        reply = server.call("GET", path, headers={"Range": asked.encode()})
        assert reply.status_code == status
        if part is None:
            assert reply.headers["content-range"] == f"bytes */{len(RESULT)}"
        else:
            assert reply.content == RESULT[part]
    if part is None:
        return
    assert reply.headers["content-disposition"] == f'attachment; filename="{job}.png"'
    assert reply.headers["x-content-type-options"] == "nosniff"
    known = server.call("GET", f"/v1/jobs/{job}/result", headers={"If-None-Match": reply.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    changed = server.call("GET", f"/v1/jobs/{job}/result", headers={"Range": "bytes=0-1", "If-Range": '"x"'})
    assert (changed.status_code, changed.content) == (200, RESULT)


def test_what_has_no_result_says_so(server: Live) -> None:
    job = server.submit()
    waiting = server.call("GET", f"/v1/jobs/{job}/result")
    assert (waiting.status_code, waiting.json()["code"]) == (409, "job_settled")
    assert server.call("DELETE", f"/v1/jobs/{job}").json()["state"] == "cancelled"
    assert server.call("DELETE", f"/v1/jobs/{job}").json()["state"] == "cancelled"
    assert server.call("GET", f"/v1/jobs/{job}/receipt").json()["total_micros"] == 0
    assert server.balance("held:a") == 0


def test_pages_of_jobs(server: Live) -> None:
    made = [server.submit() for _ in range(3)]
    first = server.call("GET", "/v1/jobs", params={"limit": 2, "state": "queued"}).json()
    assert [job["id"] for job in first["data"]] == [made[2], made[1]]
    second = server.call("GET", "/v1/jobs", params={"limit": 2, "state": "queued", "after": first["next"]}).json()
    assert (second["data"][0]["id"], second["next"]) == (made[0], None)
    for job in made:
        server.call("DELETE", f"/v1/jobs/{job}")
    assert server.call("GET", "/v1/jobs", params={"state": "queued"}).json()["data"] == []


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"faces": "nobody"}, 422, "invalid_option"),
        ({"faces": "like"}, 422, "invalid_option"),
        ({"faces": "like:/etc/passwd"}, 422, "invalid_option"),
        ({"output": "mp4"}, 422, "output_format_unsupported"),
        ({"tier": "v100"}, 422, "invalid_option"),
        ({"tier": "../x"}, 422, "body_invalid"),
        ({"max_cost_micros": 1}, 422, "invalid_option"),
        ({"max_cost_micros": -1}, 422, "body_invalid"),
        ({"sources": []}, 202, None),
        ({"target": {"upload": "upl_nobody"}}, 404, "object_missing"),
        ({"target": {}}, 422, "invalid_option"),
        ({"target": {"upload": "../x"}}, 422, "body_invalid"),
        ({"pipeline": {"steps": [{"step": "explode"}]}}, 422, "unknown_step"),
        ({"mapping": [{"source": 7, "index": 0}]}, 422, "mapping_unresolved"),
        ({"mapping": [{"source": 0}]}, 422, "mapping_unresolved"),
        ({"surprise": 1}, 422, "body_invalid"),
        ({"video": {"rate": "1/0"}}, 422, "invalid_option"),
        ({"video": {"begin": "9", "end": "3"}}, 422, "invalid_option"),
        ({"label": {"visible": False}}, 422, "invalid_pipeline"),
        ({"label": {"visible": False, "acknowledgement": "We label it ourselves."}}, 422, "invalid_pipeline"),
    ],
)
def test_what_cannot_be_run_is_refused_with_a_code(
    server: Live, changes: dict[str, Any], status: int, code: str | None
) -> None:
    made = server.call("POST", "/v1/jobs", json=server.request(**changes))
    assert (made.status_code, made.json().get("code")) == (status, code), made.text
    if status == 202:
        server.call("DELETE", made.headers["location"])
    else:
        assert made.headers["content-type"] == "application/problem+json"
        assert made.json()["remedy"]


def test_the_label_is_left_off_where_the_plan_lets_it(server: Live) -> None:
    server.set_account("b", label_optional=True)
    label = '{"label": {"visible": false, "acknowledgement": "We label it ourselves."}}'
    made = server.call("POST", "/v1/jobs", server.key("b"), files={"target": ("t", CLIP)}, data={"options": label})
    assert made.status_code == 202, made.text
    server.call("DELETE", made.headers["location"], server.key("b"))
    server.set_account("b")


def test_a_file_that_is_none_is_refused_before_a_job_is_made(server: Live) -> None:
    before = server.call("GET", "/v1/jobs").json()["data"]
    refused = server.call("POST", "/v1/jobs", json=server.request(target={"upload": server.upload(b"junk")}))
    assert (refused.status_code, refused.json()["code"]) == (422, "media_unsupported")
    assert server.call("GET", "/v1/jobs").json()["data"] == before
    assert server.balance("held:a") == 0


@pytest.mark.parametrize("name", ["source", "target", "reference"])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/quotes", "/v1/swap"])
def test_what_is_wrong_with_a_part_names_the_part(server: Live, path: str, name: str) -> None:
    files = {"source": STILL, "target": OTHER_STILL, "reference": b"PICTURE 9x9 ref", name: b"no file of ours"}
    refused = server.call("POST", path, files=files, data={"faces": "like"}).json()
    assert (refused["code"], refused["detail"]) == ("media_unsupported", f"{name}: no format of ours")


def test_of_several_parts_the_number_is_said(server: Live) -> None:
    files = [("source", STILL), ("source", b"nothing"), ("target", CLIP)]
    detail = server.call("POST", "/v1/jobs", files=files).json()["detail"]
    assert detail == "source[1]: no format of ours"
    words = {"sources": [{"upload": server.upload(STILL)}], "target": {"upload": server.upload(CLIP)}}
    words["mapping"] = [{"source": 0, "like": {"upload": server.upload(b"nothing")}}]
    assert server.call("POST", "/v1/jobs", json=words).json()["detail"] == "mapping[0].like: no format of ours"
    assert server.call("POST", "/v1/verify", files={"file": b"nothing"}).json()["detail"] == "file: no format of ours"


def test_who_waits_for_the_same_look_hears_of_its_own_part() -> None:
    """The two requests name one upload, once as the source and once as the target, while it is looked at."""
    looked, go_on, looks = threading.Event(), threading.Event(), list[str]()
    with live() as server, ThreadPoolExecutor(2) as pool:
        inspect = server.service.inspect

        def slow(stored: Stored) -> InputFacts:
            looks.append(stored.key)
            looked.set()
            assert go_on.wait(20)
            return inspect(stored)

        object.__setattr__(server.service, "inspect", slow)
        bad = {"upload": server.upload(b"nothing")}
        assert looked.wait(20)
        asked = [{"target": bad}, {"sources": [bad], "target": bad}]
        calls = [pool.submit(server.call, "POST", "/v1/jobs", json=words) for words in asked]
        time.sleep(0.5)
        go_on.set()
        details = [call.result(20).json()["detail"] for call in calls]
    assert details == ["target: no format of ours", "sources[0]: no format of ours"]
    assert len(looks) == 1


def test_a_limit_without_its_unit_is_answered_with_its_name(server: Live) -> None:
    files = {"target": CLIP}
    for reply in (
        server.call("POST", "/v1/jobs", json={**server.request(), "max_cost": 3}),
        server.call("POST", "/v1/jobs", files=files, data={"max_cost": "3"}),
        server.call("POST", "/v1/jobs", files=files, data={"options": '{"max_cost": 3}'}),
    ):
        assert (reply.status_code, reply.json()["code"]) == (422, "body_invalid")
        assert "write max_cost_micros" in reply.json()["detail"]
    with pytest.raises(InvalidOption, match="write max_cost_micros"):
        options_of({"max_cost": 3})  # type: ignore[typeddict-unknown-key]


def test_the_upload_of_another_account_is_not_there(server: Live) -> None:
    theirs = server.upload(STILL, server.key("b"))
    refused = server.call("POST", "/v1/jobs", json={"target": {"upload": theirs}})
    assert (refused.status_code, refused.json()["code"]) == (404, "object_missing")


def test_an_empty_wallet_gets_402_with_a_remedy(server: Live) -> None:
    server.set_account("poor")
    poor = server.key("poor")
    refused = server.call("POST", "/v1/jobs", poor, files={"target": ("t", STILL)})
    assert (refused.status_code, refused.json()["code"]) == (402, "budget_exceeded")
    assert "credit" in refused.json()["remedy"]


def test_several_faces_wait_for_somebody_else(server: Live) -> None:
    server.set_account("b", approval_above_faces=1)
    owner, approver, colleague = server.key("b"), server.key("b", "approver"), server.key("b", "developer")
    files = [("source", ("a", STILL)), ("source", ("b", OTHER_STILL)), ("target", ("t", CLIP))]
    made = [server.call("POST", "/v1/jobs", owner, files=files, data={"max_cost_micros": c}) for c in (90_000, 91_000)]
    assert [(each.json()["state"], each.json()["waiting"]) for each in made] == [("awaiting_approval",) * 2] * 2
    first, second = (each.headers["location"] for each in made)
    for refused in (owner, colleague):
        assert server.call("POST", f"{first}/approve", refused).json()["code"] == "scope_missing"
    assert server.call("POST", f"{first}/approve", approver).json()["state"] == "queued"
    assert server.call("POST", f"{first}/approve", approver).json()["code"] == "job_settled"
    assert server.call("POST", f"{second}/reject", approver).json()["state"] == "cancelled"
    assert server.call("DELETE", first, owner).json()["state"] == "cancelled"
    server.set_account("b")


def test_usage_and_account_say_what_jobs_said(server: Live) -> None:
    key = server.key("b")
    job = server.call("POST", "/v1/jobs", key, files={"target": ("t", CLIP)}).json()["id"]
    assert server.work(active_ms=2_500) == job
    used = server.call("GET", "/v1/usage", key).json()
    assert (used["device_active_ms"], used["charged_s"], used["total_micros"]) == (2_500, 3, 9_000)
    assert used["complete"]
    assert server.call("GET", "/v1/usage", key, params={"until_ms": 1}).json()["jobs"] == {}
    assert server.call("GET", "/v1/usage", key, params={"from_ms": 2, "until_ms": 1}).status_code == 422
    own = server.call("GET", "/v1/account", key).json()
    assert own["balance_micros"] == 10_000_000 - 9_000
    assert own["spends"][0]["spent_micros"] == 9_000
    assert "jobs:write" in own["scopes"]


def test_after_a_measured_job_the_quote_is_no_guess(server: Live) -> None:
    words = {"target": {"upload": server.upload(b"PICTURE 4000x3000")}}
    assert not server.call("POST", "/v1/quotes", json=words).json()["measured"]
    server.call("POST", "/v1/jobs", json=words)
    server.work(active_ms=700)
    server.app.state.watch.step()
    offer = server.call("POST", "/v1/quotes", json=words).json()
    assert (offer["measured"], offer["expected_s"]) == (True, 1)
    restarted = replace(server.service, speeds=Speeds())
    Watch(restarted, CollectorRegistry()).step()
    [known] = server.call("GET", "/v1/jobs", params={"limit": 1}).json()["data"]
    with server.transactions.view() as work:
        key = WorkOrder.read(work.jobs.get(known["id"]).spec).speed_key
    assert restarted.speeds.rate("a10g", key, 1).measured
