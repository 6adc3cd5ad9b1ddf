"""The first thing that a stranger runs: a service of its own does the job and sends the bill."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.scenarios.conftest import World


def test_the_demo_makes_a_clip_and_prints_what_it_costs_on_each_tier(secondface: World) -> None:
    told = secondface("demo")
    assert told.code == 0, told.err
    assert secondface.files() == {"secondface-demo.mp4"}
    words = (
        "secondface-demo.mp4",
        "frames",
        "60",
        "device worked",
        "Ledger",
        "set aside → revenue",
        "a10g",
        "v100",
        "spot",
    )
    assert [word for word in words if word not in told.out] == []


def test_its_receipt_is_what_the_ledger_booked(secondface: World) -> None:
    told = secondface("demo", "--json", "-o", "clip.mp4").object
    moved = {entry["kind"]: entry["postings"] for entry in told["ledger"]}
    assert moved["capture"]["revenue"] == told["receipt"]["total_micros"] == told["job"]["cost_micros"] > 0
    assert moved["hold"]["held"] == told["job"]["hold_micros"]
    assert sum(sum(postings.values()) for postings in moved.values()) == 0


def test_nothing_of_its_service_is_left_when_it_is_stopped(secondface: World, tmp_path: Path) -> None:
    places = tmp_path / "places"
    places.mkdir()
    secondface.environment["TMPDIR"] = str(places)
    demo = secondface.start("demo")
    until = time.monotonic() + 60
    while not list(places.glob("secondface-*/service.db")) and time.monotonic() < until:
        time.sleep(0.05)
    assert demo.poll() is None, demo.communicate()
    demo.send_signal(signal.SIGINT)
    _, err = demo.communicate(timeout=60)
    assert demo.returncode == 130, err
    assert list(places.glob("secondface-*")) == []
    assert secondface.files() == {"places"}
