"""The bar of jobs that a service runs, fed by their events."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.progress import Progress as Bar

from secondface.cli.language import gettext as _
from secondface.cli.progress import columns
from secondface.cli.screen import Screen
from secondface.spec.views import EventView, JobView


class JobBar:
    """One bar for several jobs, one after the other. Without a bar only what may last for days is remarked."""

    def __init__(self, bar: Bar | None, jobs: int, remark: Callable[[str], None] | None = None) -> None:
        self._bar, self._jobs, self._remark = bar, jobs, remark
        self._job, self._remarked = "", ""
        self._ended = 0
        self._began_s: float | None = None
        self._task = bar.add_task("", total=None, facts="") if bar else None

    def say(self, words: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=words)

    def begin(self, job: JobView) -> None:
        self._began_s, self._job = None, job.id
        self._show(0, job.total_frames or None, "")
        match job.state:
            case "awaiting_approval":
                self._wait_for_somebody(_("waiting until somebody else approves it"))
            case "held":
                self._wait_for_somebody(_("waiting for a reviewer"))
            case _:
                self.say(_("waiting for a worker"))

    def tell(self, event: EventView) -> None:
        """An event of the job at hand."""
        match event.kind:
            case "attempt.leased" | "attempt.running":
                self.say(_("working"))
            case "job.queued":
                self.say(_("waiting for another worker"))
            case "job.progress":
                self.say(_("working"))
                self._progress(_count(event, "done"), _count(event, "total"))
            case "job.held":
                self._wait_for_somebody(_("waiting for a reviewer"))
            case "job.succeeded":
                self.say(_("fetching the result"))
            case _:
                pass

    def end(self) -> None:
        self._ended += 1

    def _wait_for_somebody(self, words: str) -> None:
        self.say(words)
        line = f"{self._job}: {words}"
        if self._remark is not None and line != self._remarked:  # events tell again what the job itself told
            self._remarked = line
            self._remark(line)

    def _progress(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._began_s is None:
            self._began_s = now
        parts = [f"{done}/{total}" if total else str(done)]
        if (spent_s := now - self._began_s) > 0:
            parts.append(_("{rate} fps").format(rate=f"{done / spent_s:.1f}"))
        if self._jobs > 1:
            parts.append(_("job {number} of {total}").format(number=self._ended + 1, total=self._jobs))
        self._show(done, total or None, " · ".join(parts))

    def _show(self, done: int, total: int | None, words: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, facts=words)


@contextmanager
def job_bar(screen: Screen, jobs: int) -> Generator[JobBar]:
    """The bar, on stderr; lines of what may last where that is no terminal; nothing at all for --quiet and --json."""
    if screen.mode != "people":
        yield JobBar(None, jobs)
        return
    if not screen.err.is_terminal:
        yield JobBar(None, jobs, screen.complain)
        return
    with Bar(*columns(), console=screen.err, transient=True, expand=True) as bar:
        yield JobBar(bar, jobs)


def _count(event: EventView, name: str) -> int:
    value = event.facts.get(name)
    return value if isinstance(value, int) else 0
