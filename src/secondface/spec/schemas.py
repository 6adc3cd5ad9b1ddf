"""What a run is asked to do: sources, target, output, faces, pipeline, limits.

Checks what can be known before a file is opened; must not open one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from secondface.errors import InvalidOption, MappingUnresolved, OutputExists, TooManySources
from secondface.spec.faces import FaceMapping, FaceRule, parse_mapping
from secondface.spec.graph import LabelSpec, PipelineSpec, Plan, StepSpec, compile_pipeline, describe_validation
from secondface.spec.outputs import StillOutput, VideoOutput

Restore = Literal["off", "auto"] | Annotated[float, Field(ge=0.0, le=1.0)]


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourcePerson(_Value):
    """One person whose face is given, by one or several pictures that are combined to one identity."""

    images: tuple[Path, ...] = Field(min_length=1, max_length=16)


class Limits(_Value):
    """What one run may use."""

    max_pixels: int | None = Field(default=None, ge=1, description="Pixels of a picture; empty: the media default.")
    max_frames: int | None = Field(default=None, ge=1, description="Frames of a video; empty: no limit.")
    max_faces: int | None = Field(
        default=None,
        ge=1,
        le=256,
        description="Faces that are followed at once; empty: 16 in a video, 64 in a picture.",
    )
    in_flight_bytes: int = Field(
        default=64 * 2**20, ge=2**20, description="Decoded frames held at once between the decoder and the encoder."
    )


class RunRequest(_Value):
    """One run: files in, one marked file out."""

    sources: tuple[SourcePerson, ...] = ()
    target: Path
    output: Path
    faces: FaceRule = FaceRule()
    mapping: tuple[FaceMapping, ...] = ()
    restore: Restore = "auto"
    pipeline: PipelineSpec | None = Field(default=None, description="Empty: swap (if there are sources), then restore.")
    label: LabelSpec | None = Field(default=None, description="Empty: as the pipeline says.")
    video: VideoOutput = VideoOutput()
    still: StillOutput = StillOutput()
    keep_metadata: bool = Field(default=False, description="Keep places, serial numbers and comments of the target.")
    allow_no_face: bool = False
    limits: Limits = Limits()

    @classmethod
    def of_files(
        cls,
        sources: Sequence[Path | str],
        target: Path | str,
        output: Path | str,
        *,
        same_person: bool = False,
        faces: str = "auto",
        mapping: Sequence[str] = (),
        pipeline: str | Path | PipelineSpec | None = None,
        **fields: object,
    ) -> RunRequest:
        """A request in the words of the command line; other fields by name. Raises BadRequest errors."""
        paths = [checked_path("source", source) for source in _listed("source", sources)]
        people = [paths] if same_person and paths else [[path] for path in paths]
        return cls.build(
            sources=[{"images": images} for images in people],
            target=checked_path("target", target),
            output=checked_path("output", output),
            faces=FaceRule.parse(faces),
            mapping=[parse_mapping(entry, people) for entry in _listed("mapping", mapping)],
            pipeline=read_pipeline(pipeline),
            **fields,
        )

    @classmethod
    def build(cls, **fields: object) -> RunRequest:
        """Check plain values. Raises InvalidOption that names the field."""
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise InvalidOption(describe_validation(error)) from error

    @model_validator(mode="after")
    def _consistent(self) -> RunRequest:
        if any(self.output.absolute() == path.absolute() for path in self.inputs):
            raise OutputExists(str(self.output), path=str(self.output))
        if self.pipeline is not None and self.restore not in ("auto", "off"):
            raise InvalidOption("`restore` is for the default pipeline; in yours, write face_restore:strength=N.")
        self._check_mapping()
        self._check_source_count()
        return self

    def _check_mapping(self) -> None:
        for entry in self.mapping:
            if entry.source >= len(self.sources):
                raise MappingUnresolved(f"There is no source {entry.source}; they count from 0.")
        goals = [entry.index for entry in self.mapping if entry.index is not None]
        if len(set(goals)) != len(goals):
            raise MappingUnresolved("Two entries of the mapping name the same face.")

    def _check_source_count(self) -> None:
        if self.mapping:
            idle = set(range(len(self.sources))) - {entry.source for entry in self.mapping}
            if idle:
                name = self.sources[min(idle)].images[0]
                raise TooManySources(f"No entry of the mapping uses {name}.", sources=len(self.sources))
            return
        most = self.rule.most_faces()
        if most is not None and len(self.sources) > most:
            raise TooManySources(
                f"{len(self.sources)} sources, but faces={self.rule} chooses {most}.", sources=len(self.sources)
            )

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All pictures and videos that are read: target, sources and references."""
        sources = (image for person in self.sources for image in person.images)
        references = (self.faces.like, *(entry.like for entry in self.mapping))
        return (self.target, *sources, *(path for path in references if path is not None))

    @property
    def rule(self) -> FaceRule:
        """The face rule with `auto` decided."""
        return self.faces.for_sources(len(self.sources))

    def plan(self) -> Plan:
        """The compiled pipeline. Raises InvalidPipeline or UnknownStep."""
        return plan_for(self.pipeline, self.restore, self.label, len(self.sources))


