"""How a measurement is told: a table on the screen, JSON in out/bench, and on which machine, how busy."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from bench.clips import RESULTS, ROOT


def machine() -> dict[str, Any]:
    """The machine, and the load of the last minute, without which no time means anything."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_mb": psutil.virtual_memory().total >> 20,
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2),
    }


def told(name: str, title: str, rows: Sequence[Mapping[str, Any]], before: Mapping[str, Any]) -> None:
    """Print `rows` and write them to out/bench/NAME.json; `before` is machine() from before the first measurement."""
    after = machine()
    table = Table(title=title)
    for key in rows[0]:
        table.add_column(key, justify="left" if isinstance(rows[0][key], str) else "right")
    for row in rows:
        table.add_row(*(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()))
    Console(width=None if os.isatty(1) else 160).print(table)
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"before": dict(before), "after": after, "rows": [dict(r) for r in rows]}, indent=1))
    print(f"{before['processor']}, {before['cores']} cores, load {before['load_1min']} to {after['load_1min']}")
    print(f"written to {path.relative_to(ROOT)}")


def _processor() -> str:
    try:
        lines = open("/proc/cpuinfo").read().splitlines()  # noqa: PTH123, SIM115
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
