"""Of a job's stored files only those of the attempt that ended it stay, and those that a living attempt may need."""

from __future__ import annotations

import pytest

from secondface.control.leftovers import Leftovers
from secondface.domain.jobs import Lease
from secondface.domain.ports import ObjectStore
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock
from secondface.storage.memory_objects import MemoryObjects
from tests.unit.control.service import Service, active


@pytest.fixture
def objects() -> ObjectStore:
    return MemoryObjects(Links("http://localhost", (b"s" * 32,), MachineClock()))


def store(objects: ObjectStore, job: str, *attempts: int) -> None:
    for number in attempts:
        for name in ("out.png", "report.json"):
            objects.put(f"jobs/{job}/{number}/{name}", [b"x"], "image/png")


def kept(objects: ObjectStore) -> list[int]:
    return sorted({int(key.split("/")[2]) for key in objects.keys("jobs/")})


def second_lease(service: Service) -> Lease:
    """Of a job whose first attempt was lost with its worker."""
    service.submit()
    service.claim()
    service.desk.worker_crashed("w1")
    return service.claim("w2").lease


def test_files_of_lost_attempts_go_and_the_result_stays(objects: ObjectStore) -> None:
    service = Service()
    second = second_lease(service)
    store(objects, second.job_id, 1, 2)
    leftovers = Leftovers(service.transactions, objects)
    assert leftovers.step() == 2
    assert kept(objects) == [2]
    service.desk.succeed(second, active(10), f"jobs/{second.job_id}/2/out.png")
    assert leftovers.step() == 0
    assert kept(objects) == [2]


def test_nothing_of_a_failed_job_stays(objects: ObjectStore) -> None:
    service = Service()
    service.submit()
    lease = service.claim().lease
    store(objects, lease.job_id, 1)
    service.desk.fail(lease, active(10), error="no_face_in_target", fault="caller", retryable=False)
    assert Leftovers(service.transactions, objects).step() == 2
    assert kept(objects) == []


def test_what_comes_after_the_end_goes_too(objects: ObjectStore) -> None:
    """Of an attempt that lost its job, and whose worker died before it could remove what it had just stored."""
    service = Service()
    second = second_lease(service)
    store(objects, second.job_id, 2)
    service.desk.succeed(second, active(10), f"jobs/{second.job_id}/2/out.png")
    leftovers = Leftovers(service.transactions, objects)
    assert leftovers.step() == 0
    store(objects, second.job_id, 1)
    assert leftovers.step() == 2
    assert kept(objects) == [2]


def test_segments_of_earlier_attempts_stay_while_the_job_lives(objects: ObjectStore) -> None:
    service = Service()
    service.submit()
    lease = service.claim().lease
    service.desk.cut(lease, 2)
    store(objects, lease.job_id, 1)
    service.desk.finish_segment(lease, active(10), index=0, active_ms=10, result=f"jobs/{lease.job_id}/1/out.png")
    service.desk.worker_crashed("w1")
    assert Leftovers(service.transactions, objects).step() == 0
    assert kept(objects) == [1]


def test_a_cached_answer_keeps_the_job_that_it_came_from(objects: ObjectStore) -> None:
    service = Service()
    service.submit(cache_key="c")
    lease = service.claim().lease
    store(objects, lease.job_id, 1)
    service.desk.succeed(lease, active(10), f"jobs/{lease.job_id}/1/out.png")
    again = service.submit(cache_key="c").job
    assert again.state == "succeeded" and again.result == f"jobs/{lease.job_id}/1/out.png"
    assert Leftovers(service.transactions, objects).step() == 0


def test_strangers_are_left_alone(objects: ObjectStore) -> None:
    objects.put("jobs/nobody/1/out.png", [b"x"], "image/png")
    objects.put("jobs/notes.txt", [b"x"], "text/plain")
    assert Leftovers(Service().transactions, objects).step() == 0
    assert len(objects.keys("jobs/")) == 2
