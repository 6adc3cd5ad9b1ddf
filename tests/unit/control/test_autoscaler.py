"""The autoscaler carries out what the rule decides, once, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from secondface.control.autoscaler import Autoscaler
from secondface.domain.scaling import Policy, Worker
from tests.unit.control.service import Service

POLICY = Policy(tier="a10g", idle_ms=60_000, cold_start_ms=1_000)


class PaperFleet:
    """A fleet that writes down who would be there."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.there: dict[str, Worker] = {}
        self.started = 0

    def workers(self, tier: str) -> Sequence[Worker]:
        return list(self.there.values()) if tier == "a10g" else []

    def start(self, tier: str, market: Literal["on_demand", "spot"], count: int) -> None:
        for _ in range(count):
            self.started += 1
            name = f"w{self.started}"
            now_ms = self._service.clock.at_ms
            self.there[name] = Worker(id=name, state="starting", since_ms=now_ms, market=market)

    def stop(self, worker_ids: Sequence[str]) -> None:
        for name in worker_ids:
            del self.there[name]

    def crashed(self) -> Sequence[str]:
        return []

    def close(self) -> None:
        self.there.clear()


def told(service: Service) -> list[str]:
    with service.transactions.view() as work:
        return [str(each.event.facts["why"]) for each in work.journal.since("tier:a10g")]


def test_work_brings_workers_and_rest_takes_them_away(service: Service) -> None:
    fleet = PaperFleet(service)
    scaler = Autoscaler(service.transactions, fleet, (POLICY,))
    scaler.step()
    assert (fleet.started, told(service)) == (0, [])
    job = service.submit().job
    for _ in range(3):
        scaler.step()
    assert (fleet.started, scaler.decisions["a10g"].why) == (1, "steady")
    service.requests.cancel(service.owner, job.id)
    fleet.there["w1"] = replace(fleet.there["w1"], state="idle", served=1)
    service.clock.at_ms += 60_000
    scaler.step()
    assert fleet.there == {}
    assert told(service) == ["no_worker", "steady", "idle_timeout"]


def test_crashes_hold_it_back_until_a_worker_serves(service: Service) -> None:
    fleet = PaperFleet(service)
    scaler = Autoscaler(service.transactions, fleet, (POLICY,))
    service.submit()
    scaler.note_crash("a10g", service.clock.at_ms)
    scaler.step()
    assert fleet.started == 1  # one crash is no loop
    fleet.there.clear()
    fleet.started = 0
    scaler.note_crash("a10g", service.clock.at_ms)
    scaler.step()
    assert (fleet.started, scaler.decisions["a10g"].why) == (0, "workers_crashing")
    service.clock.at_ms += 30_000
    scaler.step()
    assert fleet.started == 1
    fleet.there["w1"] = replace(fleet.there["w1"], state="idle", served=1, since_ms=service.clock.at_ms)
    scaler.step()
    fleet.there.clear()
    scaler.step()
    assert fleet.started == 2


def test_only_one_scaler_at_a_time_acts(service: Service) -> None:
    fleet = PaperFleet(service)
    service.submit()
    with service.transactions.sole("scale"):
        Autoscaler(service.transactions, fleet, (POLICY,)).step()
    assert fleet.started == 0
