"""The service dies by SIGKILL before and after each of its commits, and another process goes on where it stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.commit_points import points


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_a_service_killed_at_any_commit_keeps_whole_books(tmp_path: Path) -> None:
    """A point that the story does not visit counts as one at which the service was not killed."""
    told = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.chaos.commit_points", str(tmp_path)], capture_output=True,
        text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    lives = [json.loads(line) for line in told.stdout.splitlines()]
    killed = -signal.SIGKILL
    assert [each for each in lives if each["ends"] != [killed, killed, 0]] == [], told.stderr
    assert told.returncode == 0, told.stderr
    assert [each["point"] for each in lives] == points()
    assert len(points()) > 25
