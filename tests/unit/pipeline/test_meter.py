"""Phases add up to the wall time whatever the clock does between them, and memory peaks are seen."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from secondface.pipeline.meter import PHASES, Phase, PhaseClock


@given(steps=st.lists(st.tuples(st.sampled_from(PHASES), st.integers(0, 3_000_000_000)), max_size=30))
def test_phases_add_up_exactly(steps: list[tuple[Phase, int]]) -> None:
    now = 12_345_678

    def clock() -> int:
        return now

    phases = PhaseClock(clock)
    for phase, length in steps:
        now += length
        phases.enter(phase)
    spent = phases.finish()
    assert sum(spent.values()) == phases.wall_ms == (now - 12_345_678) // 1_000_000
    assert min(spent.values()) >= 0


_PEAK = """
import numpy as np
from secondface.pipeline.meter import MemoryPeak

peak = MemoryPeak()
before = peak.bytes()
block = np.ones(80_000_000, np.uint8)
peak.sample()
del block
print(peak.bytes() - before)
"""


def test_the_memory_peak_sees_what_was_given_back() -> None:
    # In a process of its own: this one may still hold enough free memory from other tests.
    grown = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, text=True, check=True).stdout
    assert int(grown) >= 60_000_000
