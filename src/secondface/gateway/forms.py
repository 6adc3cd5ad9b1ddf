"""Requests for jobs and quotes as they come: JSON that names its inputs, or a form that holds them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from secondface.control.auth import Caller
from secondface.domain.ports import Stored
from secondface.gateway.inputs import Inputs
from secondface.gateway.multipart import Part, parts
from secondface.gateway.orders import Material
from secondface.gateway.refusals import BodyInvalid, ContentTypeUnsupported
from secondface.spec.graph import PipelineSpec, describe_validation
from secondface.spec.service import MAX_INPUTS, JobOptions, JobRequest
from secondface.spec.slips import slip_detail

_WORDS_BYTES = 256 << 10
_Model = TypeVar("_Model", bound=BaseModel)

JOB_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/JobRequest"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["target"],
                    "properties": {
                        "source": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "target": {"type": "string", "format": "binary"},
                        "reference": {"type": "string", "format": "binary"},
                        "options": {"$ref": "#/components/schemas/JobOptions"},
                    },
                },
                "encoding": {"options": {"contentType": "application/json"}},
            },
        },
    }
}
"""The body of a job for the API's reference. A form's other fields are those of its options, one by one."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A request with its inputs stored and looked at."""

    options: JobOptions
    material: Material


@dataclass(slots=True)
class _Form:
    words: dict[str, object] = field(default_factory=dict[str, object])
    sources: list[Stored] = field(default_factory=list[Stored])
    target: Stored | None = None
    reference: Stored | None = None


def media_type(request: Request) -> str:
    """The type of the body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_job(request: Request, caller: Caller, inputs: Inputs) -> Filled:
    """The request of a job, in either form. Raises BadRequest and BadMedia errors, ObjectMissing."""
    match media_type(request):
        case "application/json":
            return await _from_words(checked(JobRequest, await read_json(request)), caller, inputs)
        case "multipart/form-data":
            form = await _read_form(request, caller, inputs)
            options = checked(JobOptions, form.words)
            if form.target is None:
                raise BodyInvalid("The form has no part `target`.")
            every = [*_numbered("source", form.sources), ("target", form.target)]
            known = await inputs.known([*every, *([("reference", form.reference)] if form.reference else [])])
            at = len(form.sources)
            reference = known[-1] if form.reference else None
            return Filled(options, Material(sources=known[:at], target=known[at], reference=reference))
        case other:
            raise ContentTypeUnsupported(other, content_type=other)


async def read_json(request: Request) -> object:
    """A JSON body. Raises BodyInvalid."""
    body = await request.body()
    try:
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BodyInvalid("The body is not JSON.") from None


def checked(model: type[_Model], values: object) -> _Model:
    """Values as a model. Raises BodyInvalid that names the place, or what the model's own checks raise."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise BodyInvalid(describe_validation(error, model)) from error


async def _from_words(asked: JobRequest, caller: Caller, inputs: Inputs) -> Filled:
    references = [("reference", asked.reference)] if asked.reference is not None else []
    named = [*((f"sources[{at}]", ref) for at, ref in enumerate(asked.sources)), ("target", asked.target), *references]
    named += [(f"mapping[{at}].like", each.like) for at, each in enumerate(asked.mapping) if each.like is not None]
    # In turn: one request takes one download's room.
    known = await inputs.known([(place, await inputs.stored(caller, ref, place)) for place, ref in named])
    at = len(asked.sources)
    rest = iter(known[at + 1 + len(references) :])
    mapping = [(each.source, each.index, next(rest) if each.like is not None else None) for each in asked.mapping]
    reference = known[at + 1] if references else None
    options = JobOptions.model_validate({name: getattr(asked, name) for name in JobOptions.model_fields})
    return Filled(options, Material(sources=known[:at], target=known[at], reference=reference, mapping=mapping))


async def _read_form(request: Request, caller: Caller, inputs: Inputs) -> _Form:
    form = _Form()
    async for part in parts(request.headers["content-type"], request.stream()):
        match part.name:
            case "source":
                if len(form.sources) >= MAX_INPUTS:
                    raise BodyInvalid(f"A form has at most {MAX_INPUTS} sources.")
                form.sources.append(await inputs.part(caller, part.chunks, part.content_type, part.name))
            case "target" | "reference":
                if getattr(form, part.name) is not None:
                    raise BodyInvalid(f"The form has two parts `{part.name}`.")
                setattr(form, part.name, await inputs.part(caller, part.chunks, part.content_type, part.name))
            case "options":
                form.words.update(_object(await part.text(_WORDS_BYTES)))
            case name if name in JobOptions.model_fields:
                form.words[name] = await _word(part)
            case name:
                raise BodyInvalid(f"A form has no part {name[:100]!r}; {slip_detail(name, _part_names())}")
    return form


def _numbered(name: str, files: Sequence[Stored]) -> list[tuple[str, Stored]]:
    """Each file with the name of its part; of several parts of one name, with its number, as a mapping counts them."""
    return [(name if len(files) == 1 else f"{name}[{at}]", each) for at, each in enumerate(files)]


async def _word(part: Part) -> object:
    text = await part.text(_WORDS_BYTES)
    if part.name == "pipeline" and not text.lstrip().startswith("{"):
        return PipelineSpec.parse_list(text)
    return _object(text) if text.lstrip().startswith("{") else text


def _object(text: str) -> dict[str, object]:
    try:
        found: object = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BodyInvalid("A part that should hold JSON does not.") from None
    if not isinstance(found, dict):
        raise BodyInvalid("A part that should hold a JSON object does not.")
    return found  # pyright: ignore[reportUnknownVariableType] - JSON's keys are strings


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _part_names() -> Sequence[str]:
    return ("source", "target", "reference", "options", *JobOptions.model_fields)
