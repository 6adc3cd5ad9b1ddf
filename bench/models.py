"""Milliseconds of one call of each embedded model, alone, on arrays of its usual size. Usage: python -m bench.models"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from bench.tables import machine, told
from secondface.models.manifest import Manifest, load_manifests
from secondface.models.sessions import OrtSessions

SECONDS = 1.5
"""For how long each model is called."""


def measured(sessions: OrtSessions, manifest: Manifest) -> dict[str, Any]:
    """One row: load, first call, and the median of the others."""
    generator = np.random.default_rng(0)
    inputs = {each.name: generator.random(each.sized("usual"), np.float32) for each in manifest.inputs}
    started = time.perf_counter()
    session = sessions.get(manifest.name)
    loaded = time.perf_counter()
    session.run(inputs)
    spent = [time.perf_counter() - loaded]
    while sum(spent) < SECONDS or len(spent) < 4:
        begun = time.perf_counter()
        session.run(inputs)
        spent.append(time.perf_counter() - begun)
    return {
        "model": manifest.name,
        "input": " ".join("x".join(map(str, array.shape)) for array in inputs.values()),
        "file MB": manifest.size_bytes / 2**20,
        "load ms": 1000 * (loaded - started),
        "first ms": 1000 * spent[0],
        "call ms": 1000 * statistics.median(spent[1:]),
        "best ms": 1000 * min(spent[1:]),
    }


def main() -> None:
    before, sessions = machine(), OrtSessions()
    rows = [measured(sessions, manifest) for manifest in load_manifests()]
    told("models", {"One call of each embedded model, one thread": rows}, before)


if __name__ == "__main__":
    main()
