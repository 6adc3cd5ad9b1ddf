"""What workers cost the operator: every second that they are there, once, whatever fails in between."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.control.occupancy import Occupancy
from secondface.domain.ports import Worker
from secondface.errors import StorageUnavailable
from tests.unit.control.service import Service

PRICE = 700


class Yard:
    """A fleet whose workers come and go as the test says."""

    def __init__(self) -> None:
        self.there: set[str] = set()

    def workers(self, tier: str) -> Sequence[Worker]:
        return [Worker(id=each, state="idle", since_ms=0) for each in sorted(self.there)] if tier == "a10g" else []

    def start(self, tier: str, market: str, count: int) -> None:
        raise AssertionError

    def stop(self, worker_ids: Sequence[str]) -> None:
        raise AssertionError

    def crashed(self) -> Sequence[str]:
        return []

    def close(self) -> None:
        self.there.clear()


def occupancy(service: Service, yard: Yard, micros_per_s: int = PRICE) -> Occupancy:
    return Occupancy(service.transactions, yard, service.clock, tier="a10g", micros_per_s=micros_per_s)


def test_minutes_are_booked_as_they_pass_and_the_rest_at_the_end() -> None:
    service, yard = Service(), Yard()
    books = occupancy(service, yard)
    yard.there = {"w1"}
    assert books.step() == 0
    service.clock.at_ms += 59_999
    assert books.step() == 0
    service.clock.at_ms += 65_001
    assert books.step() == 1
    assert service.balance("device_cost") == 120 * PRICE
    service.clock.at_ms += 2_500
    yard.close()
    assert books.step() == 1
    assert books.step() == 0
    assert service.balance("device_cost") == -service.balance("supplier") == (120 + 8) * PRICE
    with service.transactions.view() as work:
        assert [entry.subject for entry in work.ledger.entries(accounts=["supplier"])] == ["w1/0", "w1/1"]


def test_a_worker_that_is_free_is_not_booked() -> None:
    service, yard = Service(), Yard()
    books = occupancy(service, yard, 0)
    for at in ({"w1"}, set[str]()):
        yard.there = at
        service.clock.at_ms += 100_000
        assert books.step() == 0
    assert service.balance("device_cost") == 0


def test_a_database_that_is_away_makes_no_worker_free(monkeypatch: pytest.MonkeyPatch) -> None:
    service, yard = Service(), Yard()
    books = occupancy(service, yard)
    yard.there = {"w1"}
    books.step()
    service.clock.at_ms += 61_000
    yard.close()
    with monkeypatch.context() as patch:
        patch.setattr(service.transactions, "begin", _away)
        with pytest.raises(StorageUnavailable):
            books.step()
    assert books.step() == 1
    assert service.balance("device_cost") == 61 * PRICE


def _away() -> None:
    raise StorageUnavailable


@given(st.lists(st.tuples(st.integers(0, 200_000), st.sets(st.sampled_from(["w1", "w2", "w3"]))), max_size=20))
def test_every_second_of_every_worker_is_booked_once(steps: list[tuple[int, set[str]]]) -> None:
    service, yard = Service(), Yard()
    books, stays_ms = occupancy(service, yard), dict[str, int]()
    number, names = 0, dict[str, str]()
    for ms, there in [*steps, (0, set[str]())]:
        for each in yard.there:
            stays_ms[each] = stays_ms.get(each, 0) + ms
        service.clock.at_ms += ms
        for each in there - names.keys():
            number += 1
            names[each] = f"{each}-{number}"  # a name is never used again
        names = {each: name for each, name in names.items() if each in there}
        yard.there = set(names.values())
        books.step()
    assert service.balance("device_cost") == sum(-(-ms // 1000) for ms in stays_ms.values()) * PRICE
