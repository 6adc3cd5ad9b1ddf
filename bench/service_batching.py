"""Many small pictures of three accounts at once, with and without a shared device.

Usage: python -m bench.service_batching [JOBS]

Per mode: device-active share of the worker's wall time (at least one thread computes), the share of the usable
processors that the worker used (on the CPU these are the device), jobs a second, and how evenly the accounts were
served.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import psutil

from bench.clips import BUNDLED
from bench.tables import machine, told
from secondface import processors
from secondface.compose.service import server
from secondface.control.admission import Probed, Rate, Submission
from secondface.control.auth import Caller
from secondface.domain import ledger
from secondface.domain.accounts import Account
from secondface.domain.jobs import Job
from secondface.gateway.service import Service
from secondface.settings import load_settings
from secondface.spec.work import StoredInput, WorkOrder

JOBS = 200
ACCOUNTS = ("ada", "bob", "eve")
SIDE = 160
CLIENTS = 16
PATIENCE_S = 900
LEAST_SHARE, LEAST_GAIN, MOST_UNFAIR = 0.75, 1.5, 0.10


@dataclass(frozen=True)
class Mode:
    name: str
    worker_jobs: int
    batch_rows: int


MODES = (Mode("several jobs, shared batches", 8, 32), Mode("several jobs, no batches", 8, 1), Mode("one job", 1, 1))


def picture(person: str) -> bytes:
    """A small still of a bundled person."""
    still = cv2.imread(str(BUNDLED / f"person_{person}.jpg"))
    assert still is not None
    return bytes(cv2.imencode(".jpg", cv2.resize(still, (SIDE, SIDE), interpolation=cv2.INTER_AREA))[1])


def stored(service: Service, name: str, content: bytes) -> StoredInput:
    put = service.objects.put(f"uploads/{name}", [content], "image/jpeg")
    return StoredInput(key=put.key, name=name, sha256=put.sha256, size_bytes=put.size_bytes)


def callers(service: Service) -> list[Caller]:
    """Owners of three accounts with money."""
    found: list[Caller] = []
    for name in ACCOUNTS:
        with service.transactions.begin() as work:
            work.accounts.save(Account(id=name, name=name))
            work.ledger.post(ledger.deposit(name, 10**9, f"pay_{name}", work.now_ms(), "CNY"))
        found.append(service.keyring.caller(service.keyring.issue(name, "owner")[1]))
    return found


def submitted(service: Service, jobs: int) -> list[str]:
    """Ids of jobs that many clients submitted at once, the accounts in turn."""
    order = WorkOrder(
        sources=((stored(service, "a.jpg", picture("a")),),), target=stored(service, "b.jpg", picture("b")),
        output_name="out.jpg", restore="off",
    ).model_dump_json()  # fmt: skip
    submission = Submission(
        spec=order, digest="d", tier=service.tiers[0], probed=Probed(), rate=Rate(active_us=500_000)
    )
    people = callers(service)
    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(
            pool.map(
                lambda number: service.admission.submit(people[number % len(people)], submission).job.id, range(jobs)
            )
        )


def ended(service: Service, ids: Sequence[str]) -> list[Job]:
    """All jobs once they have ended."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with service.transactions.view() as work:
            if not work.jobs.page(None, ["queued", "running"], limit=1):
                return [work.jobs.get(each) for each in ids]
        time.sleep(0.2)
    raise SystemExit("The jobs did not end.")


def unfairness(jobs: Sequence[Job]) -> float:
    """How far an account is from its third of the first half of all jobs that ended."""
    first = sorted(jobs, key=lambda job: job.ended_ms or 0)[: len(jobs) // 2]
    counts = [sum(job.account == name for job in first) for name in ACCOUNTS]
    even = len(first) / len(ACCOUNTS)
    return max(abs(count - even) for count in counts) / even


def worker_cpu_s() -> float:
    """Seconds of computing of the worker so far."""
    workers = [each for each in psutil.Process().children() if "worker" in each.cmdline()]
    return sum(sum(each.cpu_times()[:2]) for each in workers)


def measured(mode: Mode, jobs: int) -> dict[str, Any]:
    """One row. Ends the program where a job was lost, doubled or wrongly charged."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(
            data_dir=Path(folder), workers_least=1, workers_most=1, worker_jobs=mode.worker_jobs,
            batch_rows=mode.batch_rows,
        )  # fmt: skip
        service = server(settings)
        service.start()
        try:
            assert service.fleet is not None
            while not any(each.state == "idle" for each in service.fleet.workers(settings.tier)):
                time.sleep(0.05)
            before_s, began_s = worker_cpu_s(), time.monotonic()
            done = ended(service, submitted(service, jobs))
            used = (worker_cpu_s() - before_s) / (time.monotonic() - began_s) / processors.usable()
            with service.transactions.view() as work:
                if work.ledger.imbalance():
                    raise SystemExit("The ledger does not sum to zero.")
        finally:
            service.stop()
    if any(job.state != "succeeded" or len(job.attempts) != 1 for job in done) or len({j.id for j in done}) != jobs:
        raise SystemExit("A job was lost or doubled.")
    attempts = [job.attempts[0] for job in done]
    wall_ms = max(each.ended_ms or 0 for each in attempts) - min(each.leased_ms for each in attempts)
    active_ms = sum(each.usage.device_active_ms for each in attempts)
    return {
        "mode": mode.name, "jobs": jobs, "wall s": wall_ms / 1000, "jobs/s": jobs * 1000 / wall_ms,
        "active share": active_ms / wall_ms, "processors": used, "unfair": unfairness(done),
    }  # fmt: skip


def main() -> None:
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else JOBS
    before = machine()
    rows = [measured(mode, jobs) for mode in MODES]
    told("service_batching", {f"{jobs} pictures of {SIDE} x {SIDE}, 3 accounts, one worker": rows}, before)
    share, single = rows[0]["active share"], rows[-1]["active share"]
    speed = rows[0]["jobs/s"] / rows[-1]["jobs/s"]
    used = rows[0]["processors"] / rows[-1]["processors"]
    print(f"active share {share:.2f} (at least {LEAST_SHARE}), unfair {rows[0]['unfair']:.2f} (at most {MOST_UNFAIR})")
    print(f"times one job's: share {share / single:.2f}, jobs/s {speed:.2f}, processors {used:.2f}", end=" ")
    print(f"(share or jobs/s at least {LEAST_GAIN})")
    if share < LEAST_SHARE or max(share / single, speed) < LEAST_GAIN or rows[0]["unfair"] > MOST_UNFAIR:
        raise SystemExit("Below what is asked for.")


if __name__ == "__main__":
    main()
