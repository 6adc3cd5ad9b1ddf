"""What a job leaves behind goes in its time or when asked for, whole, with a receipt, and is finished by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from secondface.control.accounts import Accounts
from secondface.control.retention import Retention
from secondface.domain.accounts import Account, Plan
from secondface.domain.jobs import Job
from secondface.domain.retention import HOUR_MS, files_of, receipt_digest
from secondface.errors import DataDeleted, JobMissing, JobUnfinished, ScopeMissing, StorageUnavailable
from secondface.spec.work import StoredInput, WorkOrder
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock
from secondface.storage.memory_objects import MemoryObjects
from tests.unit.control.service import Service, active


def _nothing() -> None:
    pass


class Objects(MemoryObjects):
    """A store that fails from some deletion on, and beside whose work something else may happen, once."""

    left = 10**6
    stuck = ""
    """A file that nobody can delete."""
    at_delete = at_keys = staticmethod(_nothing)

    def delete(self, key: str) -> None:
        self.at_delete, now = _nothing, self.at_delete
        now()
        if not self.left or key == self.stuck:
            raise StorageUnavailable("It is away.")
        self.left -= 1
        super().delete(key)

    def keys(self, prefix: str) -> Sequence[str]:
        self.at_keys, now = _nothing, self.at_keys
        now()
        return super().keys(prefix)


@pytest.fixture
def objects() -> Objects:
    return Objects(Links("http://localhost", (b"s" * 32,), MachineClock()))


@pytest.fixture
def retention(service: Service, objects: Objects) -> Retention:
    return Retention(service.transactions, objects, inputs_h=2, outputs_h=5)


def order(objects: Objects, *names: str) -> str:
    """An order whose inputs lie in the store."""

    def stored(name: str) -> StoredInput:
        made = objects.put(f"uploads/a/{name}", [name.encode()], "image/png")
        return StoredInput(key=made.key, name=f"{name}.png", sha256=made.sha256, size_bytes=made.size_bytes)

    target, *sources = (stored(name) for name in names)
    return WorkOrder(target=target, sources=tuple((each,) for each in sources), output_name="out.png").model_dump_json()


def done(service: Service, objects: Objects, *names: str, **changes: object) -> Job:
    """A job with a result."""
    service.submit(None, spec=order(objects, *names), **changes)
    lease = service.claim().lease
    for name in ("report.json", "out.png"):
        objects.put(f"jobs/{lease.job_id}/1/{name}", [name.encode()], "image/png")
    service.desk.succeed(lease, active(10), f"jobs/{lease.job_id}/1/out.png")
    return service.job(lease.job_id)


def test_inputs_go_first_and_the_result_later(service: Service, objects: Objects, retention: Retention) -> None:
    job = done(service, objects, "t", "s")
    service.clock.at_ms += 2 * HOUR_MS - 1
    assert retention.step() == 0
    service.clock.at_ms += 1
    assert retention.step() == 1
    assert objects.keys("uploads/") == [] and len(objects.keys("jobs/")) == 2
    retention.require_kept(job)
    service.clock.at_ms += 3 * HOUR_MS
    assert retention.step() == 1
    assert objects.keys("jobs/") == []
    with pytest.raises(DataDeleted):
        retention.require_kept(job)
    receipts = retention.receipts(service.owner, job.id)
    assert [(each.event.facts["what"], each.event.facts["reason"]) for each in receipts] == [
        ("inputs", "policy"), ("output", "policy")
    ]  # fmt: skip
    assert retention.step() == 0


def test_a_plan_has_hours_of_its_own_and_changed_ones_count_for_what_is_there(
    service: Service, objects: Objects, retention: Retention
) -> None:
    service.set_account(Account(id="a", name="A", plan=Plan(retain_inputs_h=0, retain_outputs_h=100)))
    done(service, objects, "t")
    assert retention.step() == 1
    assert objects.keys("uploads/") == []
    service.clock.at_ms += 50 * HOUR_MS
    assert retention.step() == 0
    operator = service.caller("a", "operator")
    Accounts(service.transactions, service.keyring, service.ids).change(operator, "a", plan={"retain_outputs_h": 1})
    assert retention.step() == 1
    assert objects.keys("jobs/") == []


def test_who_asks_gets_a_receipt_and_the_same_one_again(
    service: Service, objects: Objects, retention: Retention
) -> None:
    job = done(service, objects, "t", "s")
    caller = replace(service.owner, address="192.0.2.7")
    [receipt] = retention.delete(caller, job.id)
    assert objects.keys("") == []
    files = files_of(receipt.event)
    assert [each.name for each in files] == ["t.png", "s.png", "out.png", "report.json"]
    assert files[2].size_bytes == len("out.png") and receipt.event.facts["bytes"] == 20
    assert receipt.event.facts["receipt"] == receipt_digest(job.id, "inputs+output", receipt.event.at_ms, files)
    assert (receipt.actor.name, receipt.actor.address) == (f"key:{caller.key_id}", "192.0.2.7")
    assert retention.delete(caller, job.id) == [receipt]
    with service.transactions.begin() as work:
        work.journal.seal()
    [sealed] = retention.receipts(caller, job.id)
    assert sealed.position is not None and sealed.digest is not None


def test_a_living_job_keeps_its_files(service: Service, objects: Objects, retention: Retention) -> None:
    job = service.submit(spec=order(objects, "t")).job
    for state in ("queued", "running"):
        with pytest.raises(JobUnfinished, match=state):
            retention.delete(service.owner, job.id)
        if state == "queued":
            service.claim()
    assert objects.keys("uploads/") == ["uploads/a/t"]


def test_an_input_that_a_living_job_needs_stays_and_the_receipt_says_for_which(
    service: Service, objects: Objects, retention: Retention
) -> None:
    job = done(service, objects, "t", "shared")
    other = service.submit(spec=order(objects, "x", "shared"), digest="other").job
    [receipt] = retention.delete(service.owner, job.id)
    assert [each.kept_for for each in files_of(receipt.event)] == ["", other.id, "", ""]
    assert objects.keys("uploads/") == ["uploads/a/shared", "uploads/a/x"]


def test_no_equal_request_is_answered_with_what_is_gone(
    service: Service, objects: Objects, retention: Retention
) -> None:
    job = done(service, objects, "t", cache_key="c")
    again = service.submit(cache_key="c").job
    assert again.result == job.result
    retention.delete(service.owner, job.id)
    assert service.submit(cache_key="c").job.state == "queued"
    with pytest.raises(DataDeleted):
        retention.require_kept(again)


def test_what_came_from_an_earlier_job_goes_with_that_one(
    service: Service, objects: Objects, retention: Retention
) -> None:
    job = done(service, objects, "t", cache_key="c")
    again = service.submit(cache_key="c", spec=order(objects, "t")).job
    retention.delete(service.owner, again.id)
    assert objects.keys("jobs/")
    with pytest.raises(DataDeleted):
        retention.require_kept(again)
    retention.require_kept(job)


def test_only_its_own_account_deletes_a_job_and_only_who_may_write(
    service: Service, objects: Objects, retention: Retention
) -> None:
    job = done(service, objects, "t")
    with pytest.raises(JobMissing):
        retention.delete(service.caller("b", "owner"), job.id)
    with pytest.raises(JobMissing):
        retention.delete(service.owner, "../../outside")
    with pytest.raises(JobMissing):
        retention.receipts(service.caller("b", "owner"), job.id)
    with pytest.raises(ScopeMissing):
        retention.delete(service.caller("a", "viewer"), job.id)
    assert objects.keys("uploads/")


@pytest.mark.parametrize("deletions", range(4))
def test_what_was_begun_is_finished_by_the_next_round(
    service: Service, objects: Objects, retention: Retention, deletions: int
) -> None:
    """Whoever asked dies after some files: the result is refused from then on, and one receipt names every file."""
    job = done(service, objects, "t", "s")
    objects.left = deletions
    with pytest.raises(StorageUnavailable):
        retention.delete(service.owner, job.id)
    assert len(objects.keys("")) == 4 - deletions
    with pytest.raises(DataDeleted):
        retention.require_kept(job)
    assert retention.receipts(service.owner, job.id) == []
    objects.left = 10**6
    assert retention.step() == 1
    assert objects.keys("") == []
    [receipt] = retention.receipts(service.owner, job.id)
    assert len(files_of(receipt.event)) == 4 and receipt.actor.name == f"key:{service.owner.key_id}"


def test_a_job_without_a_readable_order_keeps_no_other_waiting(
    service: Service, objects: Objects, retention: Retention
) -> None:
    service.submit(spec="{}")
    service.desk.fail(service.claim().lease, active(1), error="x", fault="caller", retryable=False)
    done(service, objects, "t", digest="other")
    service.clock.at_ms += 9 * HOUR_MS
    assert retention.step() == 1
    assert objects.keys("") == []


def test_a_file_that_cannot_be_deleted_keeps_no_other_job_waiting(
    service: Service, objects: Objects, retention: Retention
) -> None:
    job = done(service, objects, "t")
    done(service, objects, "other", digest="other")
    service.clock.at_ms += 9 * HOUR_MS
    objects.stuck = "uploads/a/t"
    assert retention.step() == 1
    assert {key.split("/")[-1] for key in objects.keys("")} == {"t", "out.png", "report.json"}
    assert retention.receipts(service.owner, job.id) == []
    objects.stuck = ""
    assert retention.step() == 1
    assert objects.keys("") == []


def test_nobody_says_of_files_that_somebody_else_is_about_to_delete_that_they_are_gone(
    service: Service, objects: Objects, retention: Retention
) -> None:
    """While a round deletes the inputs, somebody asks for all, ends that deletion, begins the next one and dies."""
    job = done(service, objects, "t")
    service.clock.at_ms += 2 * HOUR_MS

    def ask_and_die() -> None:
        objects.left = 1
        with pytest.raises(StorageUnavailable):
            retention.delete(service.owner, job.id)
        objects.left = 10**6

    objects.at_delete = ask_and_die
    retention.step()
    assert len(objects.keys("jobs/")) == 2
    assert [each.event.facts["what"] for each in retention.receipts(service.owner, job.id)] == ["inputs"]
    assert retention.step() == 1
    assert objects.keys("") == []
    assert [each.event.facts["what"] for each in retention.receipts(service.owner, job.id)] == ["inputs", "output"]


def test_who_asks_gets_all_deleted_also_where_a_round_began_with_a_part(
    service: Service, objects: Objects, retention: Retention
) -> None:
    job = done(service, objects, "t")
    service.clock.at_ms += 2 * HOUR_MS

    def begin_and_die() -> None:
        objects.left = 0
        assert retention.step() == 0
        objects.left = 10**6

    objects.at_keys = begin_and_die
    receipts = retention.delete(service.owner, job.id)
    assert [(each.event.facts["what"], each.event.facts["reason"]) for each in receipts] == [
        ("inputs", "policy"), ("output", "asked")
    ]  # fmt: skip
    assert objects.keys("") == []


def test_who_is_not_alone_at_it_leaves_it(service: Service, objects: Objects, retention: Retention) -> None:
    done(service, objects, "t")
    service.clock.at_ms += 9 * HOUR_MS
    with service.transactions.sole("retention"):
        assert retention.step() == 0