def plan_for(pipeline: PipelineSpec | None, restore: Restore, label: LabelSpec | None, sources: int) -> Plan:
    """Compile a pipeline, or the default one: swap if there are sources, then restore. `label` replaces its label."""
    if pipeline is None:
        pipeline = PipelineSpec(steps=_default_steps(restore, swaps=sources > 0))
    if label is not None:
        pipeline = pipeline.model_copy(update={"label": label})
    return compile_pipeline(pipeline, sources)


def read_pipeline(words: str | Path | PipelineSpec | None) -> PipelineSpec | None:
    """A pipeline in words: a YAML or JSON file, or a comma list. Raises InvalidPipeline or FileUnreadable."""
    if words is None or isinstance(words, PipelineSpec):
        return words
    if not isinstance(words, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance] - callers have no checker
        raise InvalidOption(f"pipeline: give a list of steps, a file or a PipelineSpec, not {type(words).__name__}.")
    if isinstance(words, Path) or Path(words).suffix.lower() in (".yaml", ".yml", ".json"):
        return PipelineSpec.load(Path(words))
    return PipelineSpec.parse_list(words)


def checked_path(name: str, value: object) -> Path:
    """A path that a caller of the library gave. Raises InvalidOption."""
    if isinstance(value, str | Path):
        return Path(value)
    raise InvalidOption(f"{name}: give a path as str or Path, not {type(value).__name__}.", option=name)


def checked_restore(value: object) -> Restore:
    """Raises InvalidOption."""
    return _checked("restore", TypeAdapter[Restore](Restore), value)


def checked_label(value: object) -> LabelSpec | None:
    """Raises InvalidOption."""
    return _checked("label", TypeAdapter[LabelSpec | None](LabelSpec | None), value)


_T = TypeVar("_T")


def _checked(name: str, adapter: TypeAdapter[_T], value: object) -> _T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise InvalidOption(f"{name}: {describe_validation(error)}") from error


def _listed(name: str, values: object) -> list[object]:
    """What a caller gave as several values; text is one value, though Python can walk through its letters."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidOption(f"{name}: give a list, not {type(values).__name__}.", option=name)
    return list(cast("Iterable[object]", values))


def _default_steps(restore: Restore, *, swaps: bool) -> tuple[StepSpec, ...]:
    steps = (StepSpec(step="face_swap"),) if swaps else ()
    if restore != "off":
        steps = (*steps, StepSpec(step="face_restore", parameters={"strength": restore}))
    if not steps:
        raise InvalidOption("There is nothing to do: give a source picture, a pipeline, or `restore`.")
    return steps
