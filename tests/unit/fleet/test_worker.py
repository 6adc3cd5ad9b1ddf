"""The pull loop: several jobs at once, hearts that beat, suspects alone, and a drain that loses nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from secondface.domain.ports import Grant, Offer, worker_bell
from secondface.errors import StorageUnavailable
from secondface.fleet.worker import Duties, Worker
from secondface.fleet.workroom import Workroom
from secondface.frames import Session
from secondface.pipeline.batching import SharedSessions
from tests.unit.fleet.workshop import Workshop, check_usage, models


def eventually(holds: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.01)


@contextmanager
def working(
    shop: Workshop, tmp_path: Path, leases: object = None, told: list[tuple[str, int]] | None = None,
    over: Callable[[str], None] = lambda _job_id: None, **duties: object
) -> Iterator[Worker]:  # fmt: skip
    words = {"name": "w1", "tiers": ("a10g",), "heartbeat_s": 0.05, "poll_s": 0.05, **duties}
    told = [] if told is None else told
    room = Workroom(tmp_path / "work", str(words["name"]))
    worker = Worker(
        Duties(**words), leases or shop.desk, shop.objects, shop.sessions, shop.bell,  # type: ignore[arg-type]
        workroom=room, tell=lambda state, served: told.append((state, served)), over=over,
    )  # fmt: skip
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker
    finally:
        worker.drain()
        thread.join(60)
        assert not thread.is_alive()
    assert told[0] == ("idle", 0) and told[-1][0] == "draining"
    assert [path for path in (tmp_path / "work").iterdir() if path.is_dir()] == []


def test_all_jobs_end_once_and_device_time_is_divided(tmp_path: Path) -> None:
    shop = Workshop()
    before_ns = shop.sessions.device.busy_ns
    jobs = [shop.accept() for _ in range(5)]
    with working(shop, tmp_path, room=3):
        eventually(lambda: all(shop.job(job.id).ended for job in jobs))
    ended = [shop.job(job.id) for job in jobs]
    assert {job.state for job in ended} == {"succeeded"}
    assert all(len(job.attempts) == 1 for job in ended)
    usages = [job.attempts[0].usage for job in ended]
    for usage in usages:
        check_usage(usage)
    whole_ms = (shop.sessions.device.busy_ns - before_ns) // 1_000_000
    # Each job's time is rounded down to a whole millisecond once.
    assert whole_ms - len(usages) <= sum(usage.device_active_ms for usage in usages) <= whole_ms


def test_it_says_that_an_attempt_is_over_when_its_end_is_known(tmp_path: Path) -> None:
    shop = Workshop()
    jobs = [shop.accept(), shop.accept("not an order")]
    states: dict[str, str] = {}
    with working(shop, tmp_path, over=lambda job_id: states.update({job_id: shop.job(job_id).state})):
        eventually(lambda: len(states) == 2)
    assert states == {jobs[0].id: "succeeded", jobs[1].id: shop.job(jobs[1].id).state}
    assert states[jobs[1].id] != "running"


def test_a_bell_is_heard_before_the_poll(tmp_path: Path) -> None:
    shop = Workshop()
    with working(shop, tmp_path, poll_s=60.0):
        time.sleep(0.1)
        job = shop.accept()
        eventually(lambda: shop.job(job.id).ended)


def test_work_that_no_bell_announced_is_found(tmp_path: Path) -> None:
    shop = Workshop()
    shop.bell.close()
    job = shop.accept()
    with working(shop, tmp_path):
        eventually(lambda: shop.job(job.id).ended)


def test_a_cancel_is_heard_by_the_workers_own_bell(tmp_path: Path) -> None:
    shop = Workshop()
    job = shop.accept()
    with working(shop, tmp_path, heartbeat_s=60.0):
        eventually(lambda: shop.job(job.id).state == "running")
        began = time.monotonic()
        shop.requests.cancel(shop.owner, job.id)
        eventually(lambda: shop.job(job.id).ended, 2)
        assert time.monotonic() - began < 2
    assert shop.job(job.id).state == "cancelled"
    assert shop.results(job.id) == []


class _Flaky:
    """A desk that does not answer claims at first."""

    def __init__(self, shop: Workshop) -> None:
        self.shop, self.left, self.offers = shop, 3, list[Offer]()

    def claim(self, offer: Offer) -> Grant | None:
        self.offers.append(offer)
        if self.left:
            self.left -= 1
            raise StorageUnavailable
        return self.shop.desk.claim(offer)

    def __getattr__(self, name: str) -> object:
        return getattr(self.shop.desk, name)


def test_a_database_that_is_away_is_asked_again(tmp_path: Path) -> None:
    shop = Workshop()
    job = shop.accept()
    with working(shop, tmp_path, _Flaky(shop)):
        eventually(lambda: shop.job(job.id).ended)
    assert shop.job(job.id).state == "succeeded"


def test_it_offers_to_work_alone_only_when_it_has_nothing_else(tmp_path: Path) -> None:
    shop = Workshop()
    jobs = [shop.accept() for _ in range(2)]
    desk = _Flaky(shop)
    desk.left = 0
    with working(shop, tmp_path, desk, room=2):
        eventually(lambda: all(shop.job(job.id).ended for job in jobs))
    assert [offer.alone for offer in desk.offers[:2]] == [True, False]


def test_a_suspect_job_runs_alone(tmp_path: Path) -> None:
    shop = Workshop()
    suspect = shop.accept()
    shop.claim("dead")
    shop.desk.worker_crashed("dead")
    others = [shop.accept() for _ in range(2)]
    alone: list[bool] = []

    class Watched(_Flaky):
        def claim(self, offer: Offer) -> Grant | None:
            running = [job for job in (suspect, *others) if shop.job(job.id).state == "running"]
            alone.append(suspect.id not in [job.id for job in running])
            return super().claim(offer)

    desk = Watched(shop)
    desk.left = 0
    with working(shop, tmp_path, desk, room=3):
        eventually(lambda: all(shop.job(job.id).ended for job in (suspect, *others)))
    assert all(alone)
    assert shop.job(suspect.id).state == "succeeded"


@pytest.mark.parametrize(("grace_s", "state"), [(30.0, "succeeded"), (0.0, "queued")])
def test_a_drain_ends_or_gives_back_what_there_is_and_takes_nothing_more(
    tmp_path: Path, grace_s: float, state: str
) -> None:
    shop = Workshop()
    first, second = shop.accept(), shop.accept()
    with working(shop, tmp_path, room=1, grace_s=grace_s):
        eventually(lambda: shop.job(first.id).state == "running")
    assert shop.job(first.id).state == state
    assert len(shop.job(first.id).attempts) == 1
    assert shop.job(second.id).state == "queued"


class _Counting:
    """Real models that count their calls."""

    device = "cpu"

    def __init__(self) -> None:
        self.calls = 0

    def get(self, name: str) -> Session:
        session, counting = models().get(name), self

        class Counted:
            @property
            def name(self) -> str:
                return name

            def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
                counting.calls += 1
                return session.run(inputs)

        return Counted()


def test_a_source_is_prepared_once_for_an_account_and_again_for_another(tmp_path: Path) -> None:
    shop, counting = Workshop(), _Counting()
    shop.sessions = SharedSessions(counting)
    calls: list[int] = []
    with working(shop, tmp_path, room=1):
        for caller in (shop.owner, shop.owner, shop.caller("b", "owner")):
            before, job = counting.calls, shop.accept(caller=caller)
            eventually(lambda job=job: shop.job(job.id).ended)
            calls.append(counting.calls - before)
    first, again, other = calls
    assert 0 < again < first
    assert other == first


def test_hearts_beat_while_a_job_runs(tmp_path: Path) -> None:
    shop = Workshop()
    job = shop.accept()
    seen: set[int] = set()

    def beats() -> bool:
        shop.clock.at_ms += 10
        current = shop.job(job.id).current
        if current is not None:
            seen.add(current.lease_until_ms)
        return shop.job(job.id).ended

    with working(shop, tmp_path):
        eventually(beats)
    assert len(seen) > 2
    assert worker_bell("w1") == "worker:w1"


class _Waiting(_Flaky):
    """A desk whose beats wait for a database, as long as the test wants."""

    def __init__(self, shop: Workshop) -> None:
        super().__init__(shop)
        self.left, self.waits, self.answers = 0, threading.Event(), threading.Event()

    def beat(self, *told: object) -> object:
        self.waits.set()
        self.answers.wait()
        return self.shop.desk.beat(*told)  # type: ignore[arg-type]


def test_a_worker_that_waits_for_the_database_says_that_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondface.fleet.worker._PULSE_S", 0.01)
    shop, told = Workshop(), list[tuple[str, int]]()
    desk = _Waiting(shop)
    job = shop.accept()
    with working(shop, tmp_path, desk, told):
        assert desk.waits.wait(30)
        before = len(told)
        eventually(lambda: len(told) > before + 5)
        desk.answers.set()
        eventually(lambda: shop.job(job.id).ended)
    assert shop.job(job.id).state == "succeeded"


def test_a_worker_whose_heart_hangs_says_no_longer_that_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondface.fleet.worker._PULSE_S", 0.01)
    monkeypatch.setattr("secondface.fleet.worker._STUCK_HEART_S", 0.0)
    shop, told = Workshop(), list[tuple[str, int]]()
    desk = _Waiting(shop)
    shop.accept()

    def silent() -> bool:
        before = len(told)
        time.sleep(0.5)
        return len(told) == before

    with working(shop, tmp_path, desk, told):
        assert desk.waits.wait(30)
        eventually(silent)
        desk.answers.set()
