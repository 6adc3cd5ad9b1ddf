"""What every store of codes, of what jobs leave behind, and of signed words promises; and that a chain has one end."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from secondface.control.audit import AuditTrail
from secondface.control.housekeeping import Housekeeping
from secondface.domain.accounts import ROLE_SCOPES, Actor, Key
from secondface.domain.audit import SignedHead
from secondface.domain.jobs import Event
from secondface.domain.one_time_codes import CodeBook
from secondface.domain.ports import Transactions
from secondface.domain.retention import HOUR_MS, HeldFile, Remains, begin, finish
from secondface.errors import StorageUnavailable
from tests.conformance.conftest import Place, new_job, submitted
from tests.hand_key import HandKey

KEY = Key(id="key_1", account="a", digest="d", scopes=ROLE_SCOPES["owner"], person="Ann")


def test_a_key_knows_whose_it_is(store: Transactions) -> None:
    with store.begin() as work:
        work.accounts.save_key(KEY)
        work.accounts.save_key(replace(KEY, id="key_2", digest="e", person=""))
    with store.view() as work:
        assert [(key.person, key.holder) for key in work.accounts.keys("a")] == [("Ann", "Ann"), ("", "key_2")]


def test_codes_change_in_place_and_go(store: Transactions) -> None:
    book = CodeBook(key_id="key_1", account="a", sealed="x", made_ms=5)
    with store.begin() as work:
        work.accounts.save_key(KEY)
        assert work.codes.lock("key_1") is None
        work.codes.save(book)
    changed = replace(book, used_step=59_000_000, used_for="submit d k", failures=2, blocked_until_ms=2**41)
    with store.begin() as work:
        assert work.codes.lock("key_1") == book
        work.codes.save(changed)
    with store.begin() as work:
        assert work.codes.lock("key_1") == changed
        assert [work.codes.drop("key_1"), work.codes.drop("key_1")] == [True, False]
        assert work.codes.lock("key_1") is None


def left(store: Transactions, number: int, ended_ms: int, **changes: object) -> Remains:
    [job] = submitted(store, new_job(number))
    made = replace(Remains(job_id=job.id, account="a", ended_ms=ended_ms), **changes)  # type: ignore[arg-type]
    with store.begin() as work:
        work.remains.save(made)
    return made


def test_what_is_due_comes_oldest_first(store: Transactions) -> None:
    now = 100 * HOUR_MS
    late = left(store, 1, now - 5 * HOUR_MS)
    only_inputs = left(store, 2, now - 3 * HOUR_MS)
    left(store, 3, now - HOUR_MS)
    own_hours = left(store, 4, now - 2 * HOUR_MS, inputs_h=1)
    left(store, 5, now - 9 * HOUR_MS, inputs_h=100, output_h=100)
    left(store, 6, now - 9 * HOUR_MS, inputs="deleted", output="none")
    begun = left(store, 7, now, output="deleting", inputs="deleted", output_h=100)
    with store.view() as work:
        found = work.remains.due(now, 3, 5)
        assert found == [late, only_inputs, own_hours, begun]
        assert [each.due(now, 3, 5) for each in found] == [("inputs", "output"), ("inputs",), ("inputs",), ()]
        assert work.remains.due(now, 3, 5, limit=2) == [late, only_inputs]


def test_what_is_left_changes_in_place_with_all_that_it_says(store: Transactions) -> None:
    made = left(store, 1, 1)
    files = (HeldFile(key="uploads/a/é", name="t.png", sha256="0" * 64, size_bytes=2**40, kept_for="job_2"),)
    begun = begin(made, ("inputs", "output"), files, "asked", Actor("key:k", "192.0.2.7"))
    with store.begin() as work:
        work.remains.save(begun)
    with store.begin() as work:
        assert work.remains.find([made.job_id, "job_none"]) == {made.job_id: begun}
        assert work.remains.find([]) == {}
        over, _ = finish(begun, 5)
        work.remains.save(over)
        assert work.remains.due(2**50, 0, 0) == []


def test_hours_of_a_plan_reach_what_is_left_of_its_account(store: Transactions) -> None:
    made = left(store, 1, 1)
    with store.begin() as work:
        work.remains.set_hours("b", 9, 9)
        assert work.remains.find([made.job_id])[made.job_id] == made
        work.remains.set_hours("a", 9, None)
        assert work.remains.find([made.job_id])[made.job_id] == replace(made, inputs_h=9)


def test_one_cached_result_is_forgotten(store: Transactions) -> None:
    with store.begin() as work:
        work.cache.put("k", "v", 10)
        work.cache.put("other", "v", 10)
        work.cache.forget("k")
        work.cache.forget("never")
        assert (work.cache.get("k"), work.cache.get("other")) == (None, "v")


def test_signed_words_come_in_order_and_pruning_leaves_what_is_after_it(store: Transactions) -> None:
    def word(position: int, **changes: object) -> SignedHead:
        plain = SignedHead(position=position, digest=f"{position:064}", at_ms=2**41, public_key="k", signature="s")
        return replace(plain, **changes)  # type: ignore[arg-type]

    with store.begin() as work:
        for subject in ("job_1", "accounts", "job_1", "job_1"):
            work.journal.record("a", Actor("key:k", "192.0.2.7"), [Event(subject, "job.accepted", 1)])
        assert work.journal.seal() == 4
        for each in (word(10), word(2), word(9)):
            work.journal.save_head(each)
    with store.view() as work:
        assert [each.position for each in work.journal.heads("head")] == [2, 9, 10]
        assert [each.position for each in work.journal.heads("head", 2)] == [9, 10]
        third = work.journal.audit(None)[2]
    assert third.digest is not None
    checkpoint = word(3, kind="checkpoint", digest=third.digest)
    with store.begin() as work:
        assert work.journal.prune(checkpoint, "accounts") == 2
    with store.begin() as work:
        assert [(each.position, each.actor.address) for each in work.journal.audit(None)] == [
            (2, None), (4, "192.0.2.7")
        ]  # fmt: skip
        assert work.journal.heads("checkpoint") == [checkpoint]
        assert [each.position for each in work.journal.heads("head")] == [9, 10]
        assert work.journal.broken() is None
        work.journal.record("a", Actor("key:k"), [Event("job_1", "job.accepted", 1)])
        assert work.journal.seal() == 1
        assert work.journal.broken() is None
        assert work.journal.audit(None)[-1].position == 5


@pytest.mark.timeout(120)
def test_many_writers_and_sealers_keep_one_chain(place: Place, store: Transactions) -> None:
    """Each in a thread with connections of its own, sealing without being alone at it."""
    key, each_writes, failures = HandKey(), 15, list[BaseException]()

    def write(name: str) -> None:
        transactions = place.open()
        for number in range(each_writes):
            with transactions.begin() as work:
                event = Event(f"job_{name}", "job.progress", work.now_ms(), {"done": number})
                work.journal.record("a", Actor(f"worker:{name}"), [event])

    def seal() -> None:
        transactions = place.open()
        for _ in range(each_writes):
            try:
                with transactions.begin() as work:
                    work.journal.seal(limit=7)
                AuditTrail(transactions, key).step()
            except StorageUnavailable:
                pass  # who lost the race begins again

    def run(target: object, *words: str) -> None:
        try:
            target(*words)  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 - told in the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(write, name)) for name in "wxyz"]
    threads += [threading.Thread(target=run, args=(seal,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    Housekeeping(store).step()
    trail = AuditTrail(store, key)
    trail.sign()
    with store.view() as work:
        rows = work.journal.audit(None, limit=1_000)
    assert [each.position for each in rows] == list(range(1, 4 * each_writes + 1))
    assert len({each.number for each in rows}) == 4 * each_writes
    found = trail.check()
    assert found.whole and found.entries == 4 * each_writes
