"""What the cage of jobs costs: `POST /v1/swap` on two warm services, one with a cage and one without, in turns.

Usage: python -m bench.service_cage [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

from bench.clips import sample
from bench.local_service import LocalService, local_service, variants
from bench.service_swap import CASES, SOURCE, TARGET, WARM_ROUNDS, Case, swapped
from bench.tables import machine, told

ROUNDS = 12


def measured(services: dict[str, LocalService], case: Case, sources: list[bytes], targets: list[bytes]) -> list[Any]:
    """Medians and the least of both; in turns, so that a busy machine is busy for both."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in services}
    spent = {name: -service.cpu_s() for name, service in services.items()}
    for number, target in enumerate(targets):
        for name, service in services.items():
            rounds[name].append(swapped(service, case, sources[number if case.new_sources else -1], target))
    rows: list[Any] = []
    for name, service in services.items():
        kept = rounds[name][WARM_ROUNDS:]
        rows.append(
            {
                "ms": f"{case.name}, {name}",
                **{part: round(statistics.median(each[part] for each in kept), 1) for part in kept[0]},
                "least": round(min(each["whole"] for each in kept)),
                "computing": round((spent[name] + service.cpu_s()) * 1000 / len(targets)),
                "first": round(rounds[name][0]["whole"]),
            }
        )
    return rows


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    before = machine()
    sources = variants(sample(f"portraits/{SOURCE}"), count + WARM_ROUNDS + 1)
    targets = variants(sample(f"portraits/{TARGET}"), count + WARM_ROUNDS)
    with local_service(worker_cage="off") as plain, local_service(worker_cage="require") as caged:
        services = {"no cage": plain, "cage": caged}
        rows = [row for case in CASES[:2] for row in measured(services, case, list(sources), list(targets))]
    told("service_cage", {f"POST /v1/swap, 1024 x 1024, {count} rounds in turns": rows}, before)


if __name__ == "__main__":
    main()
