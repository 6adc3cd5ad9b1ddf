"""How a measurement is told: tables on the screen, JSON in out/bench, and on which machine, how busy."""

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
from secondface import processors


def machine() -> dict[str, Any]:
    """The machine, and the load of the last minute, without which no time means anything."""
    return {
        "processor": _processor(),
        "cores": processors.usable(),
        "memory_mb": psutil.virtual_memory().total >> 20,
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2),
    }


Rows = Sequence[Mapping[str, Any]]


def told(name: str, tables: Mapping[str, Rows], before: Mapping[str, Any]) -> None:
    """Print `tables` by title and keep them in out/bench/NAME.json; `before` is machine() before all measurements."""
    after = machine()
    console = Console(width=None if os.isatty(1) else 120)
    for title, rows in tables.items():
        table = Table(title=title, title_justify="left")
        for key, value in rows[0].items():
            table.add_column(key, justify="left" if isinstance(value, str) else "right")
        for row in rows:
            table.add_row(*(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()))
        console.print(table)
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {title: [dict(row) for row in rows] for title, rows in tables.items()}
    path.write_text(json.dumps({"before": dict(before), "after": after, "tables": content}, indent=1) + "\n")
    print(f"{before['processor']}, {before['cores']} cores, load {before['load_1min']} to {after['load_1min']}")
    print(f"written to {path.relative_to(ROOT)}")


def _processor() -> str:
    try:
        lines = open("/proc/cpuinfo").read().splitlines()  # noqa: PTH123, SIM115
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
