"""Memory comes from one heap: what threads freed is not kept by each of them."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_PROGRAM = """
import re, sys, threading
from secondface.heap import share_one_heap
import numpy as np
if sys.argv[1] == "one":
    assert share_one_heap()
def work():
    kept = [np.ones(2_000) for _ in range(100)]
    wait.wait()
wait = threading.Barrier(9)
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
wait.wait()
# a heap of a thread is a reservation of 64 MiB, of which the rest is closed to all
reserved = 0
for line in open("/proc/self/maps"):
    begin, end = (int(each, 16) for each in line.split()[0].split("-"))
    if line.split()[1] == "---p" and (end & ((64 << 20) - 1)) == 0:
        reserved += 1
print(reserved)
for thread in threads: thread.join()
"""


def _heaps(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has a heap for each thread")
def test_threads_share_a_heap() -> None:
    assert _heaps("one") < _heaps("many")
