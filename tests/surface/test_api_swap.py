"""Two pictures in, one out, while the caller waits; the answer's type is what was accepted."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from secondface.domain.pricing import Usage
from secondface.gateway import desk, streams
from secondface.gateway.acceptance import picture_asked
from secondface.gateway.desk import desk_of_application
from secondface.gateway.refusals import NotAcceptable
from tests.surface.live import CLIP, OTHER_STILL, RESULT, STILL, Live, live


@pytest.fixture(scope="module")
def server() -> Generator[Live, None, None]:
    with live() as running:
        yield running


def pictures(server: Live) -> list[tuple[str, tuple[str, bytes]]]:
    return [("source", ("a", STILL)), ("target", ("b", OTHER_STILL + server.ids.new("x").encode()))]


@pytest.mark.parametrize(
    ("accept", "kind", "ending"),
    [
        ("image/jpeg", "image/jpeg", "jpg"),
        ("image/webp, image/avif;q=0.5", "image/webp", "webp"),
        ("image/avif", "image/avif", "avif"),
        ("*/*", "image/png", "png"),
        ("text/html, image/*;q=0.1", "image/png", "png"),
    ],
)
def test_the_picture_comes_back(server: Live, accept: str, kind: str, ending: str) -> None:
    with server.working():
        reply = server.call("POST", "/v1/swap", files=pictures(server), headers={"Accept": accept})
    assert (reply.status_code, reply.headers["content-type"], reply.content) == (200, kind, RESULT)
    job = server.call("GET", reply.headers["location"]).json()
    assert job["id"] == reply.headers["x-job-id"]
    with server.transactions.view() as work:
        assert f'"output_name":"out.{ending}"' in work.jobs.get(job["id"]).spec


def test_who_waits_hears_of_the_end_before_it_looks(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SHORTEST_LOOK_S", "_LONGEST_LOOK_S"):
        monkeypatch.setattr(desk, name, 600.0)  # longer than the client waits

    def work() -> None:
        server.service.news.spread(server.work())

    thread = threading.Thread(target=work)
    thread.start()
    reply = server.call("POST", "/v1/swap", files=pictures(server), headers={"Prefer": "wait=100"})
    thread.join(20)
    assert (reply.status_code, reply.content) == (200, RESULT)


def test_a_stream_hears_of_the_end_before_it_looks(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_LOOK_S", 600.0)
    job = server.submit()
    with server.client.stream(
        "GET", f"/v1/jobs/{job}/events", headers={"Authorization": f"Bearer {server.owner}"}
    ) as reply:
        words = reply.iter_text()
        said = next(words)
        while "job.accepted" not in said:
            said += next(words)
        server.service.news.spread("another")
        server.service.news.spread(server.work())
        said += "".join(words)
    assert "event: job.succeeded" in said


def test_what_takes_longer_is_a_job_to_follow(server: Live) -> None:
    headers = {"Prefer": "respond-async, wait=1"}
    reply = server.call("POST", "/v1/swap", files=pictures(server), headers=headers)
    assert (reply.status_code, reply.json()["state"]) == (202, "queued")
    server.call("DELETE", reply.headers["location"])


def test_a_swap_that_cannot_be_done_says_why(server: Live) -> None:
    def fail() -> None:
        usage = Usage(run_ms=10, device_active_ms=10)
        lease = server.claim().lease
        server.desk.fail(lease, usage, error="no_face_in_source", fault="caller", retryable=False)

    thread = threading.Thread(target=fail)
    thread.start()
    reply = server.call("POST", "/v1/swap", files=pictures(server))
    thread.join(20)
    assert (reply.status_code, reply.json()["code"]) == (422, "no_face_in_source")


@pytest.mark.parametrize("accept", ["text/html", "image/png;q=0", "image/gif", "application/json"])
def test_what_cannot_be_made_is_refused_before_anything_is_read(server: Live, accept: str) -> None:
    reply = server.call("POST", "/v1/swap", files=pictures(server), headers={"Accept": accept})
    assert (reply.status_code, reply.json()["code"]) == (406, "not_acceptable")


def test_videos_are_jobs(server: Live) -> None:
    reply = server.call("POST", "/v1/swap", files=[pictures(server)[0], ("target", ("t", CLIP))])
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_option")
    assert "POST /v1/jobs" in reply.json()["detail"]


def test_a_swap_needs_a_new_face(server: Live) -> None:
    reply = server.call("POST", "/v1/swap", files=pictures(server)[1:])
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid_option")
    assert "source" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("image/png;q=0.5, image/jpeg;q=0.5", "image/png"),
        ("image/jpeg, */*;q=0.1", "image/jpeg"),
        ("image/*, image/png;q=0", "image/jpeg"),
        ("", "image/png"),
        ("image/webp;q=x, image/avif", "image/avif"),
        ("IMAGE/JPEG", "image/jpeg"),
    ],
)
def test_accept_is_read_as_the_standard_says(accept: str, kind: str) -> None:
    assert picture_asked(accept)[1] == kind


def test_nothing_acceptable() -> None:
    with pytest.raises(NotAcceptable):
        picture_asked("image/*;q=0")


def test_who_waits_is_let_go_when_the_server_ends() -> None:
    with live() as server:
        job = server.submit()
        answers: list[str] = []
        waiting = [
            threading.Thread(target=lambda: answers.append(server.call("GET", f"/v1/jobs/{job}/events").text)),
            threading.Thread(
                target=lambda: answers.append(server.call("POST", "/v1/swap", files=pictures(server)).text)
            ),
        ]
        for thread in waiting:
            thread.start()
        server.claim()
        server.claim()  # what was sent to be swapped has reached the server, as events need not have
        desk_of_application(server.app).closing.set()
        for thread in waiting:
            thread.join(5)
            assert not thread.is_alive()
    assert sorted("job.accepted" in answer for answer in answers) == [False, True]
    assert '"state":"running"' in min(answers, key=lambda answer: "job.accepted" in answer)


def test_a_source_that_is_a_video_is_refused_at_the_door_by_its_part(server: Live) -> None:
    before = server.call("GET", "/v1/jobs").json()["data"]
    reply = server.call("POST", "/v1/swap", files=[("source", ("a", CLIP)), ("target", ("b", STILL))])
    assert (reply.status_code, reply.json()["code"]) == (422, "media_unsupported")
    assert reply.json()["detail"].startswith("source")
    assert server.call("GET", "/v1/jobs").json()["data"] == before
