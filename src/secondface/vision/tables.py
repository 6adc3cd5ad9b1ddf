"""Tables that depend on nothing but the code, made in advance: for a process whose copies would each make them again.

Decides which there are: all cached functions of this room without parameters, and what every swap and label needs.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import _lru_cache_wrapper  # pyright: ignore[reportPrivateUsage]  the type of what lru_cache makes
from typing import cast

from secondface.vision.label import render_label
from secondface.vision.mesh_layout import _zone_stack  # pyright: ignore[reportPrivateUsage]  this room
from secondface.vision.mesh_swap import SwapOptions

_LINES = ("AI生成 · AI-generated",)
_USUAL_GLYPH_PX = 36


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
    render_label(_LINES, _USUAL_GLYPH_PX)
