"""From settings to a whole service on this machine, for the gateway to serve."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from secondface import __version__
from secondface.compose.rounds import Rounds, RoundThreads
from secondface.compose.signing import marks_view, signing_key, trusted_roots
from secondface.compose.stores import Stores, open_stores, sealer_of, signer_of
from secondface.compose.work import lease_desk, local_fleet, most_workers, workrooms
from secondface.control.accounts import Accounts
from secondface.control.admission import Admission
from secondface.control.approvals import JobRequests
from secondface.control.audit import AuditTrail
from secondface.control.auth import Keyring, Rates
from secondface.control.autoscaler import Autoscaler
from secondface.control.housekeeping import Housekeeping
from secondface.control.leftovers import Leftovers
from secondface.control.occupancy import Occupancy
from secondface.control.one_time_codes import OneTimeCodes
from secondface.control.protected import ProtectedRegister
from secondface.control.retention import Retention
from secondface.control.reviews import Reviews
from secondface.control.screening import Screening
from secondface.control.settlement import Settlement
from secondface.control.speeds import Speeds
from secondface.control.subscriptions import Subscriptions
from secondface.control.upload_shelf import UploadShelf
from secondface.control.uploads import Uploads
from secondface.control.waiting_room import WaitingRoom
from secondface.domain.ports import Scanner, Stored
from secondface.domain.protected import Descriptor
from secondface.domain.scaling import Floor, Policy
from secondface.fleet.line import RelayedBell
from secondface.fleet.workroom import tidy
from secondface.gateway.news import News
from secondface.gateway.service import Service
from secondface.media.images import read_still
from secondface.media.limits import Limits
from secondface.media.probe import probe
from secondface.models.sessions import OrtSessions
from secondface.models.store import describe as describe_models
from secondface.observe import Meter
from secondface.pipeline.people import Picture, describe_source
from secondface.pipeline.verification import verify_file
from secondface.scanning.clamd import Clamd, Place
from secondface.settings import Settings
from secondface.spec.trust_views import MarksView
from secondface.spec.views import ModelView
from secondface.spec.work import InputFacts
from secondface.storage import migrations
from secondface.storage.doorbell import LocalDoorbell
from secondface.storage.machine import RandomIds
from secondface.vision.track import FaceTracker

_DAY_MINUTES = 24 * 60
_COLD_START_MS = 5_000
_TARGET_WAIT_MS = 10_000
_LEAST_FREE_BYTES = 256 << 20


def server(settings: Settings, base_url: str = "http://127.0.0.1:8000/v1/files") -> Service:
    """A service whose stores are open and whose rounds wait for `start`. Signed links begin with `base_url`.

    Raises StorageUnavailable, SigningUnavailable, InvalidSetting.
    """
    signing_key(settings)  # workers need it: what is wrong with it is said before any of them starts
    stores, ids = open_stores(settings, base_url), RandomIds()
    signer, sealer = signer_of(settings), sealer_of(settings)
    migrations.upgrade(stores.database)
    transactions, settlement = stores.transactions, Settlement(ids)
    inner = LocalDoorbell()
    news = News()
    fleet = local_fleet(settings, inner.ring, news.spread)
    bell = RelayedBell(inner, fleet.announce)
    autoscaler = Autoscaler(transactions, fleet, (scaling_policy(settings),))
    codes = OneTimeCodes(transactions, sealer)
    waiting_room = WaitingRoom(transactions, settlement, settings.approval_wait_h * 3_600)
    audit = AuditTrail(transactions, signer, settings.audit_retain_days)
    retention = Retention(
        transactions, stores.objects, inputs_h=settings.retain_inputs_h, outputs_h=settings.retain_outputs_h
    )
    uploads = Uploads(transactions, stores.objects, stores.clock, ids, settings.upload_keep_h * 3_600)
    shelf = UploadShelf(transactions, stores.objects, stores.clock, ids)
    rounds = Rounds(
        tier=settings.tier, fleet=fleet, desk=lease_desk(settings, stores, bell), autoscaler=autoscaler,
        occupancy=Occupancy(
            transactions, fleet, stores.clock, tier=settings.tier, micros_per_s=settings.worker_cost_micros
        ),
        housekeeping=Housekeeping(transactions), leftovers=Leftovers(transactions, stores.objects),
        tidy_parts=lambda: stores.objects.tidy() + uploads.step(),
        chores={"audit": audit.step, "waiting_room": waiting_room.step},
        tidying={"retention": retention.step, "uploads": shelf.step},
        tidy_workrooms=lambda: tidy(workrooms(settings)), clock=stores.clock,
    )  # fmt: skip
    threads = RoundThreads(rounds, inner)
    keyring = Keyring(transactions, ids)

    def stop() -> None:
        threads.stop()
        bell.close()
        stores.close()

    return Service(
        transactions=transactions, objects=stores.objects, shelf=shelf, clock=stores.clock, ids=ids, keyring=keyring,
        admission=Admission(transactions, settlement, bell, ids, codes),
        requests=JobRequests(transactions, settlement, bell, codes), codes=codes, waiting_room=waiting_room,
        retention=retention, audit=audit, rates=Rates(stores.clock),
        accounts=Accounts(transactions, keyring, ids),
        subscriptions=Subscriptions(transactions, ids, plain_http=bool(settings.private_networks)),
        reviews=Reviews(transactions, settlement), protected=ProtectedRegister(transactions, ids),
        describe_face=_face_describer(settings, stores),
        speeds=Speeds(), tiers=(settings.tier,), check_link=stores.links.check, inspect=_inspector(settings, stores),
        read_marks=_marks_reader(settings, stores), models=_models, fleet=fleet,
        marked_by=f"{__version__} {settings.content_producer}",
        decisions=lambda: autoscaler.decisions, news=news, meter=Meter(), start=threads.start, stop=stop,
        ready=lambda: _lacks(settings, autoscaler), screening=_screening(settings, stores),
    )  # fmt: skip


def _screening(settings: Settings, stores: Stores) -> Screening | None:
    scanner = scanner_of(settings)
    return None if scanner is None else Screening(scanner, stores.objects, stores.transactions)


def scanner_of(settings: Settings) -> Scanner | None:
    """The scanner that the settings name; none where they name none. Raises InvalidSetting."""
    if not settings.scanner:
        return None
    return Clamd(Place.read(settings.scanner), settings.scanner_answer_s)


def scaling_policy(settings: Settings) -> Policy:
    """How many workers this machine has."""
    least = settings.workers_least
    return Policy(
        tier=settings.tier, max_workers=most_workers(settings), markets=("on_demand",),
        floors=(Floor(from_minute=0, until_minute=_DAY_MINUTES, workers=least),) if least else (),
        idle_ms=settings.worker_idle_s * 1000, crash_step_ms=settings.worker_backoff_s * 1000,
        cold_start_ms=_COLD_START_MS, target_wait_ms=_TARGET_WAIT_MS,
    )  # fmt: skip


def _inspector(settings: Settings, stores: Stores) -> Callable[[Stored], InputFacts]:
    limits = Limits.of_pixels(settings.max_pixels)

    def inspect(stored: Stored) -> InputFacts:
        with stores.objects.held(stored) as path:
            info = probe(path, limits)
        return InputFacts(
            kind=info.kind, format_name=info.format_name, width=info.width, height=info.height,
            frames=info.frame_count, duration_ms=None if info.duration is None else int(info.duration * 1000),
            notes=info.file_notes,
        )  # fmt: skip

    return inspect


def _marks_reader(settings: Settings, stores: Stores) -> Callable[[str], MarksView]:
    limits = Limits.of_pixels(settings.max_pixels)

    def read(key: str) -> MarksView:
        return marks_view(verify_file(stores.objects.path(key), trusted_roots(settings), limits))

    return read


def _face_describer(settings: Settings, stores: Stores) -> Callable[[Stored], Descriptor]:
    """For the list of protected people. It is asked seldom, so its models are loaded for each time and given back."""
    limits = Limits.of_pixels(settings.max_pixels)

    def describe(stored: Stored) -> Descriptor:
        with stores.objects.held(stored) as path:
            probe(path, limits)
            picture = Picture(path.name, read_still(path, limits).frame.rgb)
        return tuple(float(each) for each in describe_source(picture, FaceTracker(OrtSessions("cpu"))))

    return describe


def _models() -> Sequence[ModelView]:
    return [
        ModelView(
            name=each.manifest.name, version=each.manifest.version, licence=each.manifest.licence, state=each.state
        )
        for each in describe_models()
    ]


def _lacks(settings: Settings, autoscaler: Autoscaler) -> Sequence[str]:
    lacks: list[str] = []
    decision = autoscaler.decisions.get(settings.tier)
    if decision is not None and decision.why == "workers_crashing":
        lacks.append("workers_crashing")
    if shutil.disk_usage(Path(settings.data_dir)).free < _LEAST_FREE_BYTES:
        lacks.append("disk_full")
    return lacks
