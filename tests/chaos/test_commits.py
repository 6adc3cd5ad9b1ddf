"""The service dies by SIGKILL before and after each of its commits, and another process goes on where it stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.commit_points import SIDES, points


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_a_service_killed_at_any_commit_keeps_whole_books(tmp_path: Path) -> None:
    """A point that the story does not visit counts as one at which the service was not killed."""
    told = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.chaos.commit_points", str(tmp_path)], capture_output=True,
        text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    lives = [json.loads(line) for line in told.stdout.splitlines()]
    wrong = [each for each in lives if (each["died"], each["went_on"]) != (-signal.SIGKILL, 0)]
    assert not wrong, told.stderr
    assert told.returncode == 0, told.stderr
    assert [(each["point"], each["side"]) for each in lives] == [(point, side) for point in points() for side in SIDES]
    assert len(points()) > 25
