"""From settings to a worker process, and to the fleet that starts such processes on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from pydantic import SecretStr

from secondface import processors
from secondface.compose import device_options
from secondface.compose.moderation import moderation_of
from secondface.compose.signing import content_signer
from secondface.compose.stores import Stores, open_stores
from secondface.confidential import FILE_ENDING
from secondface.control.protected import ProtectedRegister
from secondface.control.scheduler import LeaseDesk, Times
from secondface.control.settlement import Settlement
from secondface.domain.ports import Doorbell
from secondface.errors import CageUnavailable, InvalidSetting
from secondface.fleet.attempt import Terms
from secondface.fleet.caged_runs import CagedRuns, CageTerms
from secondface.fleet.guards import Guards
from secondface.fleet.line import RelayedBell, WorkerLine
from secondface.fleet.local import LocalFleet, Starting
from secondface.fleet.runs import DirectRuns, Runs
from secondface.fleet.worker import Duties, Worker, unheard
from secondface.fleet.workroom import Workroom
from secondface.media.cage import worker_cage_reason
from secondface.media.caged_task import start_inspection
from secondface.models.sessions import OrtSessions
from secondface.observe import log
from secondface.pipeline.batching import SharedSessions
from secondface.settings import ENV_PREFIX, WORKER_SECRETS, Settings, secret_variables
from secondface.spec.schemas import plan_for
from secondface.storage.doorbell import LocalDoorbell
from secondface.storage.machine import MachineClock, RandomIds
from secondface.vision import nsfw

_CORES_A_WORKER = 4
_JOBS_A_CORE = 2
_MOST_JOBS = 8
_LEAST_SILENCE_S = 10
_SILENT_AFTER_LEASE_S = 5
"""A worker that says nothing for this much longer than a lease hangs. Its jobs are somebody else's by then; and it may
keep SQLite's lock, for which others wait no longer than half a minute before they give up."""
_BYTES_A_PIXEL = 22
"""What a pixel of a still takes at the worst moment of a run, by measurement."""


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A worker with what it holds open."""

    worker: Worker
    stores: Stores
    line: WorkerLine | None
    runs: Runs

    def run(self) -> None:
        """Work until drained: by `drain`, or because the fleet that started it says so or is gone."""
        if self.line is not None:
            self.line.start(self.worker.drain)
        try:
            self.worker.run()
        finally:
            self.runs.close()
            self.stores.close()

    def drain(self) -> None:
        """End what there is and take nothing more; safe in a signal handler."""
        self.worker.drain()


def worker(settings: Settings, name: str | None = None, line: int | None = None) -> WorkerProcess:
    """A warm worker. `line` is the descriptor of its fleet's line. Raises the errors of devices, models and stores."""
    inner = LocalDoorbell()
    runs = caged_or_direct(settings)
    start_inspection()  # both load beside the models
    wire = WorkerLine(line, inner) if line is not None else None
    bell = RelayedBell(inner, wire.ring) if wire is not None else inner
    stores = open_stores(settings)
    own_name = name or RandomIds().new("worker")
    sessions = _warm_sessions(settings)
    made = Worker(
        _duties(settings, own_name), lease_desk(settings, stores, bell), stores.objects, sessions, inner,
        workroom=Workroom(workrooms(settings), own_name), tell=wire.tell if wire is not None else unheard,
        over=wire.over if wire is not None else unheard, guards=guards_of(settings, stores), runs=runs,
    )  # fmt: skip
    return WorkerProcess(made, stores, wire, runs)


def caged_or_direct(settings: Settings) -> Runs:
    """Where this worker runs its jobs. Raises CageUnavailable where a cage is required and there is none."""
    require_cage(settings)
    reason = worker_cage_reason()
    if settings.worker_cage == "off" or reason is not None:
        log("worker.no_cage", "warning", reason=reason or "worker_cage is off")
        return DirectRuns()
    runs = CagedRuns(CageTerms(workrooms(settings)))
    runs.start()
    return runs


def require_cage(settings: Settings) -> None:
    """Raises CageUnavailable where the settings require a cage for jobs and this machine has none."""
    if settings.worker_cage == "require" and (reason := worker_cage_reason()) is not None:
        raise CageUnavailable(f"worker_cage is `require`, but {reason}.")


