from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from secondface.pipeline.spare_memory import SpareMemory

_FREED = """
import psutil
from secondface.pipeline.spare_memory import give_back_spare_memory

blocks = [bytes(20_000) for _ in range(4_000)]
last = bytes(20_000)  # at the top, so that the C library cannot give back the rest by itself
del blocks
before = psutil.Process().memory_info().rss
give_back_spare_memory()
print(before - psutil.Process().memory_info().rss)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no malloc_trim")
def test_what_was_freed_goes_back_to_the_system() -> None:
    freed = subprocess.run([sys.executable, "-c", _FREED], capture_output=True, text=True, check=True).stdout
    assert int(freed) >= 60_000_000


def test_a_long_run_gives_back_now_and_then() -> None:
    times_s = iter([100.0, 101.0, 104.9, 105.0, 105.1, 109.9, 117.0, 121.9, 122.0])
    spare = SpareMemory(every_s=5, clock_s=lambda: next(times_s))
    assert [spare.tidy() for _ in range(8)] == [False, False, True, False, False, True, False, True]
