"""The last word of a caged run: its report, and how much of it is believed.

Decides that a signature says nothing on a caged run's word but of which format each input is, and the label that it
came with; who made the output, of what, when and how, is known without asking.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from secondface.errors import InternalFault
from secondface.fleet.run_words import MOST_COUNTED
from secondface.fleet.runs import RunResult, RunTask, result_of
from secondface.pipeline.report import RunReport
from secondface.pipeline.sealing import MEDIA_TYPES, statement_of
from secondface.provenance.aigc import AigcLabel
from secondface.provenance.signing import Ingredient, Role, Statement
from secondface.spec.marks import watermark_of, watermark_text


def report_words(report: RunReport) -> dict[str, object]:
    """In the cage: the end of a run that went well."""
    inputs = report.statement.inputs if report.statement is not None else ()
    return {
        "report": result_of(report).facts,
        "inputs": [
            {"media_type": each.media_type, "label": each.label.to_json() if each.label else None} for each in inputs
        ],
    }


class _Words(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Report(_Words):
    """What fleet.runs says of a run, as far as others rely on it."""

    kind: str = Field(pattern="^(still|video)$")
    width: int = Field(ge=1, le=MOST_COUNTED)
    height: int = Field(ge=1, le=MOST_COUNTED)
    frames: int = Field(ge=0, le=MOST_COUNTED)
    faces: int = Field(ge=0, le=MOST_COUNTED)
    faces_swapped: int = Field(ge=0, le=MOST_COUNTED)
    swapped_frames: int = Field(ge=0, le=MOST_COUNTED)
    unswapped: list[list[int]]
    notes: list[str]
    streams: list[dict[str, Any]]
    stages: list[dict[str, Any]]
    produce_id: str
    watermark: str
    watermark_held: bool
    label_waiver: str | None


class _Input(_Words):
    media_type: str
    label: str | None


class _End(_Words):
    """All that a run says at its end."""

    report: _Report
    inputs: list[_Input]


def result_of_words(words: object, task: RunTask) -> RunResult:
    """The result of those words. Raises InternalFault for what is none of this task."""
    try:
        end = _End.model_validate(words)
    except ValidationError as error:
        raise InternalFault(f"a caged run told nonsense: {error.error_count()} problems") from error
    marked = (end.report.produce_id, end.report.watermark)
    if marked != (task.produce_id, watermark_text(watermark_of(task.produce_id))):
        raise InternalFault("a caged run told of the marks of another job")
    return RunResult(end.report.frames, end.report.faces, end.report.model_dump(), _statement(end.inputs, task))


def _statement(told: Sequence[_Input], task: RunTask) -> Statement:
    left = list(told)

    def ingredient(role: Role, _path: Path) -> Ingredient:
        each = left.pop(0)
        if each.media_type not in MEDIA_TYPES:
            raise ValueError(each.media_type)
        return Ingredient(role, each.media_type, None if each.label is None else AigcLabel.from_json(each.label))

    request = task.request
    try:
        statement = statement_of(request, request.plan(), task.produce_id, ingredient=ingredient)
    except (IndexError, ValueError) as error:
        raise InternalFault("a caged run told nonsense of its inputs") from error
    if left:
        raise InternalFault("a caged run told of more inputs than it had")
    return statement
