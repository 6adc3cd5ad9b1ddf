"""Held results: nobody gets them, somebody decides, and who pays; and the list of protected people."""

from __future__ import annotations

from typing import Any

import pytest

from secondface.control.protected import ProtectedRegister
from secondface.control.reviews import Reviews
from secondface.control.settlement import Settlement
from secondface.domain.accounts import Account, Plan
from secondface.domain.findings import Finding
from secondface.domain.jobs import Job
from secondface.errors import (
    InvalidOption,
    JobMissing,
    JobSettled,
    LikenessUnconfirmed,
    ProtectedMissing,
    ScopeMissing,
)
from tests.unit.control.service import FUNDS, Service, active

FOUND = (Finding(rule="nsfw", verdict="hold", input="target", frame=75, at_ms=3000, score_permille=612),)
FACE = tuple(0.5 for _ in range(128))


@pytest.fixture
def reviews(service: Service) -> Reviews:
    return Reviews(service.transactions, Settlement(service.ids))


def held(service: Service, **fields: Any) -> Job:
    """A job that worked for four seconds and is held."""
    job = service.submit(**fields).job
    lease = service.claim().lease
    service.desk.succeed(lease, active(4_000), f"jobs/{job.id}/1/out.png", FOUND)
    return service.job(job.id)


def test_what_is_held_has_no_result_and_keeps_its_money_aside(service: Service) -> None:
    job = held(service, cache_key="c")
    assert (job.state, job.result, job.ended) == ("held", None, False)
    assert service.balance("held:a") == job.hold_micros > 0
    assert service.balance("revenue:a") == 0
    again = service.submit(cache_key="c").job
    assert again.state == "queued", "a held result is nobody's, not even the same caller's"
    with service.transactions.view() as work:
        (event,) = [each.event for each in work.journal.since(job.id) if each.event.kind == "job.held"]
    assert event.facts == {
        "rule": "nsfw", "input": "target", "frame": 75, "shown_ms": 3000, "score_permille": 612, "findings": 1,
    }  # fmt: skip


def test_a_reviewer_of_another_account_hands_it_out(service: Service, reviews: Reviews) -> None:
    job, reviewer = held(service, cache_key="c"), service.caller("b", "reviewer")
    assert [each.id for each in reviews.page(reviewer)] == [job.id]
    assert reviews.result(reviewer, job.id) == job.pending
    released = reviews.approve(reviewer, job.id, "a swimming lesson")
    assert (released.state, released.result, released.reason) == ("succeeded", job.pending, "a swimming lesson")
    assert service.balance("revenue:a") == 4 * 3_000
    assert (service.balance("held:a"), service.balance("wallet:a")) == (0, FUNDS - 12_000)
    assert service.kinds(job.id)[-3:] == ["job.held", "job.reviewed", "job.succeeded"]
    assert service.submit(cache_key="c").job.result == job.pending
    assert reviews.page(reviewer) == []
    assert reviews.get(reviewer, job.id).reason == "a swimming lesson"


def test_what_is_refused_is_paid_and_never_handed_out(service: Service, reviews: Reviews) -> None:
    job, reviewer = held(service, cache_key="c"), service.caller("b", "reviewer")
    refused = reviews.refuse(reviewer, job.id, "not here")
    assert (refused.state, refused.result, refused.error) == ("failed", None, "review_refused")
    assert service.balance("revenue:a") == 4 * 3_000
    assert service.submit(cache_key="c").job.state == "queued"
    with pytest.raises(JobSettled):
        reviews.approve(reviewer, job.id, "after all")
    with pytest.raises(JobSettled):
        reviews.result(reviewer, job.id)


def test_nobody_reviews_what_was_submitted_with_their_own_key(service: Service, reviews: Reviews) -> None:
    operator = service.caller("a", "operator")
    job = service.submit(operator).job
    service.desk.succeed(service.claim().lease, active(1_000), "out", FOUND)
    for decide in (reviews.approve, reviews.refuse):
        with pytest.raises(ScopeMissing, match="submitted"):
            decide(operator, job.id, "fine")
    assert service.job(job.id).state == "held"


@pytest.mark.parametrize("role", ["owner", "developer", "approver", "viewer", "billing"])
def test_without_the_scope_there_is_nothing_to_see(service: Service, reviews: Reviews, role: str) -> None:
    job, caller = held(service), service.caller("a", role)  # type: ignore[arg-type]
    for ask in (lambda: reviews.page(caller), lambda: reviews.get(caller, job.id),
                lambda: reviews.result(caller, job.id), lambda: reviews.approve(caller, job.id, "x")):  # fmt: skip
        with pytest.raises(ScopeMissing):
            ask()


