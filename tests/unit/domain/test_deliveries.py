"""When a webhook is tried again, and when it is given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from secondface.domain.accounts import ROLE_SCOPES, Account, Key
from secondface.domain.deliveries import PAUSES_S, Delivery, Endpoint, again, answered

FRESH = Delivery(id="d1", endpoint="e1", account="a", subject="job_1", kind="job.succeeded", body="{}", due_ms=0)


@pytest.mark.parametrize(("status", "state"), [(200, "delivered"), (204, "delivered"), (410, "given_up")])
def test_an_answer_that_ends_it(status: int, state: str) -> None:
    assert answered(FRESH, status, 10).state == state


@pytest.mark.parametrize("status", [None, 301, 404, 500])
def test_an_answer_that_does_not(status: int | None) -> None:
    tried = answered(FRESH, status, 10, jitter_ms=7)
    assert (tried.state, tried.due_ms, tried.tries, tried.id) == ("pending", 10 + 5_000 + 7, 1, "d1")


def test_about_75_hours_of_tries_and_then_no_more() -> None:
    delivery, at_ms = FRESH, 0
    while delivery.state == "pending":
        at_ms = max(at_ms, delivery.due_ms)
        delivery = answered(delivery, 503, at_ms)
    assert (delivery.state, delivery.tries) == ("given_up", len(PAUSES_S) + 1)
    assert 74 * 3_600_000 < at_ms < 78 * 3_600_000


def test_a_replay_starts_over_under_the_same_id() -> None:
    replayed = again(replace(FRESH, state="given_up", tries=15), 99)
    assert (replayed.state, replayed.tries, replayed.due_ms, replayed.id) == ("pending", 0, 99, "d1")


def test_an_endpoint_gets_what_it_asked_for() -> None:
    endpoint = Endpoint(id="e1", account="a", url="https://example.org", secret="s")
    assert endpoint.wants("job.failed")
    assert not endpoint.wants("job.progress")
    assert replace(endpoint, kinds=("job.progress",)).wants("job.progress")
    assert not replace(endpoint, enabled=False).wants("job.failed")


def test_a_key_holds_until_it_expires_or_is_revoked() -> None:
    key = Key(id="k", account="a", digest="d", scopes=ROLE_SCOPES["viewer"], expires_ms=10)
    assert (key.holds(9), key.holds(10)) == (True, False)
    assert not replace(key, revoked_ms=1).holds(2)
    assert replace(key, expires_ms=None).holds(10**15)


def test_only_the_operator_is_admin_and_no_developer_approves() -> None:
    assert [role for role, scopes in ROLE_SCOPES.items() if "admin" in scopes] == ["operator"]
    assert "approve" not in ROLE_SCOPES["developer"]
    assert Account(id="a", name="A").plan.max_running > 0
