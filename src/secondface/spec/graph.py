"""A pipeline as a caller writes it, and the plan that it compiles to.

Decides the order, checks port types and parameters, lists the models, and adds the marks: every route passes this
compiler, so no route leaves them out. Must not know how a step works.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from secondface.errors import FileUnreadable, InternalFault, InvalidPipeline, UnknownStep
from secondface.spec.catalog import STEP_KINDS, LabelParameters, Port, StepKind, StepParameters
from secondface.spec.plugins import find_kind, known_names
from secondface.spec.slips import slip_detail

ParameterValue: TypeAlias = str | int | float | bool | None
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,64}$")]
MAX_STEPS = 32
MAX_TEXT_BYTES = 65_536
TOO_LONG = f"A pipeline file has at most {MAX_TEXT_BYTES} bytes."


class StepSpec(BaseModel):
    """One step of a pipeline. Without `after` it follows the step written before it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str = Field(description="The kind of step; `secondface steps` lists them.")
    id: Name | None = Field(default=None, description="A name for `after` to refer to; the kind's name if empty.")
    after: tuple[str, ...] | None = Field(default=None, description="The steps that must come first.")
    parameters: dict[str, ParameterValue] = Field(default_factory=dict, description="Parameters of the step.")


class LabelSpec(LabelParameters):
    """The visible label. It can be left off only by someone who says why; the other marks stay in any case."""

    visible: bool = Field(default=True, description="Whether the label is drawn.")
    acknowledgement: Annotated[str, StringConstraints(strip_whitespace=True, max_length=1000)] | None = Field(
        default=None,
        description="Who takes the duty to label the output elsewhere, and how; needed when visible is false.",
    )


class PipelineSpec(BaseModel):
    """What is done to the target, from a file (YAML, JSON) or a list such as `denoise,face_swap,upscale:scale=2`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    steps: tuple[StepSpec, ...] = Field(min_length=1, max_length=MAX_STEPS)
    label: LabelSpec = LabelSpec()

    @classmethod
    def parse_list(cls, text: str, label: LabelSpec | None = None) -> PipelineSpec:
        """Read `kind:name=value:name=value,kind,...`. Raises InvalidPipeline."""
        steps = [_step_from_words(part) for part in text.split(",")]
        return cls.build({"steps": steps, "label": label or LabelSpec()})

    @classmethod
    def parse_document(cls, text: str) -> PipelineSpec:
        """Read a YAML or JSON document. Raises InvalidPipeline."""
        if len(text.encode()) > MAX_TEXT_BYTES:
            raise InvalidPipeline(TOO_LONG)
        return cls.build(_plain_values(text))

    @classmethod
    def load(cls, path: Path) -> PipelineSpec:
        """Read a pipeline file. Raises FileUnreadable or InvalidPipeline."""
        try:
            # A pipe would be waited for, and of a file that is too large no more is read than shows it.
            if path.exists() and not path.is_file():
                raise FileUnreadable(f"{path}: not an ordinary file", path=str(path))
            with path.open("rb") as file:
                data = file.read(MAX_TEXT_BYTES + 1)
            if len(data) > MAX_TEXT_BYTES:
                raise InvalidPipeline(TOO_LONG)
            text = data.decode("utf-8")
        except (OSError, ValueError) as error:
            raise FileUnreadable(f"{path}: {error}", path=str(path)) from error
        return cls.parse_document(text)

    @classmethod
    def build(cls, document: object) -> PipelineSpec:
        """Check plain values against this schema. Raises InvalidPipeline that names the place."""
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise InvalidPipeline(describe_validation(error)) from error


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases and tags, of which a pipeline needs none.

    A few lines of nested aliases unfold to gigabytes, and a tag calls a constructor that trusts its text.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = cast("yaml.Event", self.peek_event())  # pyright: ignore[reportUnknownMemberType] - its stub has no types
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            raise yaml.YAMLError("tags (!name) are not allowed")
        return super().compose_node(parent, index)


def _plain_values(text: str) -> object:
    """What a YAML or JSON text holds. Raises InvalidPipeline."""
    try:
        return yaml.load(text, _PlainLoader)  # noqa: S506 - it is a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidPipeline(f"This is not YAML or JSON: {error}") from error


def describe_validation(error: ValidationError, model: type[BaseModel] | None = None) -> str:
    """The first problems of a pydantic error in one line; with its `model`, a slip in a name at the top is named."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return describe_problems(problems, model.model_fields if model is not None else ())


def describe_problems(problems: Sequence[ErrorDetails], known: Iterable[str] = ()) -> str:
    """The first problems in one line, each with the place where it is.

    With the `known` names, an unknown one at the top is answered with the name that was most likely meant.
    """
    names = tuple(known)
    return "; ".join(_problem_detail(problem, names) for problem in problems[:3]) + "."


def _problem_detail(problem: ErrorDetails, known: Sequence[str]) -> str:
    place = ".".join(map(str, problem["loc"])) or "document"
    if known and problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
        detail = f"{place[:100]}: there is no such field; {slip_detail(place, known)}"
        return detail.removesuffix(".")
    return f"{place}: {problem['msg']}"


def _step_from_words(part: str) -> StepSpec:
    kind, *settings = part.strip().split(":")
    parameters: dict[str, ParameterValue] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise InvalidPipeline(f"{part.strip()!r}: write a parameter as kind:name=value.")
        parameters[name.strip()] = _plain_value(text.strip())
    return StepSpec(step=kind.strip(), parameters=parameters)


