"""How many random histories a machine is driven through: a few in `make test`, thousands on request.

SECONDFACE_HISTORIES=10000 python -m pytest --timeout=0 tests/property/test_jobs.py
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUICK = 100


def histories(steps: int = 50) -> settings:
    """Settings for a state machine: steps in each history, as many histories as the environment asks for."""
    return settings(
        max_examples=int(os.environ.get("SECONDFACE_HISTORIES", _QUICK)), stateful_step_count=steps, deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )  # fmt: skip
