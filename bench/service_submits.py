"""How soon a warm service works on a job, and how many jobs it takes in a second from 32 clients at once.

Usage: python -m bench.service_submits [ROUNDS] [SECONDS]
"""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.clips import BUNDLED
from bench.local_service import LocalService, answered, local_service, variants
from bench.tables import machine, told

ROUNDS, SECONDS = 40, 15.0
WARM_ROUNDS = 5
CLIENTS = 32
MOST_START_MS = 50
_ACCOUNT = "/v1/admin/accounts/default"
_PLAN = {"requests_per_minute": 1_000_000, "max_running": 1_000}


def started(service: LocalService, source: str, target: str) -> dict[str, float]:
    """Milliseconds from the first byte of a submission to the first device work, by part, of a job that runs alone."""
    began_ms = time.time() * 1000
    view = answered(service.http.post("/v1/jobs", json=_words(source, target, "auto")))
    answered_ms = time.time() * 1000
    while not (job := service.job(view["id"])).ended:
        time.sleep(0.05)
    if job.state != "succeeded":
        raise SystemExit(f"A job {job.state}: {job.error}")
    (attempt,) = job.attempts
    usage = attempt.usage
    ready = usage.boot_ms + usage.fetch_ms + usage.load_ms
    return {
        "to device": attempt.leased_ms + ready - began_ms, "to answer": answered_ms - began_ms,
        "to commit": job.created_ms - began_ms, "claim": attempt.leased_ms - job.created_ms, "boot": usage.boot_ms,
        "fetch": usage.fetch_ms, "load": usage.load_ms,
    }  # fmt: skip


def starts(service: LocalService, rounds: int) -> dict[str, Any]:
    """One row: medians over jobs that come one after another, each with a picture that was not seen before."""
    source = service.upload(variants(BUNDLED / "person_b.jpg", 1)[0])
    targets = [service.upload(each) for each in variants(BUNDLED / "person_a.jpg", rounds + WARM_ROUNDS)]
    spent = [started(service, source, each) for each in targets][WARM_ROUNDS:]
    medians = {part: round(statistics.median(each[part] for each in spent), 1) for part in spent[0]}
    return {"jobs": rounds, **medians, "to device p90": _percentile([each["to device"] for each in spent], 90)}


def client(service: LocalService, number: int, source: str, target: str, until_s: float) -> list[float]:
    """Milliseconds of each submission of one client with a connection of its own, from an address of its own."""
    url, key = service.http.base_url, service.http.headers["authorization"]
    here = (f"127.0.1.{number + 1}", 0)
    connection = http.client.HTTPConnection(url.host, url.port, timeout=60, source_address=here)
    spent: list[float] = []
    while time.perf_counter() < until_s:
        # another strength each time, so that no result is one that another job has made already
        body = json.dumps(_words(source, target, f"0.{number + 1:02}{len(spent) + 1:05}"))
        began_s = time.perf_counter()
        connection.request(
            "POST", "/v1/jobs", body, {"Authorization": key, "Content-Type": "application/json"}
        )  # fmt: skip
        reply = connection.getresponse()
        content = reply.read()
        spent.append((time.perf_counter() - began_s) * 1000)
        if reply.status != 202:
            raise SystemExit(f"{reply.status} {content[:400]!r}")
    connection.close()
    return spent


def submits(service: LocalService, clients: int, seconds: float) -> dict[str, Any]:
    """One row: jobs taken in a second, with the worker at work beside it."""
    source, target = (service.upload((BUNDLED / f"person_{person}.jpg").read_bytes()) for person in ("b", "a"))
    until_s = time.perf_counter() + seconds
    with ThreadPoolExecutor(clients) as pool:
        each = list(pool.map(lambda number: client(service, number, source, target, until_s), range(clients)))
    spent = [ms for one in each for ms in one]
    return {
        "clients": clients, "jobs": len(spent), "submits/s": round(len(spent) / seconds, 1),
        "p50 ms": _percentile(spent, 50), "p90 ms": _percentile(spent, 90), "p99 ms": _percentile(spent, 99),
        "worst ms": round(max(spent)), "fewest of a client": min(map(len, each)), "most": max(map(len, each)),
    }  # fmt: skip


def _words(source: str, target: str, restore: str) -> dict[str, Any]:
    return {
        "sources": [{"upload": source}], "target": {"upload": target}, "restore": restore, "output": "jpeg",
    }  # fmt: skip


def _percentile(values: Sequence[float], percent: int) -> float:
    return round(statistics.quantiles(values, n=100)[percent - 1], 1)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS
    before = machine()
    with local_service() as service:
        answered(service.http.patch(_ACCOUNT, json={"plan": _PLAN}))
        answered(service.http.post(f"{_ACCOUNT}/deposits", json={"micros": 10**12, "reference": "bench"}))
        answered(service.http.put(f"{_ACCOUNT}/budgets", json={"span": "day", "limit_micros": 10**12}))
        first = starts(service, rounds)
        taken = [submits(service, clients, seconds) for clients in (1, CLIENTS)]
    told("service_submits", {
        "From a submission to the first work of the device, 768 x 768, SQLite: ms, medians": [first],
        "Submissions of jobs, a worker at work beside it, SQLite": taken,
    }, before)  # fmt: skip
    if first["to device"] > MOST_START_MS:
        raise SystemExit(f"{first['to device']} ms to the first device work; at most {MOST_START_MS} are asked for.")


if __name__ == "__main__":
    main()
