from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator

import pytest

from secondface.observe import BusyClock, Meter, configure, counter, histogram, log, span


@pytest.fixture(autouse=True)
def _silence_again() -> Iterator[None]:
    yield
    configure()


def test_says_nothing_until_configured(capfd: pytest.CaptureFixture[str]) -> None:
    log("frame.lost", "error", index=3)
    counter("frames")
    assert capfd.readouterr() == ("", "")


def test_events_are_json_lines_at_and_above_the_level() -> None:
    stream = io.StringIO()
    configure(stream, "info")
    log("model.load", "debug")
    log("run.done", frames=3, name="脸")
    (line,) = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (line["event"], line["level"], line["frames"], line["name"]) == ("run.done", "info", 3, "脸")


def test_measures_are_summed_by_name_and_labels() -> None:
    meter = Meter()
    configure(meter=meter)
    counter("frames", 2, stage="read")
    counter("frames", 3, stage="read")
    histogram("load_ms", 4.5)
    assert meter.total("frames", stage="read") == 5
    assert meter.count("frames", stage="read") == 2
    assert meter.total("frames", stage="write") == 0
    assert meter.total("load_ms") == 4.5


def test_span_times_and_logs_also_when_it_fails() -> None:
    stream = io.StringIO()
    configure(stream, "debug")
    with pytest.raises(ZeroDivisionError), span("work", part=1) as timing:
        _ = 1 / 0
    line = json.loads(stream.getvalue())
    assert line["event"] == "work"
    assert line["part"] == 1
    assert line["elapsed_ms"] == pytest.approx(timing.elapsed_ms, abs=0.001)


def test_overlapping_blocks_count_once() -> None:
    clock, started = BusyClock(), time.perf_counter()
    ready = threading.Barrier(3)

    def work() -> None:
        ready.wait()
        with clock:
            time.sleep(0.05)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 50 <= clock.busy_ms <= (time.perf_counter() - started) * 1000


def test_an_open_block_counts_already() -> None:
    clock = BusyClock()
    with clock:
        time.sleep(0.01)
        assert clock.busy_ms >= 10
    closed = clock.busy_ns
    time.sleep(0.005)
    assert clock.busy_ns == closed


def test_no_sign_of_a_stranger_moves_the_terminal_or_makes_a_line() -> None:
    """JSON lets C1 controls, separators of lines and turns of direction stand as they are."""
    stream = io.StringIO()
    configure(stream, "info")
    wild = "a\x1b[2J\x9b31m\x85\u2028\u202e\u2066\x7f\n{}é"
    log("x", note=wild)
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert not [sign for sign in text.rstrip("\n") if not sign.isprintable()]
    assert json.loads(text)["note"] == wild
