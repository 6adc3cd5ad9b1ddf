"""From settings to something that runs: the only place that chooses where work is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

from secondface.errors import OutputExists, OutputNotWritable
from secondface.frames import Sessions
from secondface.models.devices import DeviceChoice, DeviceOptions
from secondface.models.sessions import OrtSessions
from secondface.pipeline.engine import CancelToken, Progress
from secondface.pipeline.run import RunReport, run_file
from secondface.settings import Settings
from secondface.spec.schemas import RunRequest


class Local:
    """Runs requests in this process; models stay loaded between runs."""

    def __init__(self, sessions: Sessions, content_producer: str = "") -> None:
        self.sessions = sessions
        self.content_producer = content_producer

    def run(
        self,
        request: RunRequest,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> RunReport:
        """Files in, one marked file out. Raises the errors of secondface.errors; leaves no partial file."""
        check_output(request)
        return run_file(request, self.sessions, on_progress=on_progress, cancel=cancel)


def local(settings: Settings, *, device: str | None = None) -> Local:
    """A runner on this machine's own device. Raises DeviceUnavailable."""
    options = DeviceOptions(engine_cache=settings.cache_dir / "engines")
    sessions = OrtSessions(cast("DeviceChoice", device or settings.device), settings.threads or None, options=options)
    return Local(sessions, settings.content_producer)


def check_output(request: RunRequest) -> None:
    """Whether the output can be written, before any work is done. Raises OutputNotWritable or OutputExists."""
    output, folder = request.output, request.output.absolute().parent
    if not folder.is_dir():
        raise OutputNotWritable(f"There is no folder {folder}.", path=str(output))
    if output.is_dir():
        raise OutputNotWritable(f"{output} is a folder.", path=str(output))
    if not os.access(folder, os.W_OK | os.X_OK) or (output.exists() and not os.access(output, os.W_OK)):
        raise OutputNotWritable(str(output), path=str(output))
    for path in (request.target, *(image for person in request.sources for image in person.images)):
        if _same_file(output, path):
            raise OutputExists(str(output), path=str(output))


def _same_file(output: Path, path: Path) -> bool:
    try:
        return output.samefile(path)
    except OSError:
        # One of them does not exist, or not yet.
        return False
