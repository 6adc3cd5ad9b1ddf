"""Second authorisation, deletion and the audit over HTTP and through the SDK."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyotp.totp import TOTP

from secondface.domain.audit_file import check
from secondface.errors import CodeRefused, CodesMissing, DataDeleted, JobUnfinished, ScopeMissing
from secondface.sdk import Client
from secondface.storage.signing import holds
from tests.surface.live import OTHER_STILL, RESULT, STILL, Live, live


@pytest.fixture
def server() -> Generator[Live, None, None]:
    with live() as running:
        running.set_account("b", approval_above_faces=1)
        yield running


def crowd(
    server: Live, key: str, path: str = "/v1/jobs", target: bytes = STILL, code: str | None = None
) -> httpx.Response:
    files: Any = [("source", ("a", STILL)), ("source", ("b", OTHER_STILL)), ("target", ("t", target))]
    headers = {"Prefer": "wait=20"} | ({"One-Time-Code": code} if code is not None else {})
    return server.call("POST", path, key, files=files, data={"faces": "all"}, headers=headers)


def enrolled(server: Live, key: str) -> TOTP:
    """An authenticator with the codes of a key."""
    key_id = server.call("GET", "/v1/account", key).json()["key_id"]
    with Client(server.url, server.key("a", "operator")) as operator:
        return TOTP(operator.enrol_codes(key_id, account_id="b").secret)


def code_of(server: Live, phone: TOTP, steps: int = 0) -> str:
    return phone.generate_otp(server.clock.now_ms() // 30_000 + steps)


def test_a_crowd_waits_and_another_person_lets_it_run(server: Live) -> None:
    owner = server.key("b", "developer")
    made = crowd(server, owner).json()
    assert (made["state"], made["approve_by_ms"] - made["created_ms"]) == ("awaiting_approval", 86_400_000)
    with Client(server.url, server.key("b", "approver")) as approver:
        [seen] = approver.approvals().data
        assert (seen.job, seen.faces, seen.own, seen.until_ms) == (made["id"], 2, False, made["approve_by_ms"])
        assert approver.approve(made["id"]).state == "queued"
        assert approver.approvals().data == ()
        other = crowd(server, owner, target=OTHER_STILL).json()["id"]
        assert approver.reject(other, "Not this one.").state == "cancelled"
    events = server.call("GET", f"/v1/jobs/{other}/events", owner).text
    assert "Not this one." in events


def test_a_key_made_by_ones_own_approves_nothing_of_ones_own(server: Live) -> None:
    operator = server.key("b", "operator")
    job = crowd(server, operator).json()["id"]
    with Client(server.url, operator) as client:
        own, given = client.create_key("approver"), client.create_key("approver", person="Ben")
    with Client(server.url, own.key) as client, pytest.raises(ScopeMissing, match="another key"):
        client.approve(job)
    with Client(server.url, given.key) as client:
        assert client.approve(job).state == "queued"


def test_a_code_lets_a_crowd_run_at_once_in_every_route(server: Live) -> None:
    owner = server.key("b")
    refused = crowd(server, owner, code="123456")
    assert (refused.status_code, refused.json()["code"]) == (403, "codes_missing")
    phone = enrolled(server, owner)
    assert crowd(server, owner, code="12 x").status_code == 422
    code = code_of(server, phone)
    assert crowd(server, owner, code=code).json()["state"] == "queued"
    again = crowd(server, owner, target=OTHER_STILL, code=code)
    assert (again.status_code, again.json()["code"]) == (403, "code_refused")
    waiting = crowd(server, owner, path="/v1/swap", target=OTHER_STILL)
    assert (waiting.status_code, waiting.json()["state"]) == (202, "awaiting_approval"), "and at once"
    with Client(server.url, owner) as client:
        with pytest.raises(CodeRefused):
            client.confirm(waiting.json()["id"], code)
        assert client.confirm(waiting.json()["id"], code_of(server, phone, 1)).state == "queued"


def test_the_client_sends_a_code_along(server: Live) -> None:
    owner = server.key("b")
    with Client(server.url, owner) as client:
        with pytest.raises(CodesMissing):
            client.submit([STILL, OTHER_STILL], STILL, faces="all", one_time_code="123456")
        phone = enrolled(server, owner)
        made = client.submit([STILL, OTHER_STILL], STILL, faces="all", one_time_code=code_of(server, phone))
        assert made.state == "queued"


def test_a_job_is_deleted_with_a_receipt_and_answers_410_from_then_on(server: Live) -> None:
    job = server.submit()
    with Client(server.url, server.owner) as client:
        with pytest.raises(JobUnfinished):
            client.delete_data(job)
        server.work()
        assert server.call("GET", f"/v1/jobs/{job}/result").content == RESULT
        assert client.deletions(job).data == ()
        [receipt] = client.delete_data(job).data
        assert receipt.what == ("inputs", "output") and receipt.reason == "asked"
        assert client.delete_data(job).data == (receipt,)
        seen = client.job(job)
        assert seen.data_deleted and "result" not in seen.links and seen.state == "succeeded"
        with pytest.raises(DataDeleted):
            client.download(job, Path("nowhere"))
        server.seal()
        [sealed] = client.deletions(job).data
        assert sealed.position and sealed.digest
    server.app.state.watch.step()
    metrics = server.client.get("/metrics").text
    assert 'secondface_files_deleted_total{reason="asked"} 3.0' in metrics
    gone = server.call("GET", f"/v1/jobs/{job}/result")
    assert (gone.status_code, gone.json()["code"]) == (410, "data_deleted")
    assert not server.objects.keys(f"jobs/{job}/")
    assert server.call("DELETE", f"/v1/jobs/{job}/data", server.key("b")).json()["code"] == "job_missing"


def test_the_audit_is_handed_out_and_checked(server: Live, tmp_path: Path) -> None:
    server.submit()
    server.work()
    refused = server.call("POST", "/v1/jobs", json={**server.request(), "tier": "nobody"})
    assert refused.status_code == 422
    server.seal()
    with Client(server.url, server.key("a", "operator")) as operator:
        server.seal()
        found = operator.audit_check()
        assert found.whole and found.anchored and found.public_key == server.audit_key.public_key
        path = operator.audit_export(tmp_path / "audit.jsonl")
    text = path.read_text("utf-8")
    assert check(text.splitlines(keepends=True), holds, server.audit_key.public_key).whole
    assert not (tmp_path / "audit.jsonl.part").exists()
    for word in ("target_sha256", "job.refused", "invalid_option", "127.0.0.1"):
        assert word in text, word
    assert "PICTURE" not in text and "sf_" not in text
    cut = text.splitlines(keepends=True)[:-1]
    assert check(cut, holds, server.audit_key.public_key).flaw == "truncated"
