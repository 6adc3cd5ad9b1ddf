"""A worker's surroundings with a cage, in which the code of a test runs instead of a run's."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from secondface.domain.jobs import Job
from secondface.fleet.attempt import Attempt, Terms, Workplace
from secondface.fleet.caged_runs import CagedRuns, CageTerms
from secondface.fleet.guards import Guards
from secondface.fleet.pixel_room import PixelRoom
from secondface.fleet.runs import Runs
from secondface.fleet.workroom import Workroom
from secondface.media.bubblewrap import bubblewrap_program, bubblewrap_reason
from secondface.pipeline.batching import SharedSessions
from secondface.pipeline.people import PeopleMemory
from secondface.spec.work import InputFacts
from tests.unit.fleet.workshop import Workshop, models

ROOT = Path(__file__).parents[3]
BREAK_OUT = "tests.unit.fleet.break_out:run_given"
KNOWN = InputFacts(kind="still", format_name="PNG", width=160, height=160)
_INSTALL = ": apt-get install bubblewrap" if shutil.which("bwrap") is None else ""
BACK_ENDS = [
    pytest.param(False, id="landlock"),
    pytest.param(
        True, id="bubblewrap",
        marks=pytest.mark.skipif(bubblewrap_reason() is not None, reason=f"{bubblewrap_reason()}{_INSTALL}"),
    ),
]  # fmt: skip


class Shop:
    """One worker's surroundings, its cage among them."""

    def __init__(self, folder: Path, *, walls: bool, task: str = BREAK_OUT) -> None:
        self.data = folder / "data"
        self.workroom = Workroom(self.data / "work", "w1")
        program = bubblewrap_program() if walls else None
        self.runs = CagedRuns(CageTerms(self.data / "work", program, task=task, readable=(ROOT / "tests",)))
        self.shop = Workshop()
        self.sessions = SharedSessions(models(), lanes=2)
        self.people = PeopleMemory()
        self.terms, self.guards = Terms(), Guards()
        self.number = 0

    def attempt(self, runs: Runs | None = None, **order: object) -> Attempt:
        """Of a new job whose inputs were looked at before, so that only the run itself is in a cage."""
        made = self.shop.order(**order)  # type: ignore[arg-type]
        facts = {each.key: KNOWN for each in made.inputs}
        self.number += 1
        self.shop.accept(made.model_copy(update={"facts": facts}), digest=str(self.number))
        grant = self.shop.claim()
        place = Workplace(
            self.shop.desk, self.shop.objects, PixelRoom(10**9), self.terms, self.guards, runs or self.runs
        )  # fmt: skip
        return Attempt(grant, place, self.sessions.seat(), self.people)

    def run(self, attempt: Attempt) -> Job:
        attempt.beat()
        attempt.run(self.workroom.attempt(attempt.name))
        assert self.sessions.device._weights == {}, "nobody's time runs on"  # pyright: ignore[reportPrivateUsage]
        return self.shop.job(attempt.grant.lease.job_id)

    def does(self, what: str, **words: object) -> Job:
        return self.run(self.attempt(speed_key=json.dumps({"do": what, **words})))

    def begins(self, what: str) -> tuple[Attempt, threading.Thread]:
        """The same in a thread of its own."""
        attempt = self.attempt(speed_key=json.dumps({"do": what}))
        attempt.beat()
        thread = threading.Thread(target=attempt.run, args=(self.workroom.attempt(attempt.name),), daemon=True)
        thread.start()
        return attempt, thread

    def output(self, job: Job) -> bytes:
        assert job.result is not None, job.attempts
        return b"".join(self.shop.objects.read(job.result))

    def found(self, job: Job) -> Any:
        """What the code in the cage said."""
        key = f"jobs/{job.id}/1/report.json"
        return json.loads(json.loads(b"".join(self.shop.objects.read(key)))["notes"][0])


def opened(folder: Path, **words: Any) -> Iterator[Shop]:
    shop = Shop(folder, **words)
    with shop.workroom:
        yield shop
    shop.runs.close()
