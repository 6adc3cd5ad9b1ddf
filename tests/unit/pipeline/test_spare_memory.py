from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

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
