"""Several faces at once need another person or a fresh code; nobody helps themselves."""

from __future__ import annotations

import pytest
from pyotp.totp import TOTP

from secondface.control.accounts import Accounts
from secondface.control.admission import Probed
from secondface.control.auth import Caller
from secondface.domain.accounts import Account, Plan
from secondface.domain.jobs import Job
from secondface.errors import (
    AccessProblem,
    AccountMissing,
    CodeRefused,
    CodesMissing,
    InternalFault,
    JobMissing,
    JobSettled,
    RateLimited,
    RequestChanged,
    ScopeMissing,
)
from tests.hand_key import hand_sealer
from tests.unit.control.service import Service, active

CROWD = Probed(frames=100, faces=3)


@pytest.fixture
def guarded(service: Service) -> Service:
    service.set_account(Account(id="a", name="A", plan=Plan(approval_above_faces=1)))
    service.owner = service.caller("a", "owner", "Ann")
    return service


def waiting(service: Service, caller: Caller | None = None, **changes: object) -> Job:
    job = service.submit(caller, probed=CROWD, **changes).job
    assert job.state == "awaiting_approval"
    return job


class Phone:
    """An authenticator."""

    def __init__(self, service: Service, caller: Caller) -> None:
        self._service = service
        made = service.codes.enrol(service.caller("b", "operator"), caller.account.id, caller.key_id)
        self.uri, self._totp = made.uri, TOTP(made.secret)

    def code(self, steps: int = 0) -> str:
        return self._totp.generate_otp(self._service.clock.at_ms // 30_000 + steps)


# ---- an approver -----------------------------------------------------------------------------------------------------


def test_nobody_approves_with_another_key_of_theirs(guarded: Service) -> None:
    job = waiting(guarded)
    for caller in (guarded.owner, guarded.caller("a", "approver", "Ann"), guarded.caller("b", "operator", "Ann")):
        with pytest.raises(ScopeMissing, match="submitted"):
            guarded.requests.approve(caller, job.id)
    assert guarded.requests.approve(guarded.caller("a", "approver", "Ben"), job.id).state == "queued"
    assert guarded.balance("held:a") == job.hold_micros > 0


def test_a_key_that_one_makes_is_ones_own_until_it_is_given_to_somebody(guarded: Service) -> None:
    accounts = Accounts(guarded.transactions, guarded.keyring, guarded.ids)
    operator = guarded.caller("a", "operator", "Ann")
    job = waiting(guarded, operator)
    own = guarded.keyring.caller(accounts.issue_key(operator, "a", "approver")[1])
    given = guarded.keyring.caller(accounts.issue_key(operator, "a", "approver", person="Ben")[1])
    with pytest.raises(ScopeMissing):
        guarded.requests.approve(own, job.id)
    assert guarded.requests.approve(given, job.id).state == "queued"
    with guarded.transactions.view() as work:
        persons = [work.journal.since(key.key_id)[0].event.facts["person"] for key in (own, given)]
    assert persons == ["Ann", "Ben"], "the audit shows whom an operator gave a key"


def test_an_operator_of_the_first_start_stays_one_person(service: Service) -> None:
    accounts, shown = Accounts(service.transactions, service.keyring, service.ids), list[str]()
    accounts.start(shown.append)
    accounts.start(shown.append, new_key=True)
    first, second = (service.keyring.caller(text) for text in shown)
    accounts.change(first, "default", plan={"approval_above_faces": 1})
    job = waiting(service, service.keyring.caller(shown[0]))
    with pytest.raises(ScopeMissing):
        service.requests.approve(second, job.id)


def test_who_may_approve_sees_what_waits(guarded: Service) -> None:
    job, approver = waiting(guarded), guarded.caller("a", "approver", "Ben")
    [seen] = guarded.requests.waiting(approver)
    assert (seen.job.id, seen.holder, seen.faces, seen.own) == (job.id, "Ann", 3, False)
    assert [each.own for each in guarded.requests.waiting(guarded.owner)] == [True]
    assert guarded.requests.waiting(guarded.caller("b", "approver")) == []
    assert [each.job.id for each in guarded.requests.waiting(guarded.caller("b", "operator"))] == [job.id]
    with pytest.raises(ScopeMissing):
        guarded.requests.waiting(guarded.caller("a", "developer"))


def test_a_refusal_says_why_and_gives_the_money_back(guarded: Service) -> None:
    job = waiting(guarded)
    guarded.requests.reject(guarded.caller("a", "approver"), job.id, "Nobody asked Ben.")
    [told] = [each for each in guarded.requests.events(guarded.owner, job.id) if each.event.kind == "job.cancelled"]
    assert told.event.facts["why"] == "Nobody asked Ben."
    assert guarded.balance("held:a") == 0


def test_what_nobody_approves_ends_by_itself_and_costs_nothing(guarded: Service) -> None:
    job, other = waiting(guarded), waiting(guarded, digest="other", idempotency_key="other")
    guarded.requests.approve(guarded.caller("a", "approver"), other.id)
    guarded.clock.at_ms += 86_400_000 - 1
    assert guarded.waiting_room.step() == 0
    guarded.clock.at_ms += 1
    assert guarded.waiting_room.until_ms(job) == guarded.clock.at_ms
    assert guarded.waiting_room.step() == 1
    ended = guarded.job(job.id)
    assert (ended.state, ended.cause, ended.error) == ("expired", "unapproved", "approval_expired")
    assert guarded.job(other.id).state == "queued"
    assert guarded.balance("held:a") == other.hold_micros


def test_an_earlier_result_is_not_handed_out_before_the_second_authorisation(guarded: Service) -> None:
    first = waiting(guarded, cache_key="c")
    guarded.requests.approve(guarded.caller("a", "approver"), first.id)
    guarded.desk.succeed(guarded.claim().lease, active(10), "out")
    assert waiting(guarded, cache_key="c").result is None
    phone = Phone(guarded, guarded.owner)
    again = guarded.submit(probed=CROWD, cache_key="c", one_time_code=phone.code()).job
    assert (again.state, again.result) == ("succeeded", "out")


# ---- a fresh code ----------------------------------------------------------------------------------------------------


def test_a_fresh_code_takes_the_place_of_an_approver_once(guarded: Service) -> None:
    phone = Phone(guarded, guarded.owner)
    code = phone.code()
    job = guarded.submit(probed=CROWD, one_time_code=code).job
    assert job.state == "queued"
    with guarded.transactions.view() as work:
        assert work.journal.since(job.id)[0].event.facts["authorised"] == "one_time_code"
    with pytest.raises(CodeRefused, match="used before"):
        guarded.submit(probed=CROWD, one_time_code=code)
    guarded.clock.at_ms += 30_000
    assert guarded.submit(probed=CROWD, one_time_code=phone.code()).job.state == "queued"


def test_a_request_whose_answer_was_lost_may_come_again_with_its_code(guarded: Service) -> None:
    code = Phone(guarded, guarded.owner).code()
    words = {"probed": CROWD, "one_time_code": code, "idempotency_key": "k"}
    first = guarded.submit(None, **words)
    again = guarded.submit(None, **words)
    assert (again.replayed, again.job.id) == (True, first.job.id)
    with pytest.raises(CodeRefused):
        guarded.submit(None, **{**words, "digest": "another", "idempotency_key": "another"})
    with pytest.raises(RequestChanged):
        guarded.submit(None, **{**words, "digest": "another"})
    guarded.clock.at_ms += 3_600_000  # a caller who was away finds the job too, by a code that holds no more
    again = guarded.submit(None, **words)
    assert (again.replayed, again.job.id) == (True, first.job.id)
    with guarded.transactions.view() as work:
        kinds = [each.event.kind for each in work.journal.since(guarded.owner.key_id)]
    assert kinds.count("codes.refused") == 1


def test_a_code_is_not_spent_where_none_is_wanted(guarded: Service) -> None:
    code = Phone(guarded, guarded.owner).code()
    assert guarded.submit(one_time_code=code).job.state == "queued"
    assert guarded.submit(probed=CROWD, one_time_code=code).job.state == "queued"


@pytest.mark.parametrize(("steps", "good"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_one_step_off(guarded: Service, steps: int, good: bool) -> None:
    code = Phone(guarded, guarded.owner).code(steps)
    if good:
        assert guarded.submit(probed=CROWD, one_time_code=code).job.state == "queued"
    else:
        with pytest.raises(CodeRefused):
            guarded.submit(probed=CROWD, one_time_code=code)


def test_guesses_are_counted_whatever_becomes_of_the_request(guarded: Service) -> None:
    phone = Phone(guarded, guarded.owner)
    wrong = next(f"{number:06}" for number in range(10) if f"{number:06}" not in map(phone.code, (-1, 0, 1)))
    for code in (wrong, "", "12345", "1234567", "١٢٣٤٥٦"):
        with pytest.raises(CodeRefused):
            guarded.submit(probed=CROWD, one_time_code=code)
    with pytest.raises(RateLimited) as refused:
        guarded.submit(probed=CROWD, one_time_code=phone.code())
    assert refused.value.facts["retry_after_s"] == 300
    guarded.clock.at_ms += 300_000
    assert guarded.submit(probed=CROWD, one_time_code=phone.code()).job.state == "queued"
    with guarded.transactions.view() as work:
        kinds = [each.event.kind for each in work.journal.since(guarded.owner.key_id)]
    assert kinds.count("codes.refused") == 5


def test_a_waiting_job_is_confirmed_by_the_key_that_submitted_it(guarded: Service) -> None:
    job, developer = waiting(guarded, guarded.caller("a", "developer")), guarded.caller("a", "developer")
    with pytest.raises(ScopeMissing, match="own key"):
        guarded.requests.confirm(developer, job.id, Phone(guarded, developer).code())
    mine = waiting(guarded, developer, digest="mine")
    phone = Phone(guarded, developer)
    assert guarded.requests.confirm(developer, mine.id, phone.code()).state == "queued"
    with pytest.raises(JobSettled):
        guarded.requests.confirm(developer, mine.id, phone.code(1))
    with pytest.raises(JobMissing):
        guarded.requests.confirm(guarded.caller("b", "owner"), mine.id, "123456")


def test_codes_of_one_key_are_not_those_of_another(guarded: Service) -> None:
    other = guarded.caller("a", "owner")
    phone = Phone(guarded, other)
    with pytest.raises(CodesMissing):
        guarded.submit(probed=CROWD, one_time_code=phone.code())
    Phone(guarded, guarded.owner)
    with pytest.raises(CodeRefused):
        guarded.submit(probed=CROWD, one_time_code=phone.code())


def test_enrolling_is_the_operators_and_is_shown_once(guarded: Service) -> None:
    operator = guarded.caller("b", "operator")
    with pytest.raises(ScopeMissing):
        guarded.codes.enrol(guarded.owner, "a", guarded.owner.key_id)
    with pytest.raises(AccessProblem, match="no key"):
        guarded.codes.enrol(operator, "a", "key_none")
    with pytest.raises(AccountMissing):
        guarded.codes.enrol(operator, "nobody", guarded.owner.key_id)
    made = guarded.codes.enrol(operator, "a", guarded.owner.key_id)
    assert made.uri.startswith("otpauth://totp/secondface:") and f"secret={made.secret}" in made.uri
    with guarded.transactions.view() as work:
        book = work.codes.lock(guarded.owner.key_id)
        assert book is not None and made.secret not in book.sealed
        assert made.secret not in repr(work.journal.since(guarded.owner.key_id))
    first, second = TOTP(made.secret), Phone(guarded, guarded.owner)
    with pytest.raises(CodeRefused):
        guarded.submit(probed=CROWD, one_time_code=first.generate_otp(guarded.clock.at_ms // 30_000))
    assert guarded.submit(probed=CROWD, one_time_code=second.code()).job.state == "queued"
    assert guarded.codes.drop(operator, "a", guarded.owner.key_id)
    assert not guarded.codes.drop(operator, "a", guarded.owner.key_id)
    with pytest.raises(CodesMissing):
        guarded.submit(probed=CROWD, one_time_code=second.code(1))


def test_a_sealed_secret_opens_for_its_owner_and_with_its_key_only() -> None:
    sealer = hand_sealer()
    sealed = sealer.seal("JBSWY3DP", "key_1")
    assert sealer.open(sealed, "key_1") == "JBSWY3DP"
    assert sealer.seal("JBSWY3DP", "key_1") != sealed
    for other, owner, text in ((sealer, "key_2", sealed), (hand_sealer(), "key_1", sealed), (sealer, "key_1", "x")):
        with pytest.raises(InternalFault):
            other.open(text, owner)
