"""Keys, scopes, approvals, rates, webhooks and the journal of it all."""

from __future__ import annotations

import json

import pytest

from secondface.control import webhooks
from secondface.control.accounts import Accounts
from secondface.control.auth import Rates
from secondface.control.housekeeping import Housekeeping, Housework
from secondface.control.subscriptions import Subscriptions
from secondface.domain.accounts import Account, Plan
from secondface.domain.deliveries import Delivery, Endpoint
from secondface.domain.pricing import default_price_book
from secondface.errors import AccessProblem, JobMissing, JobSettled, KeyUnknown, RateLimited, ScopeMissing
from secondface.sdk import verify_webhook
from secondface.spec.marks import watermark_text_of_job
from tests.hand_clock import HandClock
from tests.unit.control.service import Service, active

# ---- keys ------------------------------------------------------------------------------------------------------------


def test_a_key_is_known_by_its_text_and_its_text_is_kept_nowhere(service: Service) -> None:
    key, text = service.keyring.issue("a", "developer", name="ci")
    caller = service.keyring.caller(text)
    assert (caller.account.id, caller.key_id, caller.scopes) == ("a", key.id, key.scopes)
    with service.transactions.view() as work:
        assert text not in repr(work.accounts.keys("a"))
        assert text.removeprefix("sf_") not in repr(work.journal.since(key.id))
        assert [each.event.kind for each in work.journal.since(key.id)] == ["key.created"]


@pytest.mark.parametrize("text", ["", "sf_", "sf_nobody", "Bearer x", "é"])
def test_an_unknown_key_is_refused(service: Service, text: str) -> None:
    with pytest.raises(KeyUnknown):
        service.keyring.caller(text)


def test_a_revoked_or_expired_key_is_as_unknown_as_any(service: Service) -> None:
    key, text = service.keyring.issue("a", "developer")
    service.keyring.revoke("a", key.id)
    assert service.keyring.revoke("a", key.id).revoked_ms == service.clock.at_ms
    with pytest.raises(KeyUnknown):
        service.keyring.caller(text)
    _, short = service.keyring.issue("a", "developer", expires_ms=service.clock.at_ms + 1)
    service.keyring.caller(short)
    service.clock.at_ms += 1
    with pytest.raises(KeyUnknown):
        service.keyring.caller(short)


def test_keys_of_others_cannot_be_revoked(service: Service) -> None:
    key, text = service.keyring.issue("b", "developer")
    with pytest.raises(AccessProblem):
        service.keyring.revoke("a", key.id)
    service.keyring.caller(text)


def test_a_suspended_account_and_a_missing_one(service: Service) -> None:
    _, text = service.keyring.issue("a", "owner")
    service.set_account(Account(id="a", name="A", suspended=True))
    with pytest.raises(AccessProblem, match="suspended"):
        service.keyring.caller(text)
    with pytest.raises(AccessProblem, match="no account"):
        service.keyring.issue("nobody", "owner")


# ---- who may what ----------------------------------------------------------------------------------------------------


def test_an_account_sees_its_own_jobs_only(service: Service) -> None:
    job = service.submit().job
    stranger, operator = service.caller("b", "owner"), service.caller("b", "operator")
    for attempt in (
        lambda: service.requests.get(stranger, job.id),
        lambda: service.requests.receipt(stranger, job.id),
        lambda: service.requests.events(stranger, job.id),
        lambda: service.requests.cancel(stranger, job.id),
        lambda: service.requests.approve(stranger, job.id),
        lambda: service.requests.reject(stranger, job.id),
    ):
        with pytest.raises(JobMissing):
            attempt()
    assert service.requests.page(stranger) == []
    assert service.requests.get(operator, job.id).id == job.id
    watermark = watermark_text_of_job(job.id)
    assert service.requests.marked(stranger, watermark) is None
    assert service.requests.marked(operator, watermark) == job


def test_each_thing_needs_its_scope(service: Service) -> None:
    job = service.submit().job
    viewer, billing = service.caller("a", "viewer"), service.caller("a", "billing")
    assert service.requests.get(viewer, job.id) == job
    assert service.requests.page(viewer) == [job]
    assert service.requests.receipt(billing, job.id)[1].total_micros == 0
    for attempt in (
        lambda: service.requests.receipt(viewer, job.id),
        lambda: service.requests.cancel(viewer, job.id),
        lambda: service.requests.approve(viewer, job.id),
        lambda: service.requests.reject(viewer, job.id),
        lambda: service.requests.get(billing, job.id),
        lambda: service.requests.page(billing),
        lambda: service.requests.events(billing, job.id),
    ):
        with pytest.raises(ScopeMissing):
            attempt()


