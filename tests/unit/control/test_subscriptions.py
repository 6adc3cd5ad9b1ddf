"""Webhooks of an account: what may be subscribed, how deliveries go on, and who sees them."""

from __future__ import annotations

import pytest

from secondface.control.subscriptions import Subscriptions
from secondface.domain.deliveries import Delivery
from secondface.errors import InvalidOption, ObjectMissing, ScopeMissing
from tests.unit.control.service import Service, active

HOOK = "https://example.org/hook"


@pytest.fixture
def subscriptions(service: Service) -> Subscriptions:
    return Subscriptions(service.transactions, service.ids)


def delivery(service: Service) -> Delivery:
    service.submit()
    service.desk.succeed(service.claim().lease, active(1_000), "out")
    with service.transactions.begin() as work:
        [due] = work.outbox.due(9, 60_000)
    return due


def test_a_subscription_has_a_secret_of_its_own(service: Service, subscriptions: Subscriptions) -> None:
    first, second = (subscriptions.subscribe(service.owner, HOOK, ["job.failed"]) for _ in range(2))
    assert first.secret.startswith("whsec_")
    assert first.secret != second.secret
    assert list(subscriptions.endpoints(service.owner)) == [first, second]
    assert subscriptions.endpoints(service.caller("b", "owner")) == []
    with service.transactions.view() as work:
        assert first.secret not in repr(work.journal.since(first.id))


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "http://example.org", "ftp://example.org", "https://", "https:///x", "https://u:p@example.org",
        "https://u@example.org", "https://example.org/#x", "https://exa mple.org", "https://example.org:x/", "https://é.org",
        "https://example.org/\n", "https://[::1", "https://example.org:99999/", "https://example.org/" + "x" * 2_000,
        "file:///etc/passwd", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_what_is_not_a_plain_https_url_is_refused(service: Service, subscriptions: Subscriptions, url: str) -> None:
    with pytest.raises(InvalidOption):
        subscriptions.subscribe(service.owner, url)
    assert subscriptions.endpoints(service.owner) == []


def test_plain_http_is_for_who_asks_for_it(service: Service) -> None:
    local = Subscriptions(service.transactions, service.ids, plain_http=True)
    assert local.subscribe(service.owner, "http://127.0.0.1:9/hook").url == "http://127.0.0.1:9/hook"


def test_there_are_not_too_many(service: Service, subscriptions: Subscriptions) -> None:
    for _ in range(20):
        subscriptions.subscribe(service.owner, HOOK)
    with pytest.raises(InvalidOption, match="20"):
        subscriptions.subscribe(service.owner, HOOK)


def test_a_delivery_that_failed_is_due_again_and_can_be_replayed(
    service: Service, subscriptions: Subscriptions
) -> None:
    subscriptions.subscribe(service.owner, HOOK)
    sent = delivery(service)
    later = subscriptions.answered(sent, 503, jitter_ms=3, note="busy")
    assert (later.state, later.due_ms, later.note) == ("pending", service.clock.at_ms + 5_003, "busy")
    done = subscriptions.answered(later, 204)
    assert list(subscriptions.deliveries(service.owner)) == [done]
    replayed = subscriptions.replay(service.owner, done.id)
    assert (replayed.id, replayed.state, replayed.tries) == (sent.id, "pending", 0)
    with service.transactions.begin() as work:
        assert [each.id for each in work.outbox.due(9, 1)] == [sent.id]


def test_a_receiver_that_is_gone_is_switched_off_and_can_be_switched_on(
    service: Service, subscriptions: Subscriptions
) -> None:
    endpoint = subscriptions.subscribe(service.owner, HOOK)
    assert subscriptions.answered(delivery(service), 410).state == "given_up"
    assert not subscriptions.endpoints(service.owner)[0].enabled
    service.submit()
    service.desk.succeed(service.claim().lease, active(1), "out")
    assert len(subscriptions.deliveries(service.owner)) == 1
    assert subscriptions.set_enabled(service.owner, endpoint.id, enabled=True).enabled


def test_nobody_sees_or_touches_those_of_others(service: Service, subscriptions: Subscriptions) -> None:
    endpoint = subscriptions.subscribe(service.owner, HOOK)
    sent = delivery(service)
    stranger, viewer = service.caller("b", "owner"), service.caller("a", "viewer")
    assert subscriptions.deliveries(stranger) == []
    for missing in (
        lambda: subscriptions.replay(stranger, sent.id),
        lambda: subscriptions.set_enabled(stranger, endpoint.id, enabled=False),
    ):
        with pytest.raises(ObjectMissing):
            missing()
    for forbidden in (
        lambda: subscriptions.subscribe(viewer, HOOK),
        lambda: subscriptions.replay(viewer, sent.id),
        lambda: subscriptions.set_enabled(viewer, endpoint.id, enabled=False),
        lambda: subscriptions.endpoints(service.caller("a", "billing")),
        lambda: subscriptions.deliveries(service.caller("a", "billing")),
    ):
        with pytest.raises(ScopeMissing):
            forbidden()
