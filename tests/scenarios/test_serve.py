"""`secondface serve`: from the first start to a receipt, over HTTP, with real workers."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.scenarios.conftest import World

pytestmark = pytest.mark.slow


@contextmanager
def serving(secondface: World) -> Generator[tuple[httpx.Client, str | None], None, None]:
    """The running command: a client for it, and the key that it printed, if it did. It must end well when told to."""
    secondface.environment["SECONDFACE_DATA_DIR"] = str(secondface.folder / "data")
    process = secondface.start("serve", "--port", "0", "--json")
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline() or _why(process))
        with httpx.Client(base_url=said["url"], trust_env=False, timeout=120) as client:
            if said["key"]:
                client.headers["Authorization"] = f"Bearer {said['key']}"
            yield client, said["key"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, _why(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _why(process: subprocess.Popen[str]) -> str:
    process.kill()
    raise AssertionError(process.communicate()[1])


def events_of(client: httpx.Client, job: str) -> list[dict[str, Any]]:
    with client.stream("GET", f"{job}/events") as stream:
        return [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]


def upload(client: httpx.Client, content: bytes) -> dict[str, str]:
    made = client.post("/v1/uploads", json={}).json()
    sent = client.put(made["url"], content=content, headers={"Authorization": ""})
    assert sent.status_code == 200, sent.text
    return {"upload": made["id"]}


def test_a_picture_and_a_clip_from_upload_to_receipt(secondface: World) -> None:
    with serving(secondface) as (client, key):
        assert key is not None
        source = upload(client, secondface.person_b.read_bytes())
        for target, kind, first in (
            (secondface.person_a, "image/jpeg", b"\xff\xd8\xff"), (secondface.clip, "video/mp4", b"\x00\x00\x00"),
        ):  # fmt: skip
            words = {"sources": [source], "target": upload(client, target.read_bytes()), "max_cost_micros": 30_000}
            offer = client.post("/v1/quotes", json=words).json()
            made = client.post("/v1/jobs", json=words, headers={"Idempotency-Key": target.name})
            assert made.status_code == 202, made.text
            job = made.headers["location"]
            events = events_of(client, job)
            assert (events[0]["kind"], events[-1]["kind"]) == ("job.accepted", "job.succeeded"), events
            result = client.get(f"{job}/result")
            assert (result.headers["content-type"], result.content[:3]) == (kind, first)
            bill = client.get(f"{job}/receipt").json()
            assert 0 < bill["total_micros"] <= min(offer["upper_micros"], 30_000)
            assert bill["final"]
            marks = client.post("/v1/verify", files={"file": result.content}).json()
            assert marks["ai_made"]
            assert marks["problems"] == []
        spent = client.get("/v1/account").json()
        assert spent["held_micros"] == 0
        assert spent["balance_micros"] == 1_000_000_000 - client.get("/v1/usage").json()["total_micros"]
        assert client.get("/readyz").status_code == 200
    with serving(secondface) as (client, second_key):
        assert second_key is None  # shown once
        again = client.get("/v1/account", headers={"Authorization": f"Bearer {key}"}).json()
        assert again["balance_micros"] == spent["balance_micros"]


def test_two_pictures_in_one_out(secondface: World) -> None:
    with serving(secondface) as (client, _):
        files = {"source": secondface.person_a.read_bytes(), "target": secondface.person_b.read_bytes()}
        reply = client.post("/v1/swap", files=files, headers={"Accept": "image/webp", "Prefer": "wait=100"})
        assert (reply.status_code, reply.headers["content-type"]) == (200, "image/webp"), reply.text
        assert reply.content[8:12] == b"WEBP"
        junk = client.post("/v1/swap", files={"source": b"no picture", "target": b"none either"})
        assert (junk.status_code, junk.json()["code"]) == (422, "media_unsupported")
        broken = client.post("/v1/swap", files={"target": secondface.person_a.read_bytes()[:2_000]})
        assert (broken.status_code, broken.json()["fault"]) == (422, "caller"), broken.text


@pytest.mark.parametrize(("proxies", "noted"), [("", "127.0.0.1"), ("127.0.0.1", "203.0.113.9")])
def test_the_audit_notes_the_caller_and_believes_proxies_that_were_named(
    secondface: World, proxies: str, noted: str
) -> None:
    secondface.environment["SECONDFACE_TRUSTED_PROXIES"] = proxies
    with serving(secondface) as (client, _):
        said = {"X-Forwarded-For": "203.0.113.9"}
        made = client.post("/v1/admin/accounts", json={"name": "New"}, headers=said).json()["id"]
        until = time.monotonic() + 60
        while not (rows := _opened(client, made)):
            assert time.monotonic() < until, "the journal is not sealed"
            time.sleep(0.2)
    assert [row["address"] for row in rows] == [noted]


def _opened(client: httpx.Client, account: str) -> list[dict[str, Any]]:
    rows = client.get("/v1/admin/audit").json()["data"]
    return [row for row in rows if row["kind"] == "account.opened" and row["account"] == account]


def test_a_port_that_is_taken_is_said_at_once(secondface: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = secondface("serve", "--port", str(taken.getsockname()[1]), "--lang", "zh")
    assert told.code == 3
    assert "无法监听" in told.err
    assert secondface.files() == set()
