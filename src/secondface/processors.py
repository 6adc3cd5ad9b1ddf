"""How many processors this process may use: one count for all that shares work out among them."""

from __future__ import annotations

import math
import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""What a container may use, in microseconds of processor time a period: `200000 100000` are two processors."""


def usable(quota: Path = _QUOTA) -> int:
    """At least 1: those that this process may run on, and no more than its container's share."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(mine, _share(quota) or mine))


def _share(quota: Path) -> int | None:
    try:
        allowed, period = quota.read_text("ascii").split()
        return math.ceil(int(allowed) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return None  # no container, no limit (`max`), or a kernel that says it elsewhere
