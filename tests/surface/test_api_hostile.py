"""Requests that mean no good: too large, too slow, of the wrong kind, with tricks in their names."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from tests.surface.live import HASTY, STILL, Live, live


@pytest.fixture(scope="module")
def server() -> Generator[Live, None, None]:
    with live(bodies=HASTY, refused_per_minute=10_000, uploads_at_once=2) as running:
        yield running


def raw(server: Live, request: bytes, *more: tuple[float, bytes]) -> str:
    """What the server answers to bytes that no client would send."""
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=15) as line:
        line.sendall(request)
        for pause_s, data in more:
            if select.select([line], [], [], pause_s)[0]:
                break  # it has answered: whoever sends on has the line cut, and the answer with it
            line.sendall(data)
        answer = bytearray()
        try:
            while chunk := line.recv(65_536):
                answer += chunk
        except ConnectionResetError:
            pass  # what was said before is what counts
    return answer.decode("latin-1")


def head(server: Live, method: str, path: str, *lines: str) -> bytes:
    shown = ["Host: x", f"Authorization: Bearer {server.owner}", "Connection: close", *lines]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *shown, "", ""]).encode("latin-1")


def code_of(answer: str) -> tuple[int, str]:
    lines, _, body = answer.partition("\r\n\r\n")
    return int(lines.split()[1]), json.loads(body)["code"]


def link_of(server: Live) -> str:
    url = server.call("POST", "/v1/uploads", json={}).json()["url"]
    return url.removeprefix(server.url)


# ---- size ------------------------------------------------------------------------------------------------------------


def junk(megabytes: int) -> Iterator[bytes]:
    for _ in range(megabytes):
        yield b"\x00" * 2**20


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/swap", "/v1/quotes", "/v1/verify", "/v1/webhooks", "/v1/uploads"])
def test_junk_of_100_mb_is_refused_by_its_announcement(server: Live, path: str) -> None:
    lines = ("Content-Type: application/json", f"Content-Length: {100 << 20}")
    assert code_of(raw(server, head(server, "POST", path, *lines) + b"{" * 1000)) == (413, "body_too_large")


def test_junk_without_an_announcement_is_cut_off(server: Live) -> None:
    try:
        reply = server.call(
            "POST", "/v1/jobs", content=junk(100), headers={"Content-Type": "application/json"}
        )  # fmt: skip
    except httpx.TransportError:
        return  # the server hung up while the client was still sending: that is a refusal too
    assert (reply.status_code, reply.json()["code"]) == (413, "body_too_large")


def test_a_file_over_the_limit_is_not_kept(server: Live) -> None:
    before = list(server.objects.keys("uploads/"))
    lines = (f"Content-Length: {HASTY.file_bytes + 1}",)
    assert code_of(raw(server, head(server, "PUT", link_of(server), *lines)))[0] == 413
    boundary = "Content-Type: multipart/form-data; boundary=x"
    lines = (boundary, f"Content-Length: {100 << 20}")
    assert code_of(raw(server, head(server, "POST", "/v1/jobs", *lines))) == (413, "body_too_large")
    with contextlib.suppress(httpx.TransportError):  # the server may hang up while the client is still sending
        assert server.client.put(link_of(server), content=junk(8)).status_code == 413
    assert list(server.objects.keys("uploads/")) == before


@pytest.fixture
def narrow() -> Generator[Live, None, None]:
    """A server of its own, where account a may hold 1,000 bytes in uploads."""
    with live(bodies=HASTY, refused_per_minute=10_000) as running:
        running.set_account("a", max_upload_bytes=1_000)
        yield running


def test_an_account_that_holds_all_that_its_plan_allows_is_told_so(narrow: Live) -> None:
    def told(reply: httpx.Response) -> None:
        said = reply.json()
        assert (reply.status_code, said["code"], said["retryable"]) == (413, "uploads_full", False)
        assert said["remedy"]

    told(narrow.call("POST", "/v1/uploads", json={"size_bytes": 1_001}))
    link = link_of(narrow)
    told(narrow.client.put(link, content=b"x" * 1_001))
    told(narrow.client.put(link, content=iter([b"x" * 600] * 2)))
    assert narrow.objects.keys("uploads/") == []
    assert narrow.client.put(link, content=b"x" * 600).status_code == 200
    for path in ("/v1/jobs", "/v1/quotes", "/v1/swap"):
        told(narrow.call("POST", path, files={"target": STILL + b"x" * 600}))
    told(narrow.call("POST", "/v1/verify", files={"file": b"x" * 600}))
    [kept] = narrow.objects.keys("uploads/")
    narrow.objects.delete(kept)
    assert narrow.client.put(link, content=b"x" * 900).status_code == 200
    told(narrow.call("POST", "/v1/uploads", json={"size_bytes": 101}))
    assert narrow.upload(STILL, narrow.key("b")), "others are not touched by it"


def test_a_body_that_was_announced_too_large_for_the_plan_is_not_waited_for(narrow: Live) -> None:
    assert code_of(raw(narrow, head(narrow, "PUT", link_of(narrow), "Content-Length: 2000"))) == (413, "uploads_full")


def test_uploads_at_once_hold_no_more_than_the_plan_allows(narrow: Live) -> None:
    links = [link_of(narrow) for _ in range(8)]
    with ThreadPoolExecutor(8) as senders:
        sent = senders.map(lambda link: narrow.client.put(link, content=iter([b"x" * 100] * 3)).status_code, links)
        assert sorted(sent) == [200] * 3 + [413] * 5
    assert len(narrow.objects.keys("uploads/")) == 3


def test_a_form_has_few_parts_and_short_headers(server: Live) -> None:
    def part(name: str, extra: str = "") -> str:
        return f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n{extra}\r\nv\r\n'

    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    many = "".join(part("faces") for _ in range(200)) + "--x--\r\n"
    long = part("faces", f"X-A: {'y' * 20_000}\r\n") + "--x--\r\n"
    for body in (many, long):
        reply = server.call("POST", "/v1/jobs", content=body.encode(), headers=kind)
        assert (reply.status_code, reply.json()["code"]) == (422, "body_invalid")


# ---- time ------------------------------------------------------------------------------------------------------------


def test_a_body_that_stops_is_not_waited_for(server: Live) -> None:
    lines = ("Content-Type: application/json", "Content-Length: 1000")
    began = time.monotonic()
    assert code_of(raw(server, head(server, "POST", "/v1/jobs", *lines) + b"{")) == (408, "body_too_slow")
    assert time.monotonic() - began < 8


@pytest.mark.parametrize("first", [b"", b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n", b"\r\n"])
def test_a_connection_without_a_request_is_closed(server: Live, first: bytes) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0), timeout=15) as line:
        line.sendall(first)
        began, closed = time.monotonic(), False
        while not closed and time.monotonic() - began < 10:
            time.sleep(0.2)
            try:
                line.sendall(b"X: y\r\n" if first.startswith(b"GET") else b"")
                line.settimeout(0.05)
                closed = line.recv(100) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
    assert closed
    assert time.monotonic() - began < 8


def test_a_connection_with_pauses_between_requests_is_kept(server: Live) -> None:
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        ports = set()
        for _ in range(12):
            with client.stream("GET", "/healthz") as reply:
                reply.read()
                ports.add(reply.extensions["network_stream"].get_extra_info("client_addr"))
            time.sleep(0.2)
    assert len(ports) == 1


def test_a_drip_is_no_body(server: Live) -> None:
    lines = ("Content-Type: application/json", "Content-Length: 1000")
    drops = [(0.4, b" ")] * 10
    answer = raw(server, head(server, "POST", "/v1/jobs", *lines), *drops)
    assert code_of(answer) == (408, "body_too_slow")


def test_a_slow_upload_is_given_up_and_leaves_nothing(server: Live) -> None:
    before = list(server.objects.keys("uploads/"))
    request = head(server, "PUT", link_of(server), "Content-Length: 100000")
    assert code_of(raw(server, request + b"x" * 1000)) == (408, "body_too_slow")
    assert list(server.objects.keys("uploads/")) == before


def test_slow_uploads_do_not_keep_others_out(server: Live) -> None:
    lines = []
    try:
        for _ in range(2):
            line = socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0))
            line.sendall(head(server, "PUT", link_of(server), "Content-Length: 100000") + b"x")
            lines.append(line)
        time.sleep(0.3)
        assert server.call("GET", "/v1/jobs").status_code == 200
        refused = server.client.put(link_of(server), content=STILL)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    finally:
        for line in lines:
            line.close()
    until = time.monotonic() + 10
    while server.client.put(link_of(server), content=STILL).status_code == 429:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_sender_that_hangs_up_leaves_nothing(server: Live) -> None:
    before = list(server.objects.keys("uploads/"))
    with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 0)) as line:
        line.sendall(head(server, "PUT", link_of(server), "Content-Length: 100000") + b"x" * 5000)
    time.sleep(0.3)
    assert list(server.objects.keys("uploads/")) == before
    assert server.call("GET", "/v1/jobs").status_code == 200


# ---- form ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["", "text/plain", "application/xml", "application/x-www-form-urlencoded", "a/b/c"])
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/verify", "/v1/webhooks", "/v1/uploads"])
def test_another_content_type_is_refused(server: Live, kind: str, path: str) -> None:
    reply = server.call("POST", path, content=b"{}", headers={"Content-Type": kind} if kind else {})
    assert (reply.status_code, reply.json()["code"]) == (415, "content_type_unsupported")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 50_000, b'{"a":' * 10_000,
        b'{"target": {"upload": "upl_x"}, "max_cost_micros": NaN}', b'{"target": 1e999}',
        b'{"target": {"upload": "upl_x"}, "deadline_s": 1' + b"0" * 5000 + b"}",
        b'{"target": {"upload": "upl_\\u0000"}}', b'{"target": {"url": "\\ud800http://"}}',
    ],
    ids=range(14),
)  # fmt: skip
def test_what_is_no_json_of_a_job_is_refused(server: Live, body: bytes) -> None:
    reply = server.call("POST", "/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code in (404, 422), reply.text
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=", b"--\r\n"),
        (f"multipart/form-data; boundary={'x' * 71}", b""),
        ("multipart/form-data; boundary=x", b""),
        ("multipart/form-data; boundary=x", b"--x\r\n"),
        ("multipart/form-data; boundary=x", b"--y\r\n\r\n\r\n--y--"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\nno disposition\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="target"\r\n\r\nPICTURE'),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="who"\r\n\r\nx\r\n--x--\r\n'),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="tier"\r\n\r\n--x--\r\n'),
        ("multipart/form-data; boundary=x", b"\x00" * 1000),
    ],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_form_is_refused_without_a_word_to_the_terminal(
    server: Live, kind: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    reply = server.call("POST", "/v1/jobs", content=body, headers={"Content-Type": kind})
    assert (reply.status_code, reply.json()["code"]) == (422, "body_invalid")
    assert not [record for record in caplog.records if record.name.startswith("python_multipart")]


@pytest.mark.parametrize("options", [b"[]", b"{", b"1", b"\xff", b'{"faces": 1}', b'{"target": 1}'])
def test_options_of_a_form_are_checked_like_others(server: Live, options: bytes) -> None:
    files = [("options", ("", options)), ("target", ("t", STILL))]
    reply = server.call("POST", "/v1/jobs", files=files)
    assert (reply.status_code, reply.json()["code"]) == (422, "body_invalid")


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "..\\..\\boot.ini", "a/b\x00.png", "C:\\x", "x" * 500, "\u202egnp.exe", "", "."]
)
def test_a_file_name_decides_nothing(server: Live, name: str) -> None:
    made = server.call("POST", "/v1/jobs", files={"target": (name, STILL + server.ids.new("x").encode())})
    assert made.status_code == 202, made.text
    assert all(key.startswith(("uploads/a/upl_", "health/", "jobs/")) for key in server.objects.keys(""))
    server.call("DELETE", made.headers["location"])


@pytest.mark.parametrize(
    "key",
    [
        "../secret", "uploads/../../secret", "uploads/a/..%2f..%2fx", "%2e%2e/x", "uploads//x", "/etc/passwd",
        "uploads/a/x%00", "jobs/job_1/1/out.png", "uploads/b/upl_x", "uploads/a/x.part",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_link_is_for_one_file_and_method(server: Live, key: str, method: str) -> None:
    query = link_of(server).partition("?")[2]
    reply = server.client.request(method, f"/v1/files/{key}?{query}", content=b"x" if method == "PUT" else None)
    assert reply.status_code in (403, 404, 422), reply.text
    assert reply.json()["code"] in ("link_invalid", "route_missing", "body_invalid")


def test_a_link_expires_and_is_not_forged(server: Live) -> None:
    link = link_of(server)
    assert server.client.get(link).json()["code"] == "link_invalid"
    for changed in (link[:-1] + ("0" if link[-1] != "0" else "1"), link.replace("expires=", "expires=9")):
        assert server.client.put(changed, content=b"x").json()["code"] == "link_invalid"
    old = server.objects.link("uploads/a/upl_old", "PUT", -1).removeprefix(server.url)
    assert server.client.put(old, content=b"x").json()["code"] == "link_invalid"
    result = server.objects.link("jobs/job_1/1/out.png", "PUT", 60).removeprefix(server.url)
    assert server.client.put(result, content=b"x").json()["code"] == "link_invalid"


def test_a_signed_link_gives_the_file(server: Live) -> None:
    upload = server.upload(STILL)
    link = server.objects.link(f"uploads/a/{upload}", "GET", 60).removeprefix(server.url)
    reply = server.client.get(link, headers={"Range": "bytes=0-6"})
    assert (reply.status_code, reply.content) == (206, STILL[:7])
    assert reply.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in reply.headers["content-security-policy"]


# ---- addresses of the service itself ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/v2/jobs", "/v1/jobs/", "/v1//jobs", "/docs", "/v1/jobs/%00", "/errors/none"])
def test_what_is_not_there_is_not_there(server: Live, path: str) -> None:
    reply = server.call("GET", path)
    assert (reply.status_code, reply.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "PROPFIND"])
def test_other_methods_are_refused_with_those_that_fit(server: Live, method: str) -> None:
    reply = server.call(method, "/v1/jobs")
    assert (reply.status_code, reply.json()["code"]) == (405, "method_not_allowed")
    assert {"GET", "POST"} & set(reply.headers["allow"].replace(" ", "").split(","))


def test_web_pages_of_others_may_not_call_it(server: Live) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for reply in (server.client.options("/v1/jobs", headers=asked), server.call("GET", "/v1/jobs", headers=asked)):
        assert not [name for name in reply.headers if name.startswith("access-control")]


def test_web_pages_that_the_operator_names_may() -> None:
    with live(origins=("https://studio.example",)) as server:
        for origin, allowed in (("https://studio.example", True), ("https://evil.example", False)):
            reply = server.call("GET", "/v1/account", headers={"Origin": origin})
            assert (reply.headers.get("access-control-allow-origin") == origin) == allowed


def test_a_fault_of_ours_says_nothing_of_the_inside(server: Live) -> None:
    secret = "postgresql://user:password@db"

    def broken() -> object:
        raise RuntimeError(secret)

    before, server.service.admission.quote = server.service.admission.quote, lambda _submission: broken()  # type: ignore[method-assign, assignment]
    try:
        reply = server.call("POST", "/v1/quotes", json=server.request())
    finally:
        server.service.admission.quote = before  # type: ignore[method-assign]
    assert (reply.status_code, reply.json()["code"]) == (500, "internal_fault")
    assert secret not in reply.text
    assert reply.headers["x-request-id"] == reply.json()["request_id"]
