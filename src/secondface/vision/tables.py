"""Tables that depend on nothing but the code, made in advance: for a process whose copies would each make them again.

Decides which there are: all cached functions of this room without parameters, and what every swap and label needs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import _lru_cache_wrapper  # pyright: ignore[reportPrivateUsage]  the type of what lru_cache makes
from typing import cast

from secondface.vision.label import place_label
from secondface.vision.mesh_layout import _zone_stack  # pyright: ignore[reportPrivateUsage]  this room
from secondface.vision.mesh_swap import SwapOptions

_USUAL_SIDES = (360, 480, 512, 540, 640, 720, 768, 800, 900, 960, 1024, 1080, 1200, 1440, 2160)
"""Shortest sides of common pictures; the label of another size is drawn when it is needed."""


def make_tables() -> None:
    """Make them; what is made already costs nothing."""
    room = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.startswith(room):
            for each in list(vars(module).values()):
                if isinstance(each, _lru_cache_wrapper):
                    table = cast("Callable[..., object]", each)
                    if not inspect.signature(table).parameters:
                        table()
    _zone_stack(SwapOptions().feather)
    for side in _USUAL_SIDES:
        place_label(2 * side, side)
