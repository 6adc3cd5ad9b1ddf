"""What the service sends and fetches for callers: webhooks, and inputs by address; nothing private, nothing twice."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

import pytest

from secondface.domain.deliveries import Delivery
from secondface.sdk import verify_webhook
from tests.surface.live import STILL, Live, live
from tests.surface.receiver import Receiver, receiver

NAMES = {
    "public.example": ["127.0.0.1"], "inside.example": ["10.0.0.1"], "meta.example": ["169.254.169.254"],
    "mixed.example": ["127.0.0.1", "10.0.0.1"],
}  # fmt: skip
"""Loopback stands for the public internet here: the operator of this server has let it in."""


class Names:
    """The resolver of this server: a table, and a name that means something else each time."""

    def __init__(self) -> None:
        self.turns = [["127.0.0.1"], ["10.0.0.1"]]

    async def __call__(self, name: str, _port: int) -> Sequence[str]:
        if name == "turning.example":
            return self.turns.pop(0)
        if name in NAMES:
            return NAMES[name]
        if name.startswith(("127.", "10.", "169.")):
            return [name]
        raise OSError("no such name")


@pytest.fixture(scope="module")
def far() -> Generator[Receiver, None, None]:
    with receiver() as running:
        yield running


@pytest.fixture
def server() -> Generator[Live, None, None]:
    with live(resolve=Names(), private_networks=("127.0.0.0/8",), fetch_s=20.0) as running:
        yield running


def submit(server: Live, url: str) -> tuple[int, str | None]:
    made = server.call("POST", "/v1/jobs", json={"target": {"url": url}})
    return made.status_code, made.json().get("code")


# ---- inputs by address -----------------------------------------------------------------------------------------------


def test_an_input_is_fetched_from_its_address(server: Live, far: Receiver) -> None:
    far.answers["/a.png"] = (200, {}, STILL)
    assert submit(server, f"http://public.example:{far.port}/a.png") == (202, None)
    method, path, headers, _ = far.got[-1]
    assert (method, path, headers["host"]) == ("GET", "/a.png", f"public.example:{far.port}")
    assert "authorization" not in headers
    assert "cookie" not in headers


@pytest.mark.parametrize(
    "url",
    [
        "http://inside.example/x", "http://meta.example/latest/meta-data", "http://mixed.example/x",
        "http://10.0.0.1/x", "http://169.254.169.254/x", "http://nowhere.example/x", "file:///etc/passwd",
        "ftp://public.example/x", "http://user:pass@public.example/x",
    ],
)  # fmt: skip
def test_addresses_inside_are_not_fetched(server: Live, url: str) -> None:
    assert submit(server, url) == (422, "address_forbidden")


def test_redirects_are_judged_like_the_first_address(server: Live, far: Receiver) -> None:
    there = f"http://public.example:{far.port}"
    far.answers |= {
        "/in": (302, {"Location": "http://inside.example/secret"}, b""),
        "/file": (302, {"Location": "file:///etc/passwd"}, b""),
        "/round": (302, {"Location": "/round"}, b""),
        "/once": (307, {"Location": "/b.png"}, b""),
        "/b.png": (200, {}, STILL + b" b"),
    }
    assert submit(server, f"{there}/in") == (422, "address_forbidden")
    assert submit(server, f"{there}/file") == (422, "address_forbidden")
    assert submit(server, f"{there}/round") == (422, "fetch_failed")
    assert submit(server, f"{there}/once") == (202, None)


def test_a_name_that_changes_leads_nowhere_new(server: Live, far: Receiver) -> None:
    """The name means the far server when it is judged and an inner one a moment later: only the first look counts."""
    far.answers["/c.png"] = (200, {}, STILL + b" c")
    assert submit(server, f"http://turning.example:{far.port}/c.png") == (202, None)
    assert submit(server, f"http://turning.example:{far.port}/c.png") == (422, "address_forbidden")


@pytest.mark.parametrize("status", [204, 401, 404, 500])
def test_an_address_that_has_no_file_is_refused(server: Live, far: Receiver, status: int) -> None:
    far.answers["/none"] = (status, {}, b"")
    assert submit(server, f"http://public.example:{far.port}/none") == (422, "fetch_failed")


def test_a_dead_address_and_a_file_that_is_too_large(server: Live, far: Receiver) -> None:
    assert submit(server, "http://public.example:1/x") == (422, "fetch_failed")
    far.answers["/large"] = (200, {}, b"x" * (5 << 20))
    assert submit(server, f"http://public.example:{far.port}/large") == (413, "media_too_large")
    assert server.objects.keys("uploads/") == []


def test_nothing_is_unpacked_on_the_way(server: Live, far: Receiver) -> None:
    far.answers["/bomb"] = (200, {"Content-Encoding": "gzip"}, STILL + b" d")
    assert submit(server, f"http://public.example:{far.port}/bomb") == (202, None)


@contextmanager
def dripping() -> Generator[int, None, None]:
    """A web server whose answer's head comes sign by sign and never ends; its port."""
    ended = threading.Event()

    def drip() -> None:
        with suppress(OSError):
            caller, _ = listening.accept()
            with caller:
                caller.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
                while not ended.wait(0.2):
                    caller.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        ended.set()
        thread.join(10)


