"""How the memory of this process is handed out: from one heap, whichever thread asks.

glibc gives each thread a heap of its own and keeps in each what was freed there. A run passes its frames from thread to
thread, so that every heap grew to its worst: 752 MB at 1080p against 632 MB from one, in the same processor time.
"""

from __future__ import annotations

import ctypes

_MOST_HEAPS = -8
"""`M_ARENA_MAX` of glibc's malloc.h."""


def share_one_heap() -> bool:
    """Give out memory from one heap from now on; False where the C library knows no such setting."""
    try:
        setting = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl; macOS; Windows has no such handle
        return False
    return bool(setting(_MOST_HEAPS, 1))
