"""A service in processes of its own, as `secondface serve` starts it, for benches that speak to it over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import httpx
import numpy as np
import psutil

from secondface.domain.jobs import Job
from secondface.storage.database import Database
from secondface.storage.sql import SqlTransactions

_STOP_S = 60
_BOOT_S = 60


@dataclass(frozen=True)
class LocalService:
    """A running service with one warm worker, and a client of it."""

    http: httpx.Client
    folder: Path
    process: int

    def cpu_s(self) -> float:
        """Seconds of computing of all its processes so far, which a busy machine stretches less than others."""
        server = psutil.Process(self.process)
        return sum(sum(each.cpu_times()[:4]) for each in (server, *server.children(recursive=True)))

    def upload(self, content: bytes) -> str:
        """Store a file; its id."""
        made = answered(self.http.post("/v1/uploads", json={}))
        answered(self.http.put(made["url"], content=content))
        return made["id"]

    def job(self, job_id: str) -> Job:
        """A job with its attempts, out of the service's own database: no route tells when an attempt began."""
        database = Database(f"sqlite:///{self.folder / 'service.db'}")
        try:
            with SqlTransactions(database).view() as work:
                return work.jobs.get(job_id)
        finally:
            database.close()


def answered(reply: httpx.Response) -> Any:
    """The JSON of a good answer; ends the program with a bad one."""
    if reply.is_error:
        raise SystemExit(f"{reply.status_code} {reply.text[:400]}")
    return reply.json() if reply.content else None


@contextmanager
def local_service(**settings: object) -> Generator[LocalService]:
    """A service on a free port in an empty folder, whose worker is there; it ends with the block."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        told = {"data_dir": folder / "data", "workers_least": 1, "workers_most": 1, "lang": "en", **settings}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SECONDFACE_")}
        environment |= {f"SECONDFACE_{key.upper()}": str(value) for key, value in told.items()}
        environment["XDG_CONFIG_HOME"] = str(folder)
        command = [sys.executable, "-m", "secondface", "serve", "--port", "0", "--json"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                greeting = json.loads(process.stdout.readline())
                headers = {"Authorization": f"Bearer {greeting['key']}"}
                with httpx.Client(base_url=greeting["url"], headers=headers, timeout=120) as http:
                    _await_worker(http)
                    yield LocalService(http, folder / "data", process.pid)
            finally:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=_STOP_S)


def _await_worker(http: httpx.Client) -> None:
    deadline = time.monotonic() + _BOOT_S
    while time.monotonic() < deadline:
        tiers = answered(http.get("/v1/admin/fleet"))["data"]
        if any(worker["state"] == "idle" for tier in tiers for worker in tier["workers"]):
            return
        time.sleep(0.1)
    raise SystemExit("No worker came.")


def variants(picture: Path, count: int) -> list[bytes]:
    """The picture as JPEG files that differ by a shift of a pixel, so that no result is served from the cache."""
    pixels = cv2.imread(str(picture))
    assert pixels is not None
    shifted = (np.roll(pixels, number + 1, axis=1) for number in range(count))
    return [bytes(cv2.imencode(".jpg", each, [cv2.IMWRITE_JPEG_QUALITY, 92])[1]) for each in shifted]
