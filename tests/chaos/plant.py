"""A whole service on SQLite and a folder with real worker processes, for tests that break it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import psutil

from secondface.compose.service import server
from secondface.compose.signing import trusted_roots
from secondface.compose.work import local_fleet
from secondface.control.admission import Probed, Rate, Submission
from secondface.control.leftovers import Leftovers
from secondface.domain.jobs import Attempt, Job
from secondface.fleet.local import LocalFleet, Starting
from secondface.pipeline.verification import verify_file
from secondface.settings import load_settings
from secondface.spec.marks import produce_id_of_job
from secondface.spec.work import StoredInput, WorkOrder
from tests.chaos.books import check_books
from tests.unit.fleet.workshop import face


def eventually(holds: Callable[[], object], seconds: float = 150.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.01)


class Plant:
    """One service, an operator's key, and words for tests."""

    def __init__(
        self, folder: Path, monkeypatch: object, *, starts: bool = True, silence_s: float = 60.0, **settings: object
    ) -> None:  # fmt: skip
        self.folder, self.doom, self.silence_s = folder, folder / "doom", silence_s
        words = {
            "data_dir": folder / "data", "worker_backoff_s": 0, "worker_jobs": 2, "lease_s": 20, "heartbeat_ms": 200,
            "workers_least": 1, "workers_most": 1, **settings,
        }  # fmt: skip
        self.settings = load_settings(**words)
        os.environ["DOOM"] = str(self.doom)
        monkeypatch.setattr("secondface.compose.service.local_fleet", self._doomed_fleet)  # type: ignore[attr-defined]
        self.service = server(self.settings)
        shown: list[str] = []
        self.service.accounts.start(shown.append)
        self.caller = self.service.keyring.caller(shown[0])
        self.accepted: list[str] = []
        if starts:
            self.service.start()

    def _doomed_fleet(self, settings: object, *heard: Callable[[str], None]) -> LocalFleet:
        usual = local_fleet(self.settings, *heard)
        starting: Starting = usual._starting  # pyright: ignore[reportPrivateUsage]
        doomed = Path(__file__).with_name("doomed.py")
        return LocalFleet(
            Starting(
                command=lambda name, line: [sys.executable, str(doomed), name, str(line)],
                environment=starting.environment, logs=starting.logs, grace_s=1.0, silence_s=self.silence_s,
            ),
            usual._ids, usual._clock, *heard,  # pyright: ignore[reportPrivateUsage]
        )  # fmt: skip

    # ---- jobs --------------------------------------------------------------------------------------------------------

    @cache  # noqa: B019 - a plant lives as long as its tests
    def put(self, name: str, content: bytes) -> StoredInput:
        """An upload; once for all jobs, for what a worker reads is never replaced."""
        stored = self.service.objects.put(f"uploads/{name}", [content], "image/png")
        return StoredInput(key=stored.key, name=name, sha256=stored.sha256, size_bytes=stored.size_bytes)

    def submit(self, target: str = "target.png", **changes: object) -> str:
        order = WorkOrder(
            sources=((self.put("source.png", face("a")),),), target=self.put(target, face("b")), restore="off",
            output_name="out.png",
        )  # fmt: skip
        words = {
            "spec": order.model_dump_json(), "digest": "d", "tier": self.settings.tier, "probed": Probed(),
            "rate": Rate(active_us=2_000_000), **changes,
        }  # fmt: skip
        job = self.service.admission.submit(self.caller, Submission(**words)).job  # type: ignore[arg-type]
        self.accepted.append(job.id)
        return job.id

    def job(self, job_id: str) -> Job:
        with self.service.transactions.view() as work:
            return work.jobs.get(job_id)

    def moment(self, job_id: str, kind: str) -> int:
        """When something happened to a job, once, in ms on the database's clock."""
        with self.service.transactions.view() as work:
            (at_ms,) = [each.event.at_ms for each in work.journal.since(job_id) if each.event.kind == kind]
        return at_ms

    def wait(self, *job_ids: str) -> list[Job]:
        eventually(lambda: all(self.job(each).ended for each in job_ids))
        return [self.job(each) for each in job_ids]

    # ---- what happens to workers -------------------------------------------------------------------------------------

    def doom_at(self, place: str, act: str) -> None:
        """Let it happen to the next worker that comes to that place."""
        self.reached.unlink(missing_ok=True)
        fresh = self.doom.with_suffix(".new")
        fresh.write_text(f"{place} {act}")
        fresh.replace(self.doom)

    @property
    def reached(self) -> Path:
        return Path(f"{self.doom}.reached")

    def workers(self) -> list[psutil.Process]:
        """Processes of this service's workers."""
        return [each for each in psutil.Process().children() if _doom_of(each) == str(self.doom)]

    def stopped(self) -> list[psutil.Process]:
        """Those of them that sleep until somebody wakes them, once there are any."""
        eventually(lambda: any(map(_sleeps, self.workers())))
        return [each for each in self.workers() if _sleeps(each)]

    def warm(self, count: int = 1) -> None:
        """Wait for that many workers that are ready."""
        fleet = self.service.fleet
        assert fleet is not None
        eventually(lambda: [each.state for each in fleet.workers(self.settings.tier)].count("idle") >= count)

    # ---- afterwards --------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """What holds whatever happened, once all jobs have ended."""
        jobs = self.wait(*self.accepted)
        with self.service.transactions.view() as work:
            check_books(work, jobs)
        attempts = [attempt for job in jobs for attempt in job.attempts]
        self._check_devices(attempts)
        for attempt in attempts:
            assert attempt.ended_ms is not None
            # Phases follow each other without a gap, between the lease and the end; two clocks may differ a little.
            assert attempt.usage.wall_ms <= attempt.ended_ms - attempt.leased_ms + 20
        self._check_files(jobs)

    def _check_devices(self, attempts: Sequence[Attempt]) -> None:
        """What the attempts of a worker used is what its device worked, each rounded down to a millisecond once."""
        for note in Path(f"{self.doom}.devices").glob("*"):
            if note.suffix == ".new":
                continue  # a worker that was killed as it wrote left it half done; the note before it counts
            mine = [each for each in attempts if each.worker == note.name]
            used_ms, busy_ms = sum(each.usage.device_active_ms for each in mine), int(note.read_text()) // 1_000_000
            assert used_ms <= busy_ms
            # What a worker did between its last word and its death nobody knows, and nobody pays.
            assert busy_ms <= used_ms + len(mine) or any(each.state == "lost" for each in mine)

    def _check_files(self, jobs: Sequence[Job]) -> None:
        objects = self.service.objects
        objects.tidy()  # type: ignore[attr-defined]
        Leftovers(self.service.transactions, objects).step()
        eventually(lambda: not list((self.folder / "data").rglob("*.part")))
        wanted = {job.result.rsplit("/", 1)[0] for job in jobs if job.result is not None}
        assert {key.rsplit("/", 1)[0] for key in objects.keys("jobs/")} == wanted
        for job in jobs:
            if job.result is not None:
                content = b"".join(objects.read(job.result))
                assert len(content) == objects.head(job.result).size_bytes
                self._check_marks(job, content)

    def _check_marks(self, job: Job, content: bytes) -> None:
        """Whatever was killed on the way, and however many began it: what is handed out says what it is."""
        copy = self.folder / "copy.png"
        copy.write_bytes(content)
        found = verify_file(copy, trusted_roots(self.settings))
        assert found.layers == {"watermark": "intact", "metadata": "intact", "signature": "intact"}
        assert (found.signed, found.produce_id, found.job) == ("trusted", produce_id_of_job(job.id), job.id)

    def close(self) -> None:
        for process in self.workers():
            process.send_signal(signal.SIGCONT)
        self.service.stop()
        assert not self.workers()
        assert [path for path in (self.folder / "data" / "work").iterdir() if path.is_dir()] == []


def _sleeps(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def _doom_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("DOOM")
    except psutil.Error:
        return None
