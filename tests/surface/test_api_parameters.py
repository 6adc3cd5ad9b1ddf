"""Query parameters: those that a route has are taken, any other is refused with the names that there are."""

from __future__ import annotations

import re
from collections.abc import Generator

import pytest

from tests.surface.live import Live, live


@pytest.fixture(scope="module")
def server() -> Generator[Live, None, None]:
    with live() as running:
        yield running


def test_no_route_passes_over_a_parameter_that_it_does_not_have(server: Live) -> None:
    operator = server.key("a", "operator")
    routes = [(method, path) for path, known in server.app.openapi()["paths"].items() for method in known]
    for method, path in (*routes, ("get", "/openapi.json")):
        reply = server.call(method, re.sub(r"{\w+}", "x", path), operator, params={"no_such": "1"})
        assert (reply.status_code, reply.json()["code"]) == (422, "body_invalid"), path
        assert "no_such" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        ("/v1/jobs", "states", "write state."), ("/v1/jobs", "colour", "there is after, limit, state."),
        ("/v1/admin/audit", "Check", "write check."), ("/v1/account", "x", "this address takes none."),
    ],
)  # fmt: skip
def test_the_refusal_names_what_there_is(server: Live, path: str, asked: str, said: str) -> None:
    detail = server.call("GET", path, server.key("a", "operator"), params={asked: "1"}).json()["detail"]
    assert detail.endswith(said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"size_byte": 1}, "size_byte: there is no such field; write size_bytes."),
        ({"size_bytes": "x"}, "size_bytes: Input should be a valid integer, unable to parse string as an integer."),
    ],
)
def test_a_body_that_the_framework_reads_is_answered_like_any_other(
    server: Live, body: dict[str, object], said: str
) -> None:
    reply = server.call("POST", "/v1/uploads", json=body)
    assert (reply.status_code, reply.json()["code"]) == (422, "body_invalid")
    assert reply.json()["detail"] == said


def test_a_body_that_is_no_json_says_where_it_breaks(server: Live) -> None:
    reply = server.call("POST", "/v1/uploads", content=b'{"a', headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["code"]) == (422, "body_invalid")
    assert reply.json()["detail"].startswith("body.")
