"""A whole service in memory with real models: small pictures in, attempts in this process."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import cv2
import numpy as np

from secondface.control.admission import Probed, Rate
from secondface.domain.jobs import Job
from secondface.domain.pricing import Usage
from secondface.frames import Sessions
from secondface.models.sessions import OrtSessions
from secondface.pipeline.batching import SharedSessions
from secondface.spec.work import StoredInput, WorkOrder
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock
from secondface.storage.memory_objects import MemoryObjects
from tests.hand_clock import HandClock
from tests.unit.control.service import Service

SAMPLE = Path(str(files("secondface.cli") / "sample"))
SIDE = 160


@cache
def face(person: str, side: int = SIDE) -> bytes:
    """A small picture of a bundled person, as PNG."""
    picture = cv2.imread(str(SAMPLE / f"person_{person}.jpg"))
    assert picture is not None
    return bytes(cv2.imencode(".png", cv2.resize(picture, (side, side), interpolation=cv2.INTER_AREA))[1])


def wall(side: int = 64) -> bytes:
    """A picture without a face."""
    return bytes(cv2.imencode(".png", np.full((side, side, 3), 127, np.uint8))[1])


@cache
def models() -> Sessions:
    """The real models, loaded once for all tests."""
    return OrtSessions("cpu")


class Workshop(Service):
    """The control plane, an object store, and orders for small pictures."""

    def __init__(self, clock: HandClock | None = None) -> None:
        super().__init__(clock=clock)
        self.objects = MemoryObjects(Links("http://localhost", (b"s" * 32,), MachineClock()))
        self.sessions = SharedSessions(models(), lanes=2)

    def put(self, name: str, content: bytes) -> StoredInput:
        key = f"uploads/{hashlib.sha256(content).hexdigest()[:12]}/{name}"
        stored = self.objects.put(key, io.BytesIO(content), "image/png")
        return StoredInput(key=key, name=name, sha256=stored.sha256, size_bytes=stored.size_bytes)

    def order(self, target: bytes | None = None, **words: object) -> WorkOrder:
        """Person A's face onto person B, or onto another target."""
        fields: Mapping[str, object] = {
            "sources": ((self.put("source.png", face("a")),),), "restore": "off", "output_name": "out.png",
            "target": self.put("target.png", face("b") if target is None else target), **words,
        }  # fmt: skip
        return WorkOrder.model_validate(fields)

    def accept(self, order: WorkOrder | str | None = None, **changes: object) -> Job:
        """Submit a job for that order."""
        spec = order if isinstance(order, str) else (order or self.order()).model_dump_json()
        words = {"spec": spec, "probed": Probed(), "rate": Rate(active_us=2_000_000), **changes}
        return self.submit(**words).job  # type: ignore[arg-type]

    def results(self, job_id: str) -> list[str]:
        return list(self.objects.keys(f"jobs/{job_id}/"))


def check_usage(usage: Usage) -> None:
    """What holds for every usage that was ever told."""
    phases = (usage.boot_ms, usage.load_ms, usage.fetch_ms, usage.run_ms, usage.store_ms)
    assert min(phases) >= 0
    assert sum(phases) == usage.wall_ms
    assert 0 <= usage.device_active_ms <= usage.run_ms
