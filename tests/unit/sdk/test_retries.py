"""What is asked again, after how long, and what a refusal becomes."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from secondface import errors
from secondface.sdk import AnswerUnreadable, Retries, ServiceRefused, ServiceUnreachable
from secondface.sdk.calls import Answer, Call, Unreachable
from secondface.sdk.problems import error_of
from secondface.sdk.retries import call
from tests.unit.sdk.played import STEADY, Played, good, refusal

LOOK = Call(method="GET", path="/v1/prices")
MAKE = Call(method="POST", path="/v1/keys", repeatable=False)


def test_asks_again_after_growing_pauses_when_nobody_answers() -> None:
    service = Played([Unreachable("cut")] * 3 + [good(fine=True)])
    assert json.loads(service.run(call(LOOK, STEADY)).body) == {"fine": True}
    assert service.pauses == [0.25, 0.5, 1.0]


def test_pauses_are_shortened_by_chance_to_no_less_than_half() -> None:
    assert Retries(chance=lambda: 0.0).pause_s(3) == 0.5
    assert Retries(chance=lambda: 1.0).pause_s(50) == 20.0


def test_gives_up_after_so_many_tries() -> None:
    service = Played([Unreachable("ConnectError: refused", sent=False)] * 9)
    with pytest.raises(ServiceUnreachable, match="refused"):
        service.run(call(LOOK, STEADY))
    assert len(service.calls) == STEADY.most_tries


def test_does_not_repeat_what_may_have_been_done() -> None:
    service = Played([Unreachable("cut off")])
    with pytest.raises(ServiceUnreachable):
        service.run(call(MAKE, STEADY))
    gateway = Played([Answer(502)])
    with pytest.raises(ServiceUnreachable):
        gateway.run(call(MAKE, STEADY))
    assert len(service.calls) == len(gateway.calls) == 1


def test_repeats_what_surely_never_arrived_or_was_refused_before_it_was_done() -> None:
    never = Unreachable("refused", sent=False)
    busy = refusal("rate_limited", 429, retryable=True)
    service = Played([never, busy, good(key="sf_1")])
    assert json.loads(service.run(call(MAKE, STEADY)).body) == {"key": "sf_1"}


@pytest.mark.parametrize("status", [429, 503])
def test_waits_for_as_long_as_the_service_asks(status: int) -> None:
    busy = refusal("rate_limited", status, retryable=True, headers={"retry-after": "7"})
    service = Played([busy, good()])
    service.run(call(LOOK, STEADY))
    assert service.pauses == [7.0]


def test_understands_a_date_as_time_to_wait() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    wished = STEADY.wished_s(Answer(503, {"retry-after": moment}))
    assert wished is not None
    assert 25 < wished <= 30
    assert STEADY.wished_s(Answer(503, {"retry-after": "soon"})) is None


def test_a_pause_that_is_too_long_goes_to_the_caller() -> None:
    service = Played([refusal("rate_limited", 429, retryable=True, headers={"retry-after": "3600"})])
    with pytest.raises(errors.RateLimited):
        service.run(call(LOOK, STEADY))
    assert service.pauses == []


def test_what_the_service_calls_final_is_not_repeated() -> None:
    service = Played([refusal("model_missing", 503, fault="provider", retryable=False)])
    with pytest.raises(errors.ModelMissing):
        service.run(call(LOOK, STEADY))
    assert len(service.calls) == 1


def test_a_refusal_becomes_the_class_of_its_code_and_keeps_the_services_remedy() -> None:
    raised = error_of(refusal("budget_exceeded", 402))
    assert type(raised) is errors.BudgetExceeded
    assert (raised.detail, raised.remedy) == ("A detail.", "The service's own remedy.")
    assert (raised.facts["status"], raised.facts["request_id"]) == (402, "req_1")
    assert pickle.loads(pickle.dumps(raised)).remedy == raised.remedy


def test_a_code_of_a_newer_service_is_kept_in_words() -> None:
    raised = error_of(refusal("moon_too_full", 422))
    assert type(raised) is ServiceRefused
    assert "moon_too_full" in str(raised)
    assert raised.facts["code"] == "moon_too_full"
    assert error_of(refusal("moon_too_full", 500, fault="provider")).fault == "provider"


def test_the_page_of_a_proxy_is_no_problem_document() -> None:
    assert type(error_of(Answer(404, {}, b"<html>nothing here"))) is AnswerUnreadable
    assert type(error_of(Answer(502, {}, b"<html>bad gateway"))) is ServiceUnreachable
