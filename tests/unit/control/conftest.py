"""The whole control plane over memory, on a clock that the test moves."""

from __future__ import annotations

import pytest

from tests.unit.control.service import Service


@pytest.fixture
def service() -> Service:
    return Service()