def test_nobody_approves_their_own_job(service: Service) -> None:
    service.set_account(Account(id="a", name="A", plan=Plan(approval_above_faces=0)))
    owner, approver = service.caller("a", "owner"), service.caller("a", "approver")
    job = service.submit(owner).job
    with pytest.raises(ScopeMissing, match="submitted"):
        service.requests.approve(owner, job.id)
    assert not service.bell.wait(["a10g"], 0)
    assert service.requests.approve(approver, job.id).state == "queued"
    assert service.bell.wait(["a10g"], 0)
    with pytest.raises(JobSettled):
        service.requests.approve(approver, job.id)


def test_a_rejected_job_gives_its_hold_back(service: Service) -> None:
    service.set_account(Account(id="a", name="A", plan=Plan(approval_above_faces=0)))
    job = service.submit(service.caller("a", "developer")).job
    approver = service.caller("a", "approver")
    assert service.requests.reject(approver, job.id).state == "cancelled"
    assert service.balance("held:a") == 0
    events = service.requests.events(service.owner, job.id)
    assert [(each.event.kind, each.actor.name) for each in events][1] == ("job.cancelled", f"key:{approver.key_id}")
    assert service.requests.events(service.owner, job.id, events[0].number) == events[1:]


# ---- rates -----------------------------------------------------------------------------------------------------------


def test_a_bucket_empties_and_fills_again() -> None:
    clock = HandClock()
    rates = Rates(clock)
    for _ in range(60):
        rates.take("key:k", 60)
    with pytest.raises(RateLimited) as refused:
        rates.take("key:k", 60)
    assert refused.value.facts["retry_after_s"] == 1
    rates.take("key:other", 60)
    clock.at_ms += 1_000
    rates.take("key:k", 60)
    with pytest.raises(RateLimited):
        rates.take("key:k", 60)
    clock.at_ms += 10**7
    for _ in range(60):
        rates.take("key:k", 60)
    with pytest.raises(RateLimited):
        rates.take("key:k", 60)


def test_a_slow_rate_says_how_long_to_wait() -> None:
    rates = Rates(HandClock())
    rates.take("address:x", 1)
    with pytest.raises(RateLimited) as refused:
        rates.take("address:x", 1)
    assert refused.value.facts["retry_after_s"] == 60


def test_many_names_do_not_fill_the_memory() -> None:
    rates = Rates(HandClock(), most_names=10)
    for number in range(1_000):
        rates.take(f"address:{number}", 1)
    assert len(rates._buckets) <= 10  # pyright: ignore[reportPrivateUsage]


# ---- webhooks --------------------------------------------------------------------------------------------------------


def subscribe(service: Service, *kinds: str, account: str = "a") -> Endpoint:
    endpoint = Endpoint(
        id=f"ep_{account}", account=account, url="https://example.org/hook", kinds=kinds,
        secret=webhooks.new_secret(service.ids),
    )  # fmt: skip
    with service.transactions.begin() as work:
        work.outbox.save_endpoint(endpoint)
    return endpoint


def test_the_end_of_a_job_is_told_to_who_wants_it(service: Service) -> None:
    subscribe(service)
    subscribe(service, account="b")
    job = service.submit().job
    service.desk.succeed(service.claim().lease, active(1_000), "out")
    with service.transactions.begin() as work:
        [delivery] = work.outbox.due(9, 1_000)
    body = json.loads(delivery.body)
    assert (delivery.endpoint, delivery.kind, body["type"]) == ("ep_a", "job.succeeded", "job.succeeded")
    assert (body["data"]["id"], body["data"]["state"]) == (job.id, "succeeded")


def test_every_step_is_told_to_who_asked_for_it(service: Service) -> None:
    subscribe(service, "job.accepted", "job.progress", "attempt.leased")
    service.submit()
    service.desk.beat(service.claim().lease, active(1), 5, 100)
    with service.transactions.view() as work:
        assert sorted(each.kind for each in work.outbox.page("a")) == ["job.accepted", "job.progress"]


