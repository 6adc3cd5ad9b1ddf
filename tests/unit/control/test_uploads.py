"""Uploads go when their time is over, unless a job still needs them."""

from __future__ import annotations

import pytest

from secondface.control.uploads import Uploads
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock, RandomIds
from secondface.storage.memory_objects import MemoryObjects
from tests.unit.control.service import Service, active

HOUR_MS = 3_600_000


@pytest.fixture
def objects(service: Service) -> MemoryObjects:
    service.clock.at_ms = MachineClock().now_ms()  # names of uploads carry the machine's time
    return MemoryObjects(Links("http://x", (b"s" * 32,), service.clock))


def put(objects: MemoryObjects, service: Service) -> str:
    return objects.put(f"uploads/a/{service.ids.new('upl')}", [b"x"], "image/png").key


def test_what_is_old_and_needed_by_nobody_goes(service: Service, objects: MemoryObjects) -> None:
    sweep = Uploads(service.transactions, objects, service.clock, service.ids, 3_600)
    free, needed = put(objects, service), put(objects, service)
    objects.put("jobs/job_1/1/out.png", [b"x"], "image/png")
    foreign = objects.put("uploads/a/by-hand", [b"x"], "image/png").key
    job = service.submit(spec=f'{{"target":{{"key":"{needed}"}}}}').job
    assert sweep.step() == 0
    service.clock.at_ms += HOUR_MS + 60_000
    assert sweep.step() == 1
    assert objects.keys("") == sorted(["jobs/job_1/1/out.png", foreign, needed])
    assert free not in objects.keys("")
    service.desk.succeed(service.claim().lease, active(1), "out")
    assert service.job(job.id).ended
    assert sweep.step() == 1
    assert needed not in objects.keys("")


def test_every_live_job_is_asked(service: Service, objects: MemoryObjects) -> None:
    sweep = Uploads(service.transactions, objects, service.clock, service.ids, 3_600)
    first = put(objects, service)
    service.submit(spec=f'["{first}"]')
    for _ in range(250):
        service.submit()
    service.clock.at_ms += 2 * HOUR_MS
    assert sweep.step() == 0


def test_a_name_tells_when_it_was_made() -> None:
    ids, clock = RandomIds(), MachineClock()
    before = clock.now_ms()
    made_ms = ids.made_ms(ids.new("upl"))
    assert made_ms is not None
    assert before <= made_ms <= clock.now_ms() + 1
    assert [ids.made_ms(name) for name in ("", "upl_", "by-hand", "upl_" + "u" * 26, "upl_0")] == [None] * 5
