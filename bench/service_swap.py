"""Milliseconds of `POST /v1/swap` on a warm service, and where they go.

Usage: python -m bench.service_swap [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.clips import sample
from bench.local_service import LocalService, answered, local_service, variants
from bench.tables import machine, told

ROUNDS = 12
WARM_ROUNDS = 2
SOURCE, TARGET = "synth_P010_woman_bun_light_front.jpg", "synth_P001_woman_short_curly_front.jpg"
MOST_MS = 1_000


@dataclass(frozen=True)
class Case:
    name: str
    accept: str
    new_sources: bool
    """Whether each request brings another source picture; else the worker has prepared it already."""


CASES = (
    Case("JPEG, known source", "image/jpeg", new_sources=False),
    Case("JPEG, new source", "image/jpeg", new_sources=True),
    Case("PNG, known source", "image/png", new_sources=False),
    Case("WebP, known source", "image/webp", new_sources=False),
)


def swapped(service: LocalService, case: Case, source: bytes, target: bytes) -> dict[str, float]:
    """Milliseconds of one request by part."""
    files = {"source": ("s.jpg", source, "image/jpeg"), "target": ("t.jpg", target, "image/jpeg")}
    began_ms, began_s = time.time() * 1000, time.perf_counter()
    reply = service.http.post("/v1/swap", files=files, headers={"Accept": case.accept, "Prefer": "wait=60"})
    whole_ms = (time.perf_counter() - began_s) * 1000
    if reply.status_code != 200:
        answered(reply)
        raise SystemExit("It took over a minute.")
    job = service.job(reply.headers["x-job-id"])
    (attempt,) = job.attempts
    usage = attempt.usage
    assert attempt.ended_ms is not None
    return {
        "whole": whole_ms, "intake": job.created_ms - began_ms, "claim": attempt.leased_ms - job.created_ms,
        "fetch": usage.boot_ms + usage.fetch_ms + usage.load_ms, "run": usage.run_ms, "store": usage.store_ms,
        "answer": began_ms + whole_ms - attempt.ended_ms, "active": usage.device_active_ms,
    }  # fmt: skip


def measured(service: LocalService, case: Case, sources: Sequence[bytes], targets: Sequence[bytes]) -> dict[str, Any]:
    """One row: medians, the worst, and the mean of what all processes computed."""
    before_s = service.cpu_s()
    rounds = [
        swapped(service, case, sources[number if case.new_sources else -1], target)
        for number, target in enumerate(targets)
    ]
    cpu_ms = (service.cpu_s() - before_s) * 1000 / len(rounds)
    rounds = rounds[WARM_ROUNDS:]
    medians = {part: round(statistics.median(each[part] for each in rounds)) for part in rounds[0]}
    return {
        "ms, medians": case.name,
        **medians,
        "computing": round(cpu_ms),
        "worst": round(max(each["whole"] for each in rounds)),
    }


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    before = machine()
    sources = variants(sample(f"portraits/{SOURCE}"), count + WARM_ROUNDS + 1)
    targets = variants(sample(f"portraits/{TARGET}"), count + WARM_ROUNDS)
    with local_service() as service:
        rows = [measured(service, case, sources, targets) for case in CASES]
    told("service_swap", {f"POST /v1/swap, 1024 x 1024, {count} rounds": rows}, before)
    if rows[0]["whole"] >= MOST_MS:
        raise SystemExit(f"A warm swap takes {rows[0]['whole']} ms; at most {MOST_MS} are asked for.")


if __name__ == "__main__":
    main()
