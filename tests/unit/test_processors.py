"""How many processors are usable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from secondface import processors


@pytest.mark.parametrize(
    ("quota", "share"),
    [
        ("100000 100000", 1), ("50000 100000", 1), ("1 100000", 1), ("150000 100000", 2), ("max 100000", None),
        ("?", None),
    ],
)  # fmt: skip
def test_no_more_than_a_container_may_use(tmp_path: Path, quota: str, share: int | None) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    mine = len(os.sched_getaffinity(0))
    assert processors.usable(tmp_path / "cpu.max") == min(share or mine, mine)
    assert processors.usable(tmp_path / "none") == mine


def test_nothing_else_counts_processors() -> None:
    """A count of its own somewhere would disagree in a container, or under `taskset`."""
    root = Path(__file__).parents[2]
    counters = [
        path.relative_to(root).as_posix()
        for folder in ("src", "bench")
        for path in (root / folder).rglob("*.py")
        if any(word in path.read_text("utf-8") for word in ("os.cpu_count", "os.sched_getaffinity"))
    ]
    assert counters == ["src/secondface/processors.py"]
