"""What callers give as inputs and options, and the requests that become of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypedDict, TypeVar, cast

from pydantic import BaseModel, ValidationError

from secondface.errors import InvalidOption
from secondface.sdk.calls import Flow
from secondface.sdk.files import upload
from secondface.sdk.retries import Retries
from secondface.spec.graph import LabelSpec, PipelineSpec, describe_validation
from secondface.spec.outputs import StillOutput, VideoOutput
from secondface.spec.schemas import Restore, read_pipeline
from secondface.spec.service import InputRef, JobOptions, JobRequest, MappingRef, Market, OutputFormat
from secondface.spec.views import StoredView

_Model = TypeVar("_Model", bound=BaseModel)
Given: TypeAlias = Path | str | bytes | InputRef | StoredView
"""An input: a path, an http(s) address, bytes, or an upload."""
Goal: TypeAlias = int | Given
"""The place of a face, counted from the left, or a picture of the person who is replaced."""


class JobWords(TypedDict, total=False):
    """Options of a job; `secondface.spec.service.JobOptions` explains each."""

    same_person: bool
    faces: str
    restore: Restore
    pipeline: str | Path | PipelineSpec | None
    label: LabelSpec | Mapping[str, object] | None
    video: VideoOutput | Mapping[str, object]
    still: StillOutput | Mapping[str, object]
    output: OutputFormat
    keep_metadata: bool
    allow_no_face: bool
    tier: str | None
    market: Market
    priority: int
    deadline_s: int | None
    max_cost_micros: int | None
    likeness_confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A job as a caller asks for it, its files still here."""

    sources: Sequence[Given]
    target: Given
    reference: Given | None = None
    mapping: Sequence[tuple[int, Goal]] = ()
    words: JobWords


def options_of(words: JobWords) -> JobOptions:
    """The options, checked before anything is sent. Raises InvalidOption, InvalidPipeline."""
    values: dict[str, object] = dict(words)
    if "pipeline" in words:
        values["pipeline"] = read_pipeline(words["pipeline"])
    return checked(JobOptions, values)


def checked(model: type[_Model], values: Mapping[str, object]) -> _Model:
    """Values as a request. Raises InvalidOption that names the place."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InvalidOption(describe_validation(error, model)) from error


def request_of(asked: Asked, retries: Retries) -> Flow[JobRequest]:
    """Upload what is here, each file once, and name the uploads. Raises what the options and the uploads do."""
    options = options_of(asked.words)
    known: dict[Given, InputRef] = {}

    def stored(given: Given) -> Flow[InputRef]:
        if given not in known:
            known[given] = yield from _stored(given, retries)
        return known[given]

    sources: list[InputRef] = []
    for source in asked.sources:
        sources.append((yield from stored(source)))  # noqa: PERF401 - a comprehension cannot yield
    target = yield from stored(asked.target)
    reference = None if asked.reference is None else (yield from stored(asked.reference))
    mapping: list[MappingRef] = []
    for number, goal in asked.mapping:
        if isinstance(goal, int):
            mapping.append(checked(MappingRef, {"source": number, "index": goal}))
        else:
            mapping.append(checked(MappingRef, {"source": number, "like": (yield from stored(goal))}))
    values = {name: getattr(options, name) for name in options.model_fields_set}
    files = {"sources": tuple(sources), "target": target, "reference": reference, "mapping": tuple(mapping)}
    return checked(JobRequest, {**values, **files})


def said(model: BaseModel) -> dict[str, object]:
    """A request as JSON values, without what is left to the service."""
    return cast("dict[str, object]", model.model_dump(mode="json", exclude_defaults=True))


def _stored(given: Given, retries: Retries) -> Flow[InputRef]:
    if isinstance(given, InputRef):
        return given
    if isinstance(given, StoredView):
        return InputRef(upload=given.id)
    if isinstance(given, str) and given.startswith(("http://", "https://")):
        return InputRef(url=given)
    content = given if isinstance(given, bytes) else Path(given)
    return InputRef(upload=(yield from upload(content, retries)).id)
