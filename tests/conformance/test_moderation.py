"""What every judge of pictures promises: the one that is built in, and one behind HTTP on a real server."""

from __future__ import annotations

import base64
import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
import pytest

from secondface.errors import InvalidSetting, ModerationUnavailable
from secondface.fleet.moderation_service import ServiceModeration, ServiceTerms
from secondface.models.sessions import OrtSessions
from secondface.pipeline.moderation import UNJUDGED, BuiltInModeration, Moderation, Place, Sample
from secondface.spec.signing import key_of, signature
from secondface.vision.nsfw import NsfwScorer

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
SESSIONS = OrtSessions("cpu")
Reply = tuple[int, bytes]


def samples(count: int) -> list[Sample]:
    made = [np.full((40 + number, 60, 3), 20 * number + 40, np.uint8) for number in range(count)]
    return [Sample(Place(input="target", frame=number, at_ms=number * 40), rgb) for number, rgb in enumerate(made)]


class Judge:
    """A server that judges with the same model, checks each signature, and answers as a test tells it."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, list[dict[str, object]]]] = []
        self.names: list[str] = []
        self.answer: Callable[[], Reply] | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                name, stamp = self.headers["webhook-id"], self.headers["webhook-timestamp"]
                signed = self.headers["webhook-signature"] == signature(key_of(SECRET), name, stamp, body)
                fresh = abs(int(stamp) - time.time()) < 60
                outer.bodies.append(json.loads(body))
                outer.names.append(name)
                status, content = (outer.answer or outer.judge)() if signed and fresh else (401, b"")
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/judge"

    def judge(self) -> Reply:
        pictures = [
            np.asarray(cv2.imdecode(np.frombuffer(base64.b64decode(str(each["image"])), np.uint8), cv2.IMREAD_COLOR))[
                ..., ::-1
            ]
            for each in self.bodies[-1]["pictures"]
        ]
        scores = NsfwScorer(SESSIONS).scores(pictures)
        said = [{"opinions": [{"rule": "nsfw", "score": score}]} for score in scores]
        return 200, json.dumps({"pictures": said}).encode()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)


@pytest.fixture
def server() -> Iterator[Judge]:
    made = Judge()
    yield made
    made.stop()


def client(server: Judge, **terms: object) -> ServiceModeration:
    return ServiceModeration(ServiceTerms(**({"url": server.url, "secret": SECRET} | terms)))  # type: ignore[arg-type]


@pytest.fixture(params=["built in", "http"])
def judge(request: pytest.FixtureRequest) -> Iterator[Moderation]:
    if request.param == "built in":
        yield BuiltInModeration()
        return
    yield client(request.getfixturevalue("server"))


def test_every_picture_gets_its_opinions_in_order(judge: Moderation) -> None:
    asked = samples(5)
    together = judge.judge(asked, SESSIONS)
    assert len(together) == 5
    alone = [judge.judge([each], SESSIONS)[0] for each in asked]
    for one, other in zip(together, alone, strict=True):
        assert [each.rule for each in one] == ["nsfw"]
        assert one[0].score == pytest.approx(other[0].score, abs=1e-4)
        assert one[0].score is not None and 0 <= one[0].score <= 1


def test_no_picture_is_no_question(judge: Moderation) -> None:
    assert list(judge.judge([], SESSIONS)) == []


def test_both_judges_agree(server: Judge) -> None:
    here, there = BuiltInModeration().judge(samples(4), SESSIONS), client(server).judge(samples(4), SESSIONS)
    scores = [[each[0].score for each in opinions] for opinions in (here, there)]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)


def test_threads_may_ask_at_once(judge: Moderation) -> None:
    assert judge.at_once >= 1
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(len(judge.judge(samples(2), SESSIONS)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [2] * 4


# ---- what only a service can do --------------------------------------------------------------------------------------


def test_what_is_sent_says_where_it_is_from_and_is_small(server: Judge) -> None:
    client(server).judge(samples(2), SESSIONS)
    first, second = server.bodies[0]["pictures"]
    assert (first["input"], second["frame"], second["at_ms"]) == ("target", 1, 40)
    assert len(str(first["image"])) < 20_000


def test_verdicts_and_rules_of_its_own(server: Judge) -> None:
    said = {"pictures": [{"opinions": [{"rule": "violence", "score": 0.4}, {"rule": "list", "verdict": "refuse"}]}]}
    server.answer = lambda: (200, json.dumps(said).encode())
    (opinions,) = client(server).judge(samples(1), SESSIONS)
    assert [(each.rule, each.score, each.verdict) for each in opinions] == [
        ("violence", 0.4, None), ("list", None, "refuse"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (503, b""), (404, b""), (302, b""), (200, b"no json"), (200, b'{"pictures": []}'),
        (200, b'{"pictures": [{"opinions": [{"rule": "nsfw", "score": 7}]}]}'), (200, b"x" * (2 << 20)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("flags", [False, True])
def test_no_answer_hands_nothing_out_or_flags(server: Judge, status: int, body: bytes, flags: bool) -> None:
    server.answer = lambda: (status, body)
    asked = client(server, flags=flags)
    if not flags:
        with pytest.raises(ModerationUnavailable) as failed:
            asked.judge(samples(1), SESSIONS)
        assert (failed.value.fault, failed.value.retryable) == ("provider", True)
        return
    (opinions,) = asked.judge(samples(1), SESSIONS)
    assert [(each.rule, each.verdict) for each in opinions] == [(UNJUDGED, "hold")]


def test_a_failure_of_a_moment_is_tried_once_more(server: Judge) -> None:
    answers = iter([(503, b""), server.judge])

    def answer() -> Reply:
        following = next(answers)
        return following if isinstance(following, tuple) else following()

    server.answer = answer
    assert len(client(server).judge(samples(1), SESSIONS)) == 1
    assert len(server.bodies) == 2
    assert len(set(server.names)) == 1, "a repeated question has the same id"


def test_silence_ends_with_the_time(server: Judge) -> None:
    server.answer = lambda: time.sleep(3) or (200, b"")  # type: ignore[func-returns-value]
    began = time.monotonic()
    with pytest.raises(ModerationUnavailable):
        client(server, timeout_s=0.3).judge(samples(1), SESSIONS)
    assert time.monotonic() - began < 2.5


@pytest.fixture(params=["the head", "the body"])
def dripping(request: pytest.FixtureRequest) -> Iterator[str]:
    """An address whose answer comes byte by byte, each of them in time."""
    start = b"HTTP/1.1 200 OK\r\nx-slow: " if request.param == "the head" else b"HTTP/1.1 200 OK\r\n\r\n"
    stopped = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                self.request.sendall(start)
                while not stopped.wait(0.05):
                    self.request.sendall(b" ")
            except OSError:
                pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}/judge"
        stopped.set()
        listening.shutdown()
        thread.join(10)


def test_a_drip_ends_with_the_time(dripping: str) -> None:
    asked = ServiceModeration(ServiceTerms(url=dripping, secret=SECRET, timeout_s=0.4))
    began = time.monotonic()
    with pytest.raises(ModerationUnavailable, match="TimeoutError"):
        asked.judge(samples(1), SESSIONS)
    assert time.monotonic() - began < 5


def test_nobody_there() -> None:
    asked = ServiceModeration(ServiceTerms(url="http://127.0.0.1:9/judge", secret=SECRET, timeout_s=2))
    with pytest.raises(ModerationUnavailable, match="ConnectError"):
        asked.judge(samples(1), SESSIONS)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_%%%", "nonsense!"])
def test_a_secret_that_is_none_is_refused_at_the_start(secret: str) -> None:
    with pytest.raises(InvalidSetting):
        ServiceModeration(ServiceTerms(url="http://127.0.0.1:9", secret=secret))


def test_another_secret_is_not_listened_to(server: Judge) -> None:
    other = "whsec_" + base64.b64encode(b"z" * 32).decode()
    with pytest.raises(ModerationUnavailable, match="401"):
        client(server, secret=other).judge(samples(1), SESSIONS)
