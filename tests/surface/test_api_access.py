"""Every route with every scope, without a key, and too often."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, get_args

import pytest

from secondface.domain.accounts import ROLE_SCOPES, Key, Role, Scope
from tests.surface.live import CLIP, Live, live

OPEN = {
    ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/errors/{code}"),
    ("PUT", "/v1/files/{key}"), ("GET", "/v1/files/{key}"),
}  # fmt: skip
"""What needs no key: files have their signed links."""
ANY: frozenset[Scope] = frozenset(get_args(Scope))
NEEDS: dict[tuple[str, str], frozenset[Scope]] = {
    ("POST", "/v1/jobs"): frozenset({"jobs:write"}),
    ("GET", "/v1/jobs"): frozenset({"jobs:read"}),
    ("GET", "/v1/jobs/{job_id}"): frozenset({"jobs:read"}),
    ("GET", "/v1/jobs/{job_id}/events"): frozenset({"jobs:read"}),
    ("GET", "/v1/jobs/{job_id}/result"): frozenset({"jobs:read"}),
    ("GET", "/v1/jobs/{job_id}/receipt"): frozenset({"billing:read"}),
    ("DELETE", "/v1/jobs/{job_id}"): frozenset({"jobs:write"}),
    ("POST", "/v1/jobs/{job_id}/approve"): frozenset({"approve"}),
    ("POST", "/v1/jobs/{job_id}/reject"): frozenset({"approve"}),
    ("POST", "/v1/quotes"): frozenset({"jobs:write"}),
    ("POST", "/v1/swap"): frozenset(),  # it takes two of them: jobs:write and jobs:read
    ("POST", "/v1/uploads"): frozenset({"jobs:write"}),
    ("POST", "/v1/verify"): frozenset({"jobs:read"}),
    ("GET", "/v1/steps"): ANY,
    ("GET", "/v1/models"): ANY,
    ("GET", "/v1/prices"): ANY,
    ("GET", "/v1/account"): ANY,
    ("GET", "/v1/usage"): frozenset({"billing:read"}),
    ("GET", "/v1/ledger"): frozenset({"billing:read"}),
    ("POST", "/v1/webhooks"): frozenset({"jobs:write"}),
    ("GET", "/v1/webhooks"): frozenset({"jobs:read"}),
    ("PATCH", "/v1/webhooks/{webhook_id}"): frozenset({"jobs:write"}),
    ("GET", "/v1/webhooks/deliveries"): frozenset({"jobs:read"}),
    ("POST", "/v1/webhooks/deliveries/{delivery_id}/replay"): frozenset({"jobs:write"}),
    ("GET", "/v1/admin/accounts"): frozenset({"admin"}),
    ("POST", "/v1/admin/accounts"): frozenset({"admin"}),
    ("GET", "/v1/admin/accounts/{account_id}"): frozenset({"admin"}),
    ("PATCH", "/v1/admin/accounts/{account_id}"): frozenset({"admin"}),
    ("POST", "/v1/admin/accounts/{account_id}/deposits"): frozenset({"admin"}),
    ("PUT", "/v1/admin/accounts/{account_id}/budgets"): frozenset({"admin"}),
    ("GET", "/v1/admin/accounts/{account_id}/keys"): frozenset({"admin"}),
    ("POST", "/v1/admin/accounts/{account_id}/keys"): frozenset({"admin"}),
    ("DELETE", "/v1/admin/accounts/{account_id}/keys/{key_id}"): frozenset({"admin"}),
    ("POST", "/v1/admin/prices"): frozenset({"admin"}),
    ("GET", "/v1/admin/fleet"): frozenset({"admin"}),
    ("GET", "/v1/admin/audit"): frozenset({"admin"}),
    ("GET", "/v1/admin/reviews"): frozenset({"review"}),
    ("GET", "/v1/admin/reviews/{job_id}"): frozenset({"review"}),
    ("GET", "/v1/admin/reviews/{job_id}/result"): frozenset({"review"}),
    ("POST", "/v1/admin/reviews/{job_id}/approve"): frozenset({"review"}),
    ("POST", "/v1/admin/reviews/{job_id}/refuse"): frozenset({"review"}),
    ("GET", "/v1/admin/protected"): frozenset({"admin"}),
    ("POST", "/v1/admin/protected"): frozenset({"admin"}),
    ("POST", "/v1/admin/protected/{entry_id}/pictures"): frozenset({"admin"}),
    ("DELETE", "/v1/admin/protected/{entry_id}"): frozenset({"admin"}),
}
"""Any one of these scopes lets a caller in."""
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/admin/accounts"): {"name": "New"},
    ("PATCH", "/v1/admin/accounts/{account_id}"): {"name": "Same"},
    ("POST", "/v1/admin/accounts/{account_id}/deposits"): {"micros": 1, "reference": "r"},
    ("PUT", "/v1/admin/accounts/{account_id}/budgets"): {"span": "day", "limit_micros": 10**12},
    ("POST", "/v1/admin/accounts/{account_id}/keys"): {"role": "viewer"},
    ("POST", "/v1/admin/prices"): {"tier": "new", "price_micros": 1},
    ("POST", "/v1/admin/reviews/{job_id}/approve"): {"reason": "Seen."},
    ("POST", "/v1/admin/reviews/{job_id}/refuse"): {"reason": "Seen."},
    ("POST", "/v1/admin/protected"): {"pictures": [{"upload": "upl_none"}], "note": "Nobody"},
    ("POST", "/v1/admin/protected/{entry_id}/pictures"): {"pictures": [{"upload": "upl_none"}], "note": "Nobody"},
    ("POST", "/v1/uploads"): {},
    ("POST", "/v1/webhooks"): {"url": "http://192.0.2.1/"},
    ("PATCH", "/v1/webhooks/{webhook_id}"): {"enabled": True},
}


@pytest.fixture(scope="module")
def server() -> Generator[Live, None, None]:
    with live(refused_per_minute=10_000) as running:
        yield running


def routes(server: Live) -> Iterator[tuple[str, str]]:
    for path, operations in server.app.openapi()["paths"].items():
        for method in operations:
            yield method.upper(), path


def scoped(server: Live, scopes: frozenset[Scope]) -> str:
    """A key with exactly these scopes."""
    key, text = server.keyring.issue("a", "viewer")
    with server.transactions.begin() as work:
        work.accounts.save_key(
            Key(id=key.id, account="a", digest=key.digest, scopes=scopes, created_ms=key.created_ms)
        )  # fmt: skip
    return text


def ask(server: Live, route: tuple[str, str], key: str | None) -> tuple[int, str | None]:
    method, path = route
    filled = path.format(
        job_id="job_none", account_id="a", key_id="key_none", webhook_id="ep_none", delivery_id="msg_none", code="x",
        entry_id="prot_none", key="uploads/a/x",
    )  # fmt: skip
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    body = {"json": BODIES[route]} if route in BODIES else {}
    reply = server.client.request(method, filled, headers=headers, **body)
    code = reply.json().get("code") if reply.headers.get("content-type", "").startswith("application/problem") else None
    return reply.status_code, code


def test_the_matrix_knows_every_route(server: Live) -> None:
    assert set(routes(server)) == set(NEEDS) | OPEN


def test_each_route_with_each_scope(server: Live) -> None:
    keys = {scope: scoped(server, frozenset({scope})) for scope in get_args(Scope)}
    nothing = scoped(server, frozenset())
    wrong: list[object] = []
    for route, scopes in NEEDS.items():
        for scope, key in keys.items():
            status, code = ask(server, route, key)
            if (code == "scope_missing") != (scope not in scopes) or status == 401 or status >= 500:
                wrong.append((route, scope, status, code))
        status, code = ask(server, route, nothing)
        if (code == "scope_missing") != (scopes != ANY):
            wrong.append((route, "no scope", status, code))
    assert wrong == []


def test_no_route_works_without_a_key_that_holds(server: Live) -> None:
    revoked, text = server.keyring.issue("a", "operator")
    server.keyring.revoke("a", revoked.id)
    short = server.keyring.issue("a", "operator", expires_ms=1)[1]
    for route in NEEDS:
        for key in (None, "sf_nobody", text, short):
            assert ask(server, route, key) == (401, "key_unknown"), (route, key)
    refused = server.client.get("/v1/jobs")
    assert refused.headers["www-authenticate"].startswith("Bearer")


def test_a_key_is_no_password_of_another_scheme(server: Live) -> None:
    assert server.client.get("/v1/jobs", auth=("x", server.owner)).json()["code"] == "key_unknown"
    assert server.client.get("/v1/jobs", params={"key": server.owner}).json()["code"] == "key_unknown"


@pytest.mark.parametrize("role", get_args(Role))
def test_a_role_is_its_scopes(server: Live, role: Role) -> None:
    own = server.call("GET", "/v1/account", server.key("a", role)).json()
    assert set(own["scopes"]) == ROLE_SCOPES[role]


def test_a_suspended_account_is_out_at_once(server: Live) -> None:
    operator = server.key("a", "operator")
    made = server.call("POST", "/v1/admin/accounts", operator, json={"name": "Short"}).json()["id"]
    issued = server.call("POST", f"/v1/admin/accounts/{made}/keys", operator, json={"role": "owner"}).json()
    assert server.call("GET", "/v1/account", issued["key"]).json()["id"] == made
    server.call("PATCH", f"/v1/admin/accounts/{made}", operator, json={"suspended": True})
    assert server.call("GET", "/v1/account", issued["key"]).json()["code"] == "access_problem"
    server.call("PATCH", f"/v1/admin/accounts/{made}", operator, json={"suspended": False})
    server.call("DELETE", f"/v1/admin/accounts/{made}/keys/{issued['id']}", operator)
    assert server.call("GET", "/v1/account", issued["key"]).json()["code"] == "key_unknown"


def test_a_key_is_shown_once(server: Live) -> None:
    operator = server.key("a", "operator")
    issued = server.call("POST", "/v1/admin/accounts/a/keys", operator, json={"role": "viewer", "name": "ci"}).json()
    listed = server.call("GET", "/v1/admin/accounts/a/keys", operator)
    assert issued["id"] in listed.text
    assert issued["key"] not in listed.text
    server.seal()
    assert issued["key"] not in server.call("GET", "/v1/admin/audit", operator, params={"limit": 1000}).text


def test_nobody_sees_the_jobs_of_others(server: Live) -> None:
    job = server.submit()
    stranger = server.key("b")
    for path in ("", "/events", "/result", "/receipt"):
        assert server.call("GET", f"/v1/jobs/{job}{path}", stranger).json()["code"] == "job_missing"
    assert server.call("DELETE", f"/v1/jobs/{job}", stranger).json()["code"] == "job_missing"
    assert server.call("GET", f"/v1/jobs/{job}").json()["state"] == "queued"
    assert job not in server.call("GET", "/v1/jobs", stranger).text


def test_money_budgets_and_prices_are_the_operators(server: Live) -> None:
    operator, paid = server.key("a", "operator"), {"micros": 5, "reference": "once"}
    before = server.call("GET", "/v1/admin/accounts/b", operator).json()["balance_micros"]
    for _ in range(2):
        after = server.call("POST", "/v1/admin/accounts/b/deposits", operator, json=paid).json()
    assert after["balance_micros"] == before + 5
    server.call("PUT", "/v1/admin/accounts/b/budgets", operator, json={"span": "day", "limit_micros": 1})
    refused = server.call("POST", "/v1/jobs", server.key("b"), files={"target": ("t", CLIP)})
    assert refused.status_code == 402
    book = server.call("POST", "/v1/admin/prices", operator, json={"tier": "cpu", "price_micros": 777}).json()
    assert [row["price_micros"] for row in book["data"] if row["tier"] == "cpu"][-1] == 777
    assert server.call("GET", "/v1/admin/accounts/nobody", operator).json()["code"] == "account_missing"
    audit = server.seal() or server.call("GET", "/v1/admin/audit", operator, params={"check": True, "limit": 1000})
    kinds = {row["kind"] for row in audit.json()["data"]}
    assert {"account.deposit", "budget.set", "price.set"} <= kinds
    assert audit.json()["broken_at"] is None


def test_a_key_has_its_rate(server: Live) -> None:
    server.set_account("slow", requests_per_minute=5)
    key = server.key("slow")
    replies = [server.call("GET", "/v1/account", key) for _ in range(7)]
    assert [reply.status_code for reply in replies] == [200] * 5 + [429] * 2
    assert replies[-1].json()["code"] == "rate_limited"
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 12
    assert server.call("GET", "/v1/account").status_code == 200


def test_an_address_has_its_rate() -> None:
    with live(address_per_minute=10) as server:
        assert [server.call("GET", "/v1/account").status_code for _ in range(12)] == [200] * 10 + [429] * 2


def test_who_guesses_keys_is_slowed() -> None:
    with live(refused_per_minute=3) as server:
        codes = [server.client.get("/v1/jobs", headers={"Authorization": "Bearer sf_x"}) for _ in range(5)]
        assert [reply.status_code for reply in codes] == [401] * 3 + [429] * 2
        assert server.call("GET", "/v1/account").status_code == 200
