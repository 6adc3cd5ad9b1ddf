"""The bar of a service's jobs, fed by events."""

from __future__ import annotations

import io

from rich.console import Console
from rich.progress import Progress

from secondface.cli.job_bar import JobBar, job_bar
from secondface.cli.screen import Screen
from secondface.spec.views import EventView
from tests.unit.cli.test_job_views import JOB


def event(kind: str, **facts: int) -> EventView:
    return EventView(number=1, kind=kind, at_ms=0, facts=dict(facts))


def test_it_follows_the_events() -> None:
    bar = Progress(console=Console(file=io.StringIO()))
    jobs = JobBar(bar, 2)
    jobs.begin(JOB)
    task = bar.tasks[0]
    assert (task.description, task.completed, task.total) == ("waiting for a worker", 0, 60)
    jobs.tell(event("attempt.running"))
    jobs.tell(event("job.progress", done=20, total=60))
    assert (task.description, task.completed) == ("working", 20)
    assert "20/60" in task.fields["facts"]
    assert "job 1 of 2" in task.fields["facts"]
    jobs.tell(event("job.queued"))
    assert task.description == "waiting for another worker"
    jobs.tell(event("job.succeeded"))
    assert task.description == "fetching the result"


def test_it_is_inert_where_nobody_looks() -> None:
    with job_bar(Screen("json"), 1) as bar:
        bar.begin(JOB)
        bar.tell(event("job.progress", done=1, total=2))
        bar.say("words")
        bar.end()


def test_what_may_last_for_days_is_said_also_where_no_bar_is() -> None:
    said: list[str] = []
    jobs = JobBar(None, 1, said.append)
    jobs.begin(JOB.model_copy(update={"state": "awaiting_approval"}))
    jobs.tell(event("job.queued"))
    jobs.tell(event("job.progress", done=1, total=2))
    jobs.tell(event("job.held"))
    jobs.tell(event("job.held"))
    assert said == [f"{JOB.id}: waiting until somebody else approves it", f"{JOB.id}: waiting for a reviewer"]


def test_a_held_job_is_known_to_be_held_at_once() -> None:
    bar = Progress(console=Console(file=io.StringIO()))
    JobBar(bar, 1).begin(JOB.model_copy(update={"state": "held"}))
    assert bar.tasks[0].description == "waiting for a reviewer"
