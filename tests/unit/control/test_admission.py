"""What is accepted, at which price, and what is set aside."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from secondface.control.admission import Probed
from secondface.domain.accounts import Account, Plan
from secondface.domain.budgets import Budget, period_of
from secondface.domain.pricing import PriceRow, default_price_book
from secondface.errors import (
    BudgetExceeded,
    InvalidOption,
    MediaTooLarge,
    OutputFormatUnsupported,
    RequestChanged,
    ScopeMissing,
)
from tests.unit.control.service import FUNDS, SUBMISSION, Service, active

UPPER = 13 * 3_000


def test_a_job_is_accepted_with_its_price_and_its_hold(service: Service) -> None:
    job = service.submit().job
    assert (job.state, job.hold_micros, job.price.price_micros, job.expected_ms) == ("queued", UPPER, 3_000, 10_000)
    assert (service.balance("wallet:a"), service.balance("held:a")) == (FUNDS - UPPER, UPPER)
    assert service.kinds(job.id) == ["job.accepted"]
    assert service.bell.wait(["a10g"], 0)


def test_a_quote_is_what_is_then_held(service: Service) -> None:
    offer = service.admission.quote(SUBMISSION)
    assert (offer.expected_s, offer.upper_s, offer.expected_wall_ms) == (10, 13, 10_500)
    assert service.submit().job.hold_micros == offer.upper_micros


def test_a_price_is_bound_when_the_job_is_accepted(service: Service) -> None:
    at = datetime.fromtimestamp(service.clock.at_ms / 1000, UTC)
    book = default_price_book().replaced(PriceRow(tier="a10g", price_micros=9_000), at + timedelta(seconds=1))
    with service.transactions.begin() as work:
        work.accounts.save_prices(book)
    before = service.submit().job
    service.clock.at_ms += 1_000
    after = service.submit().job
    assert (before.price.price_micros, after.price.price_micros) == (3_000, 9_000)
    grant = service.claim()
    assert grant.lease.job_id == before.id
    service.desk.succeed(grant.lease, active(10_000), "out")
    assert service.balance("revenue:a") == 30_000


def test_a_plan_may_allow_some_formats_only(service: Service) -> None:
    service.set_account(Account(id="a", name="A", plan=Plan(formats=("jpeg", "mp4"))))
    caller = service.caller("a", "owner")
    assert service.submit(caller, probed=Probed(result="mp4")).job.state == "queued"
    with pytest.raises(OutputFormatUnsupported, match="jpeg, mp4"):
        service.submit(caller, probed=Probed(result="png"))
    assert service.submit(service.caller("b", "owner"), probed=Probed(result="png")).job.state == "queued"


def test_the_same_request_twice_is_one_job(service: Service) -> None:
    first = service.submit(idempotency_key="k")
    again = service.submit(idempotency_key="k")
    assert (again.job.id, first.replayed, again.replayed) == (first.job.id, False, True)
    assert service.balance("held:a") == UPPER
    with pytest.raises(RequestChanged):
        service.submit(idempotency_key="k", digest="other")
    assert service.submit(service.caller("b", "owner"), idempotency_key="k").job.id != first.job.id


def test_a_refused_request_leaves_its_key_free(service: Service) -> None:
    with pytest.raises(BudgetExceeded):
        service.submit(idempotency_key="k", probed=Probed(frames=10**6))
    assert not service.submit(idempotency_key="k", digest="smaller").replayed


@pytest.mark.parametrize(
    ("probed", "error"),
    [
        (Probed(pixels=10**9), MediaTooLarge),
        (Probed(frames=10**7), MediaTooLarge),
        (Probed(faces=17), InvalidOption),
    ],
)
def test_the_plan_has_limits(service: Service, probed: Probed, error: type[Exception]) -> None:
    with pytest.raises(error):
        service.submit(probed=probed)
    assert service.balance("held:a") == 0


def test_an_empty_wallet_is_refused_and_nothing_is_stored(service: Service) -> None:
    with pytest.raises(BudgetExceeded):
        service.submit(probed=Probed(frames=10**6))
    assert service.requests.page(service.owner) == []
    assert service.balance("held:a") == 0
    assert not service.bell.wait(["a10g"], 0)


def test_credit_lets_a_wallet_go_below_zero(service: Service) -> None:
    service.set_account(Account(id="a", name="A", credit_micros=FUNDS * 100))
    service.submit(probed=Probed(frames=10**6))
    assert service.balance("wallet:a") < 0


@pytest.mark.parametrize("span", ["day", "month"])
@pytest.mark.parametrize("of", ["account", "key"])
def test_budgets_count_what_is_promised(service: Service, span: str, of: str) -> None:
    scope = "account:a" if of == "account" else f"key:{service.owner.key_id}"
    service.submit()
    with service.transactions.begin() as work:
        work.ledger.set_budget(Budget(scope, span, 2 * UPPER))  # type: ignore[arg-type]
    service.submit()
    with pytest.raises(BudgetExceeded, match=scope):
        service.submit()
    service.desk.succeed(service.claim().lease, active(1_000), "out")
    with pytest.raises(BudgetExceeded):
        service.submit()
    service.desk.succeed(service.claim().lease, active(1_000), "out")
    service.submit()


def test_a_budget_starts_again_with_its_period(service: Service) -> None:
    with service.transactions.begin() as work:
        work.ledger.set_budget(Budget("account:a", "day", UPPER))
    service.submit()
    with pytest.raises(BudgetExceeded):
        service.submit()
    yesterday = period_of("day", service.clock.at_ms)
    service.clock.at_ms += 86_400_000
    service.submit()
    service.desk.succeed(service.claim().lease, active(2_000), "out")
    assert service.spent("account:a", yesterday) == (0, 6_000)
    assert service.spent("account:a", period_of("day", service.clock.at_ms)) == (UPPER, 0)


def test_max_cost_bounds_the_hold(service: Service) -> None:
    assert service.submit(max_cost_micros=9_000).job.hold_micros == 9_000
    assert service.submit(max_cost_micros=10**9).job.hold_micros == UPPER
    with pytest.raises(InvalidOption, match="3000"):
        service.submit(max_cost_micros=2_999)


def test_many_faces_wait_for_an_approver(service: Service) -> None:
    service.set_account(Account(id="a", name="A", plan=Plan(approval_above_faces=1)))
    owner = service.caller("a", "owner")
    assert service.submit(owner).job.state == "queued"
    assert service.submit(owner, probed=Probed(faces=2)).job.state == "awaiting_approval"


def test_faces_that_nobody_counted_wait_whatever_the_threshold(service: Service) -> None:
    """`all` on a picture of a crowd is not two faces, only because its pixels were not looked at yet."""
    service.set_account(Account(id="a", name="A", plan=Plan(approval_above_faces=4)))
    owner = service.caller("a", "owner")
    assert service.submit(owner, probed=Probed(faces=4)).job.state == "queued"
    assert service.submit(owner, probed=Probed(faces=2, counted=False)).job.state == "awaiting_approval"


def test_a_cached_result_is_free_and_at_once(service: Service) -> None:
    first = service.submit(cache_key="inputs+plan").job
    service.desk.succeed(service.claim().lease, active(10_000), "jobs/1/out.png")
    again = service.submit(cache_key="inputs+plan").job
    assert (again.state, again.cause, again.result) == ("succeeded", "cached", "jobs/1/out.png")
    assert (service.balance("held:a"), service.balance("revenue:a")) == (0, 30_000)
    assert service.requests.receipt(service.owner, again.id)[1].total_micros == 0
    assert service.kinds(again.id) == ["job.accepted", "job.succeeded"]
    service.clock.at_ms += 8 * 86_400_000
    assert service.submit(cache_key="inputs+plan").job.state == "queued"
    assert first.cache_key == "inputs+plan"


def test_a_failed_job_is_not_remembered(service: Service) -> None:
    service.submit(cache_key="k")
    service.desk.fail(service.claim().lease, active(1), error="e", fault="caller", retryable=False)
    assert service.submit(cache_key="k").job.state == "queued"


def test_who_may_only_look_may_not_submit(service: Service) -> None:
    with pytest.raises(ScopeMissing, match="jobs:write"):
        service.submit(service.caller("a", "viewer"))


def test_an_unknown_tier_is_refused_with_those_that_exist(service: Service) -> None:
    with pytest.raises(InvalidOption, match="a10g"):
        service.admission.quote(replace(SUBMISSION, tier="abacus"))
