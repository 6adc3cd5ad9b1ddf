"""What is signed, what is pruned, and what a check says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from secondface.control.audit import DAY_MS, AuditTrail
from secondface.domain.accounts import REGISTER, Actor
from secondface.domain.audit_file import check, head_of, head_text
from secondface.domain.jobs import Event
from secondface.errors import AuditBroken
from secondface.storage.signing import holds
from tests.hand_key import HandKey
from tests.unit.control.service import Service, active


def told(service: Service, count: int, subject: str = "job_x", each_ms: int = 1_000) -> None:
    for _ in range(count):
        service.clock.at_ms += each_ms
        with service.transactions.begin() as work:
            work.journal.record("a", Actor("key:k", "192.0.2.7"), [Event(subject, "job.accepted", work.now_ms())])
            work.journal.seal()


def shelves(service: Service) -> Any:
    return service.transactions._shelves  # type: ignore[attr-defined]


def test_the_end_is_signed_outside_each_time_and_inside_now_and_then(service: Service) -> None:
    told(service, 3)
    assert service.audit.sign() is not None
    assert service.audit.sign() is None, "nothing is new"
    told(service, 1)
    head = service.audit.sign()
    assert head is not None and head_of(service.audit_key.word or "") == head
    with service.transactions.view() as work:
        assert [each.position < head.position for each in work.journal.heads("head")] == [True]
    told(service, 1, each_ms=600_000)
    service.audit.sign()
    with service.transactions.view() as work:
        assert len(work.journal.heads("head")) == 2
    assert service.audit.check().whole


def test_the_life_of_a_job_is_in_the_audit_with_digests_and_no_content(service: Service) -> None:
    said = {"target_sha256": "11" * 32, "likeness_confirmed": True, "label_waiver": "shown beside it"}
    job = service.submit(said=said).job
    facts = {"output_sha256": "22" * 32, "produce_id": "33" * 16}
    service.desk.succeed(service.claim().lease, active(10), "out", facts=facts)
    service.admission.refuse(service.owner, "invalid_option", {"target_sha256": "44" * 32})
    with service.transactions.view() as work:
        rows = {each.event.kind: each for each in work.journal.since(job.id)}
        [refused] = [each for each in work.journal.since("a") if each.event.kind == "job.refused"]
    assert said.items() <= rows["job.accepted"].event.facts.items()
    assert facts.items() <= rows["job.succeeded"].event.facts.items()
    assert refused.event.facts == {"target_sha256": "44" * 32, "error": "invalid_option"}


def test_a_broken_chain_is_not_signed_on(service: Service) -> None:
    told(service, 3)
    service.audit.sign()
    service.audit.step()
    assert not service.audit.broken
    told(service, 3)
    last, events = max(shelves(service).events), shelves(service).events
    kept = events[last - 1]
    events[last - 1] = replace(kept, account="b")
    with pytest.raises(AuditBroken):
        service.audit.step()
    assert service.audit.broken
    found = service.audit.check()
    assert (found.flaw, found.first_bad) == ("entry", events[last - 1].position)
    events[last - 1] = kept
    service.audit.step()
    assert not service.audit.broken


def test_old_entries_are_looked_at_again_within_a_day(service: Service) -> None:
    audit = AuditTrail(service.transactions, service.audit_key, stretch=2)
    told(service, 9)
    for _ in range(6):
        audit.step()
    events = shelves(service).events
    second = sorted(events)[1]
    kept, events[second] = events[second], replace(events[second], account="b")
    audit.step()
    assert not audit.broken, "it was walked along, and what is new is whole"
    service.clock.at_ms += DAY_MS
    for _ in range(2):
        with pytest.raises(AuditBroken) as found:
            audit.step()
        assert found.value.facts["position"] == kept.position
    assert audit.broken
    events[second] = kept
    for _ in range(6):
        audit.step()
    assert not audit.broken


def test_a_walk_goes_on_behind_what_was_pruned(service: Service) -> None:
    audit = AuditTrail(service.transactions, service.audit_key, retain_days=1, stretch=2)
    told(service, 3)
    audit.step()
    told(service, 3, each_ms=DAY_MS)
    for _ in range(4):
        audit.step()
    assert not audit.broken and audit.check().whole


def test_a_cut_end_is_found_whatever_the_service_writes_after_it(service: Service) -> None:
    told(service, 3)
    service.audit.sign()
    told(service, 3)
    service.audit.sign()
    word = service.audit_key.word
    shelf = shelves(service)
    for number in sorted(shelf.events)[-2:]:
        del shelf.events[number]
    for more in range(3):
        with pytest.raises(AuditBroken):
            service.audit.step()
        found = service.audit.check()
        assert found.flaw == ("truncated" if more < 2 else "rewritten"), more
        assert check(service.audit.export(), holds, service.audit_key.public_key).flaw == "truncated"
        told(service, 1)
    assert service.audit_key.word == word, "it is the only witness"
    service.audit_key.word = None  # an operator who put a backup back moves it away
    service.audit.step()
    assert service.audit.check().whole and service.audit.check().anchored


def test_old_entries_go_behind_a_signed_checkpoint_and_the_rest_stays_whole(service: Service) -> None:
    told(service, 5)
    told(service, 1, REGISTER)
    told(service, 5, each_ms=100 * DAY_MS)
    trail = AuditTrail(service.transactions, service.audit_key, retain_days=200)
    trail.sign()
    before = trail.check()
    gone = trail.prune()
    assert gone > 5 and trail.prune() == 0
    with service.transactions.view() as work:
        left = work.journal.audit(None)
        assert [each.actor.address for each in left if each.event.subject == REGISTER] == [None]
        assert work.journal.broken() is None
        assert work.journal.heads("checkpoint")[-1].position + len(left) - 1 == before.last
    after = trail.check()
    assert after.whole and after.last == before.last and after.anchored
    told(service, 2)
    trail.step()
    assert trail.check().whole
    found = check(trail.export(), holds, service.audit_key.public_key)
    assert found.whole and found.last == before.last + 2


def test_the_newest_entry_always_stays(service: Service) -> None:
    told(service, 3)
    service.clock.at_ms += 1_000 * DAY_MS
    assert service.audit.prune() >= 2
    told(service, 1)
    service.audit.sign()
    assert service.audit.check().whole


def test_a_checkpoint_of_somebody_else_hides_nothing(service: Service) -> None:
    told(service, 6)
    service.audit.sign()
    forger = AuditTrail(service.transactions, HandKey())
    with service.transactions.view() as work:
        middle = work.journal.audit(None)[-3].event.at_ms
    forger.prune(middle)
    assert (service.audit.check().flaw, service.audit.check().first_bad is not None) == ("start", True)


def test_nothing_is_signed_on_from_a_checkpoint_of_somebody_else(service: Service) -> None:
    """Or who writes the database alone could chain anew, let the service sign that, and take the checkpoint away."""
    told(service, 6)
    service.audit.sign()
    word, events = service.audit_key.word, shelves(service).events
    for number, each in events.items():
        events[number] = replace(each, account="b", position=None, digest=None)
    shelves(service).heads.clear()
    told(service, 1)
    made = AuditTrail(service.transactions, HandKey()).sign()
    assert made is not None
    shelves(service).heads.clear()
    shelves(service).heads["checkpoint", made.position] = replace(made, kind="checkpoint")
    told(service, 1)
    for deed in (service.audit.step, service.audit.sign, service.audit.prune):
        with pytest.raises(AuditBroken):
            deed()
    assert check(service.audit.export(), holds, service.audit_key.public_key).flaw == "truncated"
    assert service.audit_key.word == word
    shelves(service).heads.clear()
    assert service.audit.check().flaw == "rewritten"


def test_a_word_of_ours_that_was_changed_is_found(service: Service) -> None:
    told(service, 3)
    service.audit.sign()
    heads = shelves(service).heads
    [place] = heads
    heads[place] = replace(heads[place], at_ms=5)
    assert service.audit.check().flaw == "signature"


def test_a_word_outside_that_is_none_of_ours_is_said(service: Service) -> None:
    told(service, 3)
    service.audit.sign()
    good = head_of(service.audit_key.word or "")
    assert good is not None
    for text in ("", "nonsense", head_text(replace(good, at_ms=1)), head_text(replace(good, public_key="00" * 32))):
        service.audit_key.word = text
        assert service.audit.check().flaw == "signature"
    service.audit_key.word = None
    found = service.audit.check()
    assert found.whole and not found.anchored


def test_an_export_signed_by_another_key_is_whole_and_not_trusted(service: Service) -> None:
    told(service, 2)
    lines = list(service.audit.export())
    found = check(lines, holds, "00" * 32)
    assert (found.flaw, found.public_key) == ("unknown_key", service.audit_key.public_key)
    assert check(lines, holds, None).flaw == "unknown_key"
    assert check([], holds, None).flaw == "start"


def test_an_empty_audit_is_whole() -> None:
    service = Service()
    shelves(service).events.clear()
    assert service.audit.sign() is None
    assert service.audit.check().whole
    assert check(service.audit.export(), holds, service.audit_key.public_key).whole