def _plain_value(text: str) -> ParameterValue:
    """A number, true or false as YAML reads it; everything else is text."""
    try:
        value = _plain_values(text)
    except InvalidPipeline:
        return text
    return value if isinstance(value, str | int | float | bool) else text


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step in its place, with checked parameters."""

    kind: StepKind
    parameters: StepParameters

    @property
    def name(self) -> str:
        return self.kind.name


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they run. It cannot be made without its marks."""

    steps: tuple[PlannedStep, ...]
    label_waiver: str | None = None
    """The acknowledgement under which the visible label was left off."""

    def __post_init__(self) -> None:
        names = [step.name for step in self.steps]
        tail = ["watermark", "metadata"] if self.label_waiver else ["label", "watermark", "metadata"]
        marks = [name for name in names if name in ("label", "watermark", "metadata")]
        if names[-len(tail) :] != tail or marks != tail:
            raise InternalFault(f"A plan ends with its marks, each exactly once; this one is {names}.")

    @property
    def frame_steps(self) -> tuple[PlannedStep, ...]:
        """The steps that work on frames: all but the metadata marks."""
        return self.steps[:-1]

    @property
    def models(self) -> tuple[str, ...]:
        """Names of all models needed, each once, in order of first use."""
        return tuple(dict.fromkeys(model for step in self.steps for model in step.parameters.models()))

    @property
    def finds_faces(self) -> bool:
        return any(step.name == "analyse" for step in self.steps)

    @property
    def swaps(self) -> bool:
        return any(step.name == "face_swap" for step in self.steps)


def compile_pipeline(spec: PipelineSpec, sources: int) -> Plan:
    """Order, check and complete a pipeline for a number of source people. Raises InvalidPipeline or UnknownStep."""
    ordered = _in_order(spec.steps)
    planned = [_plan_step(step) for step in ordered]
    _check_repeats(planned)
    _check_sources(planned, sources)
    label = [step for step in planned if step.name == "label"]
    body = _connect([step for step in planned if step.name != "label"])
    if label and planned[-1].name != "label":
        follower = planned[planned.index(label[0]) + 1].name
        raise InvalidPipeline(f"`{follower}` comes after `label`, but nothing may change a frame once it is labelled.")
    waiver = _label_waiver(spec.label, named=bool(label))
    drawn = () if waiver else (label[0] if label else _label_step(spec.label),)
    unseen = (PlannedStep(kind, kind.parameters()) for kind in (STEP_KINDS["watermark"], STEP_KINDS["metadata"]))
    return Plan((*body, *drawn, *unseen), waiver)


def _in_order(steps: Sequence[StepSpec]) -> list[StepSpec]:
    """The first written step whose predecessors are all placed comes next, so the written order breaks ties."""
    before: dict[str, tuple[str, ...]] = {}
    by_id: dict[str, StepSpec] = {}
    previous: tuple[str, ...] = ()
    for position, step in enumerate(steps):
        name = step.id or (step.step if step.step not in by_id else f"{step.step}-{position}")
        if name in by_id:
            raise InvalidPipeline(f"Two steps have the id {name!r}.")
        by_id[name] = step
        before[name] = previous if step.after is None else step.after
        previous = (name,)
    for name, needs in before.items():
        if missing := [need for need in needs if need not in by_id]:
            raise InvalidPipeline(f"`{name}` comes after {missing[0]!r}, which is not in the pipeline.")
    placed: dict[str, StepSpec] = {}
    while len(placed) < len(by_id):
        ready = (name for name in by_id if name not in placed and all(need in placed for need in before[name]))
        name = next(ready, None)
        if name is None:
            circle = ", ".join(name for name in by_id if name not in placed)
            raise InvalidPipeline(f"These steps wait for each other: {circle}.")
        placed[name] = by_id[name]
    return list(placed.values())


def _plan_step(step: StepSpec) -> PlannedStep:
    kind = find_kind(step.step)
    if kind is None or kind.by_compiler:
        raise UnknownStep(f"{step.step!r} is none of {', '.join(known_names())}.", step=step.step)
    try:
        return PlannedStep(kind, kind.parameters.model_validate(step.parameters))
    except ValidationError as error:
        raise InvalidPipeline(f"Step `{kind.name}`: {describe_validation(error)}", step=kind.name) from error


def _check_repeats(planned: Sequence[PlannedStep]) -> None:
    names = [step.name for step in planned]
    for step in planned:
        if step.kind.once and names.count(step.name) > 1:
            raise InvalidPipeline(f"`{step.name}` can be in a pipeline only once.")


def _check_sources(planned: Sequence[PlannedStep], sources: int) -> None:
    swaps = any(step.name == "face_swap" for step in planned)
    if swaps and sources == 0:
        raise InvalidPipeline("`face_swap` needs a source picture.")
    if sources and not swaps:
        raise InvalidPipeline("A source picture was given, but no step swaps faces; add `face_swap`.")


def _connect(steps: Sequence[PlannedStep]) -> list[PlannedStep]:
    """Put the search for faces before the first step that needs them; faces then stay with their frames."""
    analyse = STEP_KINDS["analyse"]
    first = next((at for at, step in enumerate(steps) if step.kind.takes is Port.FACES), None)
    if first is None:
        return list(steps)
    return [*steps[:first], PlannedStep(analyse, analyse.parameters()), *steps[first:]]


def _label_waiver(label: LabelSpec, *, named: bool) -> str | None:
    if label.visible:
        return None
    if named:
        raise InvalidPipeline("The pipeline has a `label` step, but label.visible is false: choose one.")
    if not label.acknowledgement:
        raise InvalidPipeline("The visible label can be left off only with label.acknowledgement, which is recorded.")
    return label.acknowledgement


def _label_step(label: LabelSpec) -> PlannedStep:
    kind = STEP_KINDS["label"]
    return PlannedStep(kind, LabelParameters(languages=label.languages, position=label.position))
