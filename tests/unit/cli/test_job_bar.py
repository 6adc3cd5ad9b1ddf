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
