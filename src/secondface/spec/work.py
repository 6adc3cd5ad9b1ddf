"""What a worker is told: an accepted request whose inputs lie in the object store.

It is stored with the job as JSON (`Job.spec`) and read by whoever runs it; the control plane does not read it. Must not
know accounts, prices or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from secondface.errors import InternalFault
from secondface.spec.faces import RuleKind
from secondface.spec.graph import LabelSpec, PipelineSpec
from secondface.spec.moderation import ContentRules
from secondface.spec.outputs import StillOutput, VideoOutput
from secondface.spec.schemas import Limits, Restore, RunRequest

InputKind = Literal["still", "video"]
"""An animation is a video."""


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredInput(_Value):
    """One input in the object store, as it was when the job was accepted."""

    key: str
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$", description="A file name of ours, none of the caller's.")
    sha256: str
    size_bytes: int = Field(ge=0)


class InputFacts(_Value):
    """What a probe in the cage says of an input."""

    kind: InputKind
    format_name: str
    width: int
    height: int
    frames: int | None = 1
    """None where the file does not say."""
    duration_ms: int | None = None
    notes: tuple[str, ...] = ()
    """On how its bytes end; never on what it shows."""


class StoredMapping(_Value):
    """A source person for the face at a position, or for the person of a reference picture."""

    source: int = Field(ge=0)
    index: int | None = None
    like: StoredInput | None = None


class WorkOrder(_Value):
    """One job for a worker."""

    sources: tuple[tuple[StoredInput, ...], ...] = ()
    """People, each by one or several pictures."""
    target: StoredInput
    output_name: str = Field(pattern=r"^out\.[a-z0-9]{2,5}$")
    rule: RuleKind = "auto"
    indices: tuple[int, ...] = ()
    like: StoredInput | None = None
    mapping: tuple[StoredMapping, ...] = ()
    restore: Restore = "auto"
    pipeline: PipelineSpec | None = None
    label: LabelSpec | None = None
    video: VideoOutput = VideoOutput()
    still: StillOutput = StillOutput()
    keep_metadata: bool = False
    allow_no_face: bool = False
    limits: Limits = Limits()
    speed_key: str = ""
    """Jobs with the same key are expected to need the same time a frame."""
    likeness_confirmed: bool = False
    """The caller said that the sources' likenesses may be used."""
    rules: ContentRules = ContentRules()
    """What follows when something is found in its pictures; results under other rules are other results."""
    facts: dict[str, InputFacts] = {}
    """By key: inputs at which the gateway's cage has looked, byte for byte. Others are looked at by the worker."""

    @property
    def inputs(self) -> tuple[StoredInput, ...]:
        """Every file to fetch, each once."""
        sources = [picture for person in self.sources for picture in person]
        references = [self.like, *(each.like for each in self.mapping)]
        every = [self.target, *sources, *(each for each in references if each is not None)]
        return tuple({each.key: each for each in every}.values())

    @classmethod
    def read(cls, text: str) -> WorkOrder:
        """The order in a job's spec. Raises InternalFault: only what was accepted is stored."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise InternalFault(f"a stored order cannot be read: {error.error_count()} problems") from error

    def run_request(self, path_of: Callable[[StoredInput], Path], output: Path) -> RunRequest:
        """The request for the engine, once each input lies at `path_of(input)`. Raises BadRequest errors."""
        people = [{"images": [path_of(picture) for picture in person]} for person in self.sources]
        like = path_of(self.like) if self.like is not None else None
        mapping = [
            {"source": each.source, "index": each.index, "like": path_of(each.like) if each.like else None}
            for each in self.mapping
        ]
        return RunRequest.build(
            sources=people, target=path_of(self.target), output=output,
            faces={"kind": self.rule, "indices": self.indices, "like": like}, mapping=mapping,
            restore=self.restore, pipeline=self.pipeline, label=self.label, video=self.video, still=self.still,
            keep_metadata=self.keep_metadata, allow_no_face=self.allow_no_face, limits=self.limits,
        )  # fmt: skip