def test_a_reviewer_sees_no_other_jobs_of_strangers(service: Service, reviews: Reviews) -> None:
    job, reviewer = service.submit().job, service.caller("b", "reviewer")
    with pytest.raises(JobMissing):
        reviews.get(reviewer, job.id)
    with pytest.raises(ScopeMissing):
        service.requests.get(reviewer, job.id)


def test_a_review_that_comes_after_the_deadline_costs_the_caller_nothing(service: Service, reviews: Reviews) -> None:
    job = held(service, deadline_ms=service.clock.at_ms + 60_000)
    service.clock.at_ms += 60_000
    assert service.desk.sweep() == 1
    assert service.job(job.id).state == "expired"
    assert (service.balance("revenue:a"), service.balance("wallet:a")) == (0, FUNDS)
    with pytest.raises(JobMissing):
        reviews.approve(service.caller("b", "reviewer"), job.id, "late")


def test_a_caller_who_gives_up_pays_what_was_worked(service: Service) -> None:
    job = held(service)
    assert service.requests.cancel(service.owner, job.id).state == "cancelled"
    assert service.balance("revenue:a") == 4 * 3_000


def test_a_job_that_was_asked_to_stop_is_not_held(service: Service) -> None:
    job = service.submit().job
    lease = service.claim().lease
    service.requests.cancel(service.owner, job.id)
    service.desk.succeed(lease, active(1_000), "out", FOUND)
    assert (service.job(job.id).state, service.job(job.id).pending) == ("cancelled", None)


def test_a_refusal_by_a_worker_says_where_and_the_caller_pays(service: Service) -> None:
    job = service.submit().job
    service.desk.fail(
        service.claim().lease, active(2_000), error="content_refused", fault="caller", retryable=False, findings=FOUND
    )
    ended = service.job(job.id)
    assert (ended.state, ended.error, ended.findings) == ("failed", "content_refused", FOUND)
    with service.transactions.view() as work:
        last = work.journal.since(job.id)[-1].event
    assert (last.kind, last.facts["rule"], last.facts["frame"], last.facts["shown_ms"]) == (
        "job.failed",
        "nsfw",
        75,
        3000,
    )
    assert service.balance("revenue:a") == 2 * 3_000


# ---- likeness --------------------------------------------------------------------------------------------------------


def test_a_plan_may_want_the_likeness_confirmed(service: Service) -> None:
    service.set_account(Account(id="a", name="A", plan=Plan(likeness_required=True)))
    owner = service.caller("a", "owner")
    with pytest.raises(LikenessUnconfirmed):
        service.submit(owner, uses_likeness=True)
    assert service.submit(owner).job.state == "queued", "a job without sources needs no word"
    job = service.submit(owner, uses_likeness=True, likeness_confirmed=True).job
    assert service.job(job.id).likeness_confirmed
    with service.transactions.view() as work:
        assert work.journal.since(job.id)[0].event.facts["likeness_confirmed"] is True


# ---- protected people ------------------------------------------------------------------------------------------------


def test_the_list_is_for_operators_and_the_audit_holds_no_note(service: Service) -> None:
    register, operator = ProtectedRegister(service.transactions, service.ids), service.caller("a", "operator")
    made = register.add(operator, [FACE], "Anna, letter of 3 May")
    assert register.since("") == register.since("another version")
    known = register.since("")
    assert known is not None and known.people == (made,)
    assert register.since(known.version) is None
    more = register.extend(operator, made.id, [FACE, FACE])
    assert (len(more.descriptors), more.note) == (3, made.note)
    assert register.version() != known.version
    register.remove(operator, made.id)
    assert (register.version(), list(register.all(operator))) == ("", [])
    with service.transactions.view() as work:
        said = [(each.event.kind, dict(each.event.facts)) for each in work.journal.since(made.id)]
    assert said == [
        ("protected.added", {"faces": 1}), ("protected.extended", {"faces": 3}), ("protected.removed", {}),
    ]  # fmt: skip
    for again in (lambda: register.remove(operator, made.id), lambda: register.extend(operator, made.id, [FACE])):
        with pytest.raises(ProtectedMissing):
            again()
    for wrong in ([], [FACE] * 33):
        with pytest.raises(InvalidOption):
            register.add(operator, wrong, "")
    for role in ("owner", "reviewer"):
        with pytest.raises(ScopeMissing):
            register.all(service.caller("a", role))