def test_a_receiver_can_tell_a_real_delivery_from_a_forged_one(service: Service) -> None:
    endpoint = subscribe(service)
    service.submit()
    service.desk.succeed(service.claim().lease, active(1_000), "out")
    with service.transactions.view() as work:
        [delivery] = work.outbox.page("a")
    now_s = service.clock.at_ms // 1000
    given = webhooks.headers(delivery, endpoint.secret, now_s)
    verify_webhook(endpoint.secret, given, delivery.body, now_s=now_s + 299)
    rotated = given | {"webhook-signature": f"v1,bm9uc2Vuc2U= {given['webhook-signature']}"}
    verify_webhook(endpoint.secret, rotated, delivery.body, now_s=now_s)
    other = webhooks.new_secret(service.ids)
    for secret, headers, body, at in (
        (other, given, delivery.body, now_s),
        (endpoint.secret, given, delivery.body + " ", now_s),
        (endpoint.secret, given | {"webhook-id": "msg_x"}, delivery.body, now_s),
        (endpoint.secret, given, delivery.body, now_s + 301),
        (endpoint.secret, {}, delivery.body, now_s),
        (endpoint.secret, given | {"webhook-timestamp": "soon"}, delivery.body, now_s),
    ):
        with pytest.raises(AccessProblem):
            verify_webhook(secret, headers, body, now_s=at)


def test_the_signature_is_that_of_the_standard() -> None:
    """The example of the Standard Webhooks specification."""
    delivery = Delivery(
        id="msg_p5jXN8AQM9LWM0D4loKWxJek", endpoint="ep", account="a", subject="job", kind="job.succeeded",
        body='{"test": 2432232314}', due_ms=0,
    )  # fmt: skip
    assert webhooks.headers(delivery, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1614265330) == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_housekeeping_seals_forgets_and_prunes(service: Service) -> None:
    housekeeping = Housekeeping(service.transactions)
    service.submit(idempotency_key="k", cache_key="c")
    service.desk.succeed(service.claim().lease, active(1_000), "out")
    first = housekeeping.step()
    assert (first.sealed >= 5, first.forgotten, first.pruned) == (True, 0, 0)
    service.clock.at_ms += 86_400_001
    assert housekeeping.step() == Housework(0, 1, 0)
    service.clock.at_ms += 7 * 86_400_000
    with service.transactions.sole("housekeeping"):
        assert housekeeping.step() == Housework()
    assert housekeeping.step() == Housework(0, 0, 1)


def test_the_journal_seals_what_happened(service: Service) -> None:
    service.submit()
    service.desk.succeed(service.claim().lease, active(1_000), "out")
    with service.transactions.begin() as work:
        assert work.journal.seal() >= 5
        assert work.journal.broken() is None
        actors = {each.actor.name for each in work.journal.audit("a")}
    assert actors == {"operator", f"key:{service.owner.key_id}", "worker:w1"}


def test_the_journal_keeps_where_each_request_came_from(service: Service) -> None:
    key, text = service.keyring.issue("a", "operator")
    caller = service.keyring.caller(text, "192.0.2.7")
    accounts = Accounts(service.transactions, service.keyring, service.ids)
    service.submit(caller)
    service.desk.succeed(service.claim().lease, active(1_000), "out")
    service.requests.cancel(caller, service.submit(caller).job.id)
    accounts.change(caller, accounts.open(caller, "New", Plan()).id, suspended=True)
    accounts.deposit(caller, "a", 5, "once")
    accounts.set_budget(caller, "account:a", "day", 1)
    accounts.set_price(caller, default_price_book().rows[0])
    accounts.revoke_key(caller, "a", accounts.issue_key(caller, "a", "viewer")[0].id)
    Subscriptions(service.transactions, service.ids).subscribe(caller, "https://example.org/h", ("job.failed",))
    with service.transactions.begin() as work:
        work.journal.seal()
        rows = work.journal.audit(None)
    mine = [each for each in rows if each.actor.name == f"key:{key.id}"]
    assert {each.event.kind for each in mine} == {
        "job.accepted", "job.cancelled", "account.opened", "account.changed", "account.deposit", "budget.set",
        "price.set", "key.created", "key.revoked", "webhook.created",
    }  # fmt: skip
    assert {each.actor.address for each in mine} == {"192.0.2.7"}
    assert {each.actor.address for each in rows if each.actor.name == "worker:w1"} == {None}
