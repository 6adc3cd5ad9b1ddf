"""Ctrl-C, SIGTERM and a closed terminal in the middle of a run: it ends early, says so, and leaves nothing behind.

How soon it ends is measured by `python -m bench.stop`; here a busy machine may take its time.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time

import pytest

from tests.scenarios.conftest import World

SLOW = "denoise:level=strong,face_swap"
"""Whole frames through a network: the clip then takes minutes, so that only a stop can end it in time."""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)]
)
def test_a_signal_stops_the_run(secondface: World, number: signal.Signals, code: int) -> None:
    run = secondface.start("run", "-s", secondface.person_a, "-t", secondface.clip, "-o", "out.mp4", "--pipeline", SLOW)
    deadline = time.monotonic() + 120
    while not secondface.files() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert run.poll() is None, run.communicate()
    if not secondface.files():
        run.send_signal(signal.SIGABRT)
        pytest.fail(f"nothing was being written: {run.communicate(timeout=60)}")
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    assert run.returncode == code, err
    assert "code cancelled" in err
    assert secondface.files() == set()


def test_a_terminal_that_closes_ends_the_run_without_a_fault(secondface: World) -> None:
    """A bar is under way on that terminal, and has nowhere to go when it is taken down."""
    ours, theirs = pty.openpty()
    command = secondface.command(
        "run", "-s", secondface.person_a, "-t", secondface.clip, "-o", "out.mp4", "--pipeline", SLOW
    )
    # A session of its own, whose terminal this is: closing our end then sends SIGHUP.
    launcher = (
        f"import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv({command[0]!r}, sys.argv[1:])"
    )
    run = subprocess.Popen(
        [command[0], "-c", launcher, *command], cwd=secondface.folder, env=secondface.environment, stdin=theirs,
        stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    deadline = time.monotonic() + 120
    while not secondface.files() and time.monotonic() < deadline:
        os.read(ours, 65536)
    assert secondface.files(), "nothing was being written"
    os.close(ours)
    assert run.wait(60) == 129
    assert secondface.files() == set()
    assert not (secondface.folder / "log").exists()


@pytest.mark.parametrize("after_s", [0.1, 0.15, 0.25])
def test_a_signal_while_the_program_loads(secondface: World, after_s: float) -> None:
    run = secondface.start("run", "-s", secondface.person_a, "-t", secondface.clip, "-o", "out.mp4")
    time.sleep(after_s)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode in (130, -signal.SIGINT)
    assert "secondface/" not in err, "a traceback of ours"
    assert secondface.files() == set()
