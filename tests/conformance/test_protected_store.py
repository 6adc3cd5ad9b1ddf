"""The list of protected people, and jobs that are held, on every store."""

from __future__ import annotations

from dataclasses import replace

from secondface.domain import jobs
from secondface.domain.findings import Finding
from secondface.domain.ports import Offer, Transactions
from secondface.domain.pricing import Usage
from secondface.domain.protected import Protected
from tests.conformance.conftest import new_job, submitted
from tests.hand_clock import HandClock

FACE = tuple((place - 64) / 1000 for place in range(128))
FOUND = (
    Finding(rule="nsfw", verdict="hold", input="target", frame=75, at_ms=3000, score_permille=612),
    Finding(rule="protected", verdict="hold", input="source 0"),
)


def person(name: str, **fields: object) -> Protected:
    return replace(Protected(id=name, note="请勿使用", descriptors=(FACE,), created_ms=1, changed_ms=1), **fields)  # type: ignore[arg-type]


def test_entries_come_back_as_they_were(store: Transactions) -> None:
    with store.begin() as work:
        assert (work.protected.all(), work.protected.version()) == ([], "")
        work.protected.save(person("prot_2", descriptors=(FACE, FACE[::-1])))
        work.protected.save(person("prot_1"))
    with store.view() as work:
        assert work.protected.all() == [person("prot_1"), person("prot_2", descriptors=(FACE, FACE[::-1]))]
        assert work.protected.get("prot_1") == person("prot_1")
        assert work.protected.get("prot_3") is None


def test_every_change_makes_another_version(store: Transactions) -> None:
    versions: list[str] = []
    for change in (person("a"), person("b"), person("a", changed_ms=2, descriptors=(FACE, FACE)), "b", "b", "a"):
        with store.begin() as work:
            removed = work.protected.remove(change) if isinstance(change, str) else work.protected.save(change)
            versions.append(work.protected.version())
        assert removed in (None, True) or versions[-1] == versions[-2]
    assert len(set(versions)) == 5 and versions[-1] == ""


def held(store: Transactions) -> str:
    job = submitted(store, new_job(1, likeness_confirmed=True))[0]
    with store.begin() as work:
        claimed = work.jobs.claim(Offer(worker="w", tiers=("cpu",)))
        assert claimed is not None
        lease = jobs.lease_of(claimed[0])
        before = work.jobs.lock(job.id)
        work.jobs.save(
            before, jobs.hold(before, lease, before.created_ms + 5, Usage(run_ms=9), "jobs/x/1/out.png", FOUND)[0]
        )
    return job.id


def test_a_held_job_is_kept_with_all_that_was_found(store: Transactions) -> None:
    job_id = held(store)
    with store.view() as work:
        job = work.jobs.get(job_id)
        assert (job.state, job.pending, job.result, job.findings) == ("held", "jobs/x/1/out.png", None, FOUND)
        assert job.likeness_confirmed
        assert [each.id for each in work.jobs.page(None, ["held"])] == [job_id]
        assert [each.id for each in work.jobs.page("a", ["held", "queued"])] == [job_id]
        assert work.jobs.page("b", ["held"]) == []
        assert work.jobs.claim is not None


def test_a_held_job_gives_its_place_to_the_next_and_nobody_gets_it_again(store: Transactions) -> None:
    """An account's limit of running jobs is not used up by what waits for a reviewer."""
    held(store)
    submitted(store, *(new_job(number) for number in (2, 3, 4, 5)))
    with store.begin() as work:
        claimed = [work.jobs.claim(Offer(worker="w", tiers=("cpu",))) for _ in range(4)]
    assert [each[0].id if each else None for each in claimed] == ["job_0002", "job_0003", "job_0004", None]


def test_a_held_job_whose_deadline_passed_is_found_by_the_sweep(store: Transactions, clock: HandClock) -> None:
    job_id = held(store)
    with store.begin() as work:
        before = work.jobs.lock(job_id)
        work.jobs.save(before, replace(before, deadline_ms=clock.at_ms + 1_000))
    with store.view() as work:
        assert work.jobs.overdue(9) == []
    clock.at_ms += 1_000
    with store.view() as work:
        assert work.jobs.overdue(9) == [job_id]


def test_a_decision_is_stored(store: Transactions) -> None:
    job_id = held(store)
    with store.begin() as work:
        before = work.jobs.lock(job_id)
        work.jobs.save(before, jobs.release(before, "key_r", "nothing is wrong", before.created_ms + 9)[0])
    with store.view() as work:
        job = work.jobs.get(job_id)
        assert (job.state, job.pending, job.result, job.reason) == (
            "succeeded", None, "jobs/x/1/out.png", "nothing is wrong",
        )  # fmt: skip