def lease_desk(settings: Settings, stores: Stores, bell: Doorbell) -> LeaseDesk:
    """What workers ask of the control plane, in this process. Raises InvalidSetting."""
    if 2 * settings.heartbeat_ms > settings.lease_s * 1000:
        raise InvalidSetting("heartbeat_ms is at most half of lease_s, or one late word would lose a job.")
    times = Times(lease_ms=settings.lease_s * 1000, heartbeat_ms=settings.heartbeat_ms)
    return LeaseDesk(stores.transactions, Settlement(RandomIds()), bell, times=times)


def guards_of(settings: Settings, stores: Stores) -> Guards:
    """Who judges the pictures of jobs: there is no setting without. Raises InvalidSetting."""
    return Guards(moderation_of(settings), ProtectedRegister(stores.transactions, RandomIds()))


def local_fleet(
    settings: Settings, on_ring: Callable[[str], None], on_over: Callable[[str], None] = lambda _job_id: None
) -> LocalFleet:
    """Worker processes of this machine with these settings. What they say is heard by `on_ring` and `on_over`.

    Raises CageUnavailable.
    """
    require_cage(settings)
    starting = Starting(
        command=_worker_command, environment=worker_environment(settings),
        logs=settings.data_dir.absolute() / "workers", grace_s=settings.worker_grace_s,
        silence_s=max(_LEAST_SILENCE_S, settings.lease_s + _SILENT_AFTER_LEASE_S),
    )  # fmt: skip
    return LocalFleet(starting, RandomIds(), MachineClock(), on_ring, on_over)


def worker_environment(settings: Settings) -> dict[str, str]:
    """This process's environment with every setting in it: a worker must not find others in a file, nor any key."""
    values = {name: getattr(settings, name) for name in type(settings).model_fields}
    told = {ENV_PREFIX + name.upper(): _plain(value) for name, value in values.items()}
    kept = {name for name in secret_variables() if name not in WORKER_SECRETS}
    untold = {ENV_PREFIX + name.upper() for name in kept}
    untold |= {f"{variable}{FILE_ENDING}" for variable in secret_variables().values()}
    return {name: value for name, value in (dict(os.environ) | told).items() if name not in untold}


def _plain(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def workrooms(settings: Settings) -> Path:
    """Where the workers of this machine keep the files of their attempts."""
    return settings.data_dir.absolute() / "work"


def most_workers(settings: Settings) -> int:
    """Worker processes at most: on the CPU they share the processors, elsewhere one has the card."""
    if settings.workers_most:
        return settings.workers_most
    return max(1, settings.workers_least, processors.usable() // _CORES_A_WORKER)


def _worker_command(name: str, line: int) -> Sequence[str]:
    return [sys.executable, "-m", "secondface", "worker", "--name", name, "--line", str(line)]


def _duties(settings: Settings, name: str) -> Duties:
    return Duties(
        name=name, tiers=(settings.tier,),
        room=settings.worker_jobs or min(_MOST_JOBS, _JOBS_A_CORE * processors.usable()),
        most_pixels=psutil.virtual_memory().total // most_workers(settings) // 2 // _BYTES_A_PIXEL,
        heartbeat_s=settings.heartbeat_ms / 1000, grace_s=settings.worker_grace_s,
        terms=Terms(
            lease_ms=settings.lease_s * 1000, content_producer=settings.content_producer,
            signer=content_signer(settings),
        ),
    )  # fmt: skip


def _warm_sessions(settings: Settings) -> SharedSessions:
    sessions = OrtSessions(settings.device, settings.threads or None, options=device_options(settings))
    judges = () if settings.moderation_url else (nsfw.MODEL,)
    sessions.warm_up([*plan_for(None, "auto", None, 1).models, *judges])
    on_cpu = sessions.device == "cpu"
    return SharedSessions(
        sessions, lanes=processors.usable() if on_cpu else 1, wait_s=0.0 if on_cpu else settings.batch_wait_ms / 1000,
        most_rows=settings.batch_rows,
    )  # fmt: skip
