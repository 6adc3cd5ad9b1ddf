"""What is still kept of a job that ended: its inputs and its output, until their time is over or somebody asks.

A deletion is written down before the first file goes and again after the last one, so that whoever dies in between
leaves a state that another one finishes. Must not know files, stores or clocks.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from secondface.domain.accounts import Actor
from secondface.domain.jobs import Event, Fact, Job

KeptState: TypeAlias = Literal["kept", "deleting", "deleted", "none"]
"""`none`: there never was any."""
Reason: TypeAlias = Literal["asked", "policy"]
Part: TypeAlias = Literal["inputs", "output"]
RETENTION = Actor("retention")
"""Who deletes what nobody asked for."""
PARTS: tuple[Part, ...] = ("inputs", "output")
HOUR_MS = 3_600_000
DELETED = "job.data_deleted"
"""The kind of event that is the receipt of a deletion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFile:
    """One file of a deletion."""

    key: str
    name: str
    sha256: str
    size_bytes: int
    kept_for: str = ""
    """The job that still needs it, so that it stays; empty: it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What is left of one job."""

    job_id: str
    account: str
    ended_ms: int
    inputs: KeptState = "kept"
    output: KeptState = "kept"
    inputs_h: int | None = None
    """Hours that the account's plan keeps them; none: those of the service."""
    output_h: int | None = None
    files: tuple[HeldFile, ...] = ()
    """Of the deletion that is under way."""
    reason: Reason = "policy"
    actor: Actor = RETENTION
    """Who wanted it."""

    def state(self, part: Part) -> KeptState:
        return self.inputs if part == "inputs" else self.output

    @property
    def under_way(self) -> bool:
        """Whether a deletion was begun and not ended."""
        return "deleting" in (self.inputs, self.output)

    def left(self) -> tuple[Part, ...]:
        """What could still be deleted."""
        return tuple(part for part in PARTS if self.state(part) == "kept")

    def due(self, at_ms: int, inputs_h: int, output_h: int) -> tuple[Part, ...]:
        """What has been kept long enough, with the service's own hours for plans that say none."""
        hours = {"inputs": inputs_h if self.inputs_h is None else self.inputs_h,
                 "output": output_h if self.output_h is None else self.output_h}  # fmt: skip
        return tuple(part for part in self.left() if self.ended_ms + hours[part] * HOUR_MS <= at_ms)


def maker_of(job: Job) -> str:
    """The job whose file the result is: an earlier, equal one where it came from that."""
    match (job.result or "").split("/", 2):
        case ["jobs", maker, _]:
            return maker
        case _:
            return job.id


def left_of(job: Job, inputs_h: int | None, output_h: int | None) -> Remains:
    """What a job that has just ended leaves behind, with the hours of its account's plan."""
    assert job.ended_ms is not None
    return Remains(
        job_id=job.id, account=job.account, ended_ms=job.ended_ms, output="none" if job.result is None else "kept",
        inputs_h=inputs_h, output_h=output_h,
    )  # fmt: skip


def begin(
    remains: Remains, parts: tuple[Part, ...], files: tuple[HeldFile, ...], reason: Reason, actor: Actor
) -> Remains:  # fmt: skip
    """Say that parts are about to go."""
    return replace(
        remains, files=files, reason=reason, actor=actor,
        inputs="deleting" if "inputs" in parts else remains.inputs,
        output="deleting" if "output" in parts else remains.output,
    )  # fmt: skip


def finish(remains: Remains, at_ms: int) -> tuple[Remains, Event]:
    """Say that they have gone; the event is the receipt, and holds digests and no content."""
    what = "+".join(part for part in PARTS if remains.state(part) == "deleting")
    gone = [each for each in remains.files if not each.kept_for]
    facts: dict[str, Fact] = {
        "what": what, "reason": remains.reason, "files": len(gone), "bytes": sum(each.size_bytes for each in gone),
        "receipt": receipt_digest(remains.job_id, what, at_ms, remains.files),
    }  # fmt: skip
    for number, each in enumerate(remains.files):
        facts[f"file_{number}"] = " ".join((each.sha256, str(each.size_bytes), each.kept_for or "-", each.name))
    over = replace(
        remains, files=(),
        inputs="deleted" if remains.inputs == "deleting" else remains.inputs,
        output="deleted" if remains.output == "deleting" else remains.output,
    )  # fmt: skip
    return over, Event(remains.job_id, DELETED, at_ms, facts)


def receipt_digest(job_id: str, what: str, at_ms: int, files: tuple[HeldFile, ...]) -> str:
    """SHA-256 over what a receipt says: a caller who kept it can show that it is this one."""
    said = [job_id, what, at_ms, [[each.sha256, each.size_bytes, each.kept_for or "-", each.name] for each in files]]
    return hashlib.sha256(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def files_of(event: Event) -> tuple[HeldFile, ...]:
    """The files that a receipt names."""
    found: list[HeldFile] = []
    while isinstance(line := event.facts.get(f"file_{len(found)}"), str):
        sha256, size, kept_for, name = line.split(" ", 3)
        found.append(
            HeldFile(
                key="", name=name, sha256=sha256, size_bytes=int(size), kept_for="" if kept_for == "-" else kept_for
            )
        )
    return tuple(found)
