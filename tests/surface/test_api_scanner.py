"""The scanner at every door of the service: what is sent, what is named, what is fetched; and when it is away."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator
from typing import Any

import httpx
import pytest

from secondface.scanning.clamd import Clamd, Place
from tests.clamd import EICAR, NAME, Running, clamd
from tests.surface.live import LIMITS, OTHER_STILL, STILL, Live, live
from tests.surface.receiver import Receiver, receiver

HARMFUL = {"alone": EICAR, "behind a picture": STILL + EICAR, "both": b"PICTURE 800x600 " + EICAR + b" of one"}


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with clamd() as made:
        yield made


@pytest.fixture
def server(running: Running) -> Generator[Live]:
    with live(scanner=Clamd(Place.read(running.address), 30), private_networks=("127.0.0.0/8",)) as made:
        yield made


@pytest.fixture
def away() -> Generator[Live]:
    """A server whose scanner does not answer."""
    with live(scanner=Clamd(Place("127.0.0.1", 1), 5), private_networks=("127.0.0.0/8",)) as made:
        yield made


@pytest.fixture(scope="module")
def far() -> Generator[Receiver]:
    with receiver() as made:
        yield made


def problem(answer: httpx.Response) -> tuple[int, str, str, bool]:
    said = answer.json()
    return answer.status_code, said["code"], said["detail"], said["retryable"]


def sent(server: Live, content: bytes) -> httpx.Response:
    made = server.call("POST", "/v1/uploads", json={}).json()
    return server.client.put(made["url"], content=content)


def fetched(server: Live, far: Receiver, content: bytes) -> httpx.Response:
    far.answers["/x"] = (200, {}, content)
    return server.call("POST", "/v1/jobs", json={"target": {"url": f"{far.url}/x"}})


def form(server: Live, path: str, **files: bytes) -> httpx.Response:
    return server.call("POST", path, files=files)


def nothing_is_kept(server: Live) -> None:
    assert server.objects.keys("uploads/") == []
    assert server.call("GET", "/v1/jobs").json()["data"] == []


@pytest.mark.parametrize("case", HARMFUL)
def test_every_door_refuses_what_is_harmful(server: Live, far: Receiver, case: str) -> None:
    bad = HARMFUL[case]
    refusals = {
        "": sent(server, bad),
        "target: ": fetched(server, far, bad),
        "source: ": form(server, "/v1/jobs", source=bad, target=STILL),
        "file: ": form(server, "/v1/verify", file=bad),
    }
    for place, answer in refusals.items():
        assert problem(answer) == (422, "malware_found", f"{place}{NAME}", False)
    assert problem(form(server, "/v1/swap", target=bad))[:2] == (422, "malware_found")
    assert problem(form(server, "/v1/quotes", target=bad))[:2] == (422, "malware_found")
    nothing_is_kept(server)


def test_every_door_is_shut_while_the_scanner_is_away(away: Live, far: Receiver) -> None:
    why = "It cannot be reached."
    for place, answer in {
        "": sent(away, STILL),
        "target: ": fetched(away, far, STILL),
        "file: ": form(away, "/v1/verify", file=STILL),
    }.items():
        assert problem(answer) == (503, "scanner_unavailable", f"{place}{why}", True)
    nothing_is_kept(away)
    assert "127.0.0.1" not in sent(away, STILL).text  # where it stands is not for strangers
    ready = away.client.get("/readyz")
    assert (ready.status_code, ready.json()["problems"]) == (503, ["scanner: scanner_unavailable"])


def test_a_clean_file_passes_and_is_asked_about_once(server: Live) -> None:
    name = server.upload(STILL)
    words: dict[str, Any] = {"sources": [{"upload": name}], "target": {"upload": server.upload(OTHER_STILL)}}
    assert server.call("POST", "/v1/jobs", json=words).status_code == 202
    assert form(server, "/v1/jobs", source=STILL, target=OTHER_STILL).status_code == 202
    assert server.client.get("/readyz").status_code == 200
    figures = server.client.get("/metrics").text
    assert 'secondface_scans_total{verdict="clean"} 2.0' in figures
    assert 'secondface_scans_total{verdict="known"} 4.0' in figures


def test_a_file_from_before_there_was_a_scanner_is_asked_about_when_it_is_named(server: Live) -> None:
    for content, status in ((STILL + EICAR, 422), (STILL, 202)):
        server.objects.put("uploads/a/upl_0old", [content], "image/png")
        named = server.call("POST", "/v1/jobs", json={"target": {"upload": "upl_0old"}})
        assert named.status_code == status, named.text
    server.objects.put("uploads/a/upl_0old", [EICAR], "image/png")
    marks = server.call("POST", "/v1/verify", json={"upload": "upl_0old"})
    assert problem(marks) == (422, "malware_found", f"upload: {NAME}", False)


def test_a_refusal_is_in_the_audit_and_in_the_figures(server: Live) -> None:
    sent(server, EICAR)
    form(server, "/v1/jobs", target=EICAR)
    server.seal()
    rows = server.call("GET", "/v1/admin/audit?limit=100", server.key(role="operator")).json()["data"]
    told = [row for row in rows if row["kind"] == "upload.refused"]
    assert len(told) == 2
    for row in told:
        assert (row["facts"]["code"], row["facts"]["detail"]) == ("malware_found", NAME)
        assert row["facts"]["sha256"] == hashlib.sha256(EICAR).hexdigest()
        assert row["account"] == "a"
    assert {row["actor"].partition(":")[0] for row in told} == {"link", "key"}
    assert 'secondface_scans_total{verdict="found"} 2.0' in server.client.get("/metrics").text


def test_what_is_refused_for_its_size_is_not_scanned(server: Live) -> None:
    assert sent(server, bytes(LIMITS.file_bytes + 1)).status_code == 413
    assert "secondface_scans_total{" not in server.client.get("/metrics").text


def test_without_a_scanner_nothing_is_scanned() -> None:
    with live() as server:
        assert sent(server, STILL + EICAR).status_code == 200
        assert server.client.get("/readyz").status_code == 200
