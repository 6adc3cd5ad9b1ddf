"""A service that is killed in the middle of a job and started again: whoever waits for the job just gets its result."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time

import pytest

from secondface.sdk import Client
from tests.scenarios.conftest import World

pytestmark = pytest.mark.slow


def started(secondface: World, port: int) -> tuple[subprocess.Popen[str], str]:
    """A service on that port, in a session of its own, and the key of its first start."""
    running = subprocess.Popen(
        secondface.command("serve", "--port", str(port), "--json"), env=secondface.environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    assert running.stdout is not None
    return running, json.loads(running.stdout.readline())["key"]


def ended(running: subprocess.Popen[str], number: signal.Signals) -> None:
    if running.poll() is None:
        os.kill(running.pid, number)
    running.communicate(timeout=60)


def test_a_run_sits_through_a_restart(secondface: World) -> None:
    secondface.environment["SECONDFACE_DATA_DIR"] = str(secondface.folder / "data")
    secondface.environment["SECONDFACE_WORKERS_MOST"] = "1"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    first, key = started(secondface, port)
    second = None
    try:
        url = f"http://127.0.0.1:{port}"
        run = secondface.start(
            "--server", url, "--key", key, "run", "-s", secondface.person_a, "-t", secondface.clip, "-o", "out.mp4",
            "--json",
        )  # fmt: skip
        with Client(url, key) as client:
            until = time.monotonic() + 60
            while not client.jobs().data and time.monotonic() < until:
                time.sleep(0.1)
        ended(first, signal.SIGKILL)
        second, _ = started(secondface, port)
        out, err = run.communicate(timeout=200)
        assert run.returncode == 0, err
        told = json.loads(out)
        assert told["job"]["state"] == "succeeded"
        assert told["job"]["done_frames"] == 60
        marks = secondface("verify", "out.mp4", "--json").object
        assert marks["layers"] == {"watermark": "intact", "metadata": "intact", "signature": "intact"}
        assert (marks["signed"], marks["job"]) == ("trusted", told["job"]["id"])
        with Client(url, key) as client:
            kinds = [entry.kind for entry in client.ledger().data if entry.subject == told["job"]["id"]]
        assert sorted(kinds) in (["capture", "hold", "release"], ["capture", "hold"]), "one charge, whatever happened"
    finally:
        ended(first, signal.SIGKILL)
        if second is not None:
            ended(second, signal.SIGTERM)