def test_an_answer_whose_head_drips_is_given_up() -> None:
    """Each sign comes in time, so nothing but an end to the whole of it frees the request and its place."""
    with dripping() as port, live(resolve=Names(), private_networks=("127.0.0.0/8",), fetch_s=1.0) as server:
        assert submit(server, f"http://public.example:{port}/x") == (422, "fetch_failed")


# ---- webhooks --------------------------------------------------------------------------------------------------------


def settled(server: Live, key: str | None = None) -> Delivery:
    """The newest delivery once it was tried."""
    until = time.monotonic() + 15
    while time.monotonic() < until:
        with server.transactions.view() as work:
            found = work.outbox.page("a")
        if found and (found[0].tries or found[0].state != "pending"):
            return found[0]
        time.sleep(0.05)
    raise AssertionError("nothing was sent")


def test_a_webhook_is_sent_signed_and_once(server: Live, far: Receiver) -> None:
    far.got.clear()
    made = server.call("POST", "/v1/webhooks", json={"url": f"http://public.example:{far.port}/hook"})
    assert made.status_code == 201, made.text
    secret = made.json()["secret"]
    assert secret.startswith("whsec_")
    assert secret not in server.call("GET", "/v1/webhooks").text
    job = server.submit()
    server.work()
    assert settled(server).state == "delivered"
    [(method, path, headers, body)] = far.got
    assert (method, path, headers["content-type"]) == ("POST", "/hook", "application/json")
    verify_webhook(secret, headers, body)
    said = json.loads(body)
    assert (said["type"], said["data"]["id"], said["data"]["state"]) == ("job.succeeded", job, "succeeded")
    listed = server.call("GET", "/v1/webhooks/deliveries").json()["data"]
    assert [(each["state"], each["status"], each["tries"]) for each in listed] == [("delivered", 200, 1)]
    server.call("POST", f"/v1/webhooks/deliveries/{listed[0]['id']}/replay")
    until = time.monotonic() + 10
    while len(far.got) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert far.got[1][2]["webhook-id"] == headers["webhook-id"]


@pytest.mark.parametrize(
    ("status", "headers", "state"),
    [
        (500, {}, "pending"),
        (302, {"Location": "http://inside.example/"}, "pending"),
        (410, {}, "given_up"),
        (204, {}, "delivered"),
    ],
)
def test_answers_decide_what_follows(
    server: Live, far: Receiver, status: int, headers: dict[str, str], state: str
) -> None:
    far.answers["/s"] = (status, headers, b"")
    hook = server.call("POST", "/v1/webhooks", json={"url": f"http://public.example:{far.port}/s"}).json()["id"]
    server.submit()
    server.work()
    before = server.clock.now_ms()
    sent = settled(server)
    assert (sent.state, sent.status, sent.tries) == (state, status, 1)
    if state == "pending":
        assert 4_000 <= sent.due_ms - before <= 8_000
    enabled = {each["id"]: each["enabled"] for each in server.call("GET", "/v1/webhooks").json()["data"]}
    assert enabled[hook] == (status != 410)


def test_an_address_is_judged_when_it_is_called(server: Live) -> None:
    made = server.call("POST", "/v1/webhooks", json={"url": "http://turning.example/hook"})
    assert made.status_code == 201
    server.submit()
    server.work()
    sent = settled(server)
    assert (sent.state, sent.status) == ("pending", None)
    assert "not public" in sent.note


@pytest.mark.parametrize("url", ["http://inside.example/", "http://169.254.169.254/", "http://mixed.example/"])
def test_a_webhook_to_the_inside_is_refused_at_once(server: Live, url: str) -> None:
    refused = server.call("POST", "/v1/webhooks", json={"url": url})
    assert (refused.status_code, refused.json()["code"]) == (422, "address_forbidden")
    assert server.call("GET", "/v1/webhooks").json()["data"] == []


def test_a_webhook_that_is_off_gets_nothing(server: Live, far: Receiver) -> None:
    far.got.clear()
    hook = server.call("POST", "/v1/webhooks", json={"url": f"http://public.example:{far.port}/off"}).json()["id"]
    assert not server.call("PATCH", f"/v1/webhooks/{hook}", json={"enabled": False}).json()["enabled"]
    server.submit()
    server.work()
    time.sleep(1.5)
    assert far.got == []
    assert server.call("GET", "/v1/webhooks/deliveries").json()["data"] == []
