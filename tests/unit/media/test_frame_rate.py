from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from secondface.media.frame_rate import ConstantRate

Times = list[tuple[Fraction, Fraction]]
rates = st.sampled_from([Fraction(25), Fraction(30000, 1001), Fraction(1, 3), Fraction(120), Fraction(24000, 1001)])
gaps = st.lists(st.integers(1, 3_000).map(lambda ticks: Fraction(ticks, 1000)), min_size=1, max_size=40)


def resampled(times: list[Fraction], rate: Fraction, end: Fraction | None = None) -> Times:
    pace = ConstantRate[Fraction](rate)
    settled = [place for time in times for place in pace.add(time, time)]
    return settled + pace.finish(end)


def test_half_the_rate_shows_every_second_frame() -> None:
    times = [Fraction(index, 50) for index in range(10)]
    shown = resampled(times, Fraction(25), Fraction(10, 50))
    assert [item for _, item in shown] == times[::2]


def test_twice_the_rate_shows_each_frame_twice() -> None:
    times = [Fraction(index, 25) for index in range(4)]
    shown = resampled(times, Fraction(50), Fraction(4, 25))
    assert [item for _, item in shown] == [time for time in times for _ in range(2)]


def test_a_gap_is_filled_with_the_frame_before_it() -> None:
    shown = resampled([Fraction(0), Fraction(2)], Fraction(1), Fraction(3))
    assert shown == [(0, 0), (1, 0), (2, 2)]


def test_the_first_frame_keeps_its_time() -> None:
    start = Fraction(7, 90_000)
    assert resampled([start, start + 1], Fraction(2))[0] == (start, start)


@given(gaps, rates, st.fractions(0, 3))
def test_time_runs_as_before(steps: list[Fraction], rate: Fraction, start: Fraction) -> None:
    times = [start + sum(steps[:index], Fraction(0)) for index in range(len(steps))]
    end = start + sum(steps, Fraction(0))
    shown = resampled(times, rate, end)
    places = [place for place, _ in shown]
    assert places == [start + index / rate for index in range(len(shown))]
    # no slow motion: the whole lasts as long as before, within one place
    assert len(shown) == 1 or abs(len(shown) / rate - (end - start)) < 1 / rate
    early = Fraction(1, 4) / rate
    for place, item in shown:
        assert item == max(time for time in times if time <= place + early)


def test_stamps_in_whole_milliseconds_keep_every_frame() -> None:
    times = [Fraction(round(index * 1000 / 30), 1000) for index in range(90)]
    assert [item for _, item in resampled(times, Fraction(30), Fraction(3))] == times
