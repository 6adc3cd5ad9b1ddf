"""Steps that other installed packages bring, by entry points of the group `secondface.steps`.

A package declares, in its pyproject.toml,

    [project.entry-points."secondface.steps"]
    sepia = "my_package.declaration:SEPIA"

and SEPIA is a PluginStep: the kind, as the catalogue declares its own, and where its implementation lies. Declarations
are read to check a request, so their modules must not load numpy; implementations are loaded by `pipeline.plugins` when
a run needs them. One that does not load takes nothing else down: it is an error of whoever names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from secondface.errors import StepUnloadable
from secondface.spec.catalog import STEP_KINDS, Port, StepKind, StepParameters, callable_kinds

GROUP = "secondface.steps"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_REFERENCE = re.compile(r"[\w.]+:\w+")


@dataclass(frozen=True, slots=True)
class PluginStep:
    """A step of another package: what it is, and `module:function` of what does it.

    The function takes (parameters, StreamInfo, Sessions) and returns a function that changes one FrameWork in place.
    """

    kind: StepKind
    implementation: str


@dataclass(frozen=True, slots=True)
class Installed:
    """One entry point: the step, or why there is none."""

    name: str
    package: str
    step: PluginStep | None
    reason: str = ""


def find_kind(name: str) -> StepKind | None:
    """The kind of that name, built in or of another package. Raises StepUnloadable."""
    if name in STEP_KINDS:
        return STEP_KINDS[name]
    found = installed().get(name)
    if found is None:
        return None
    return _loaded(found).kind


def find_plugin(name: str) -> PluginStep | None:
    """The step of another package of that name. Raises StepUnloadable."""
    found = installed().get(name)
    return None if found is None else _loaded(found)


def known_names() -> list[str]:
    """What a pipeline may name."""
    return [*(kind.name for kind in callable_kinds()), *(each.name for each in installed().values() if each.step)]


@lru_cache(maxsize=1)
def installed() -> Mapping[str, Installed]:
    """All entry points by name, each loaded on its own; looked for once a process."""
    steps: dict[str, Installed] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point))):
        if point.name not in steps:
            steps[point.name] = _read(point)
    return MappingProxyType(steps)


def _loaded(found: Installed) -> PluginStep:
    if found.step is None:
        raise StepUnloadable(f"`{found.name}` of {found.package}: {found.reason}", step=found.name)
    return found.step


def _read(point: EntryPoint) -> Installed:
    try:
        step: object = point.load()
    except Exception as error:  # noqa: BLE001 - it is the code of somebody else, and one package must not stop all
        return Installed(point.name, _package(point), None, f"{type(error).__name__}: {error}")
    if not isinstance(step, PluginStep):
        return Installed(point.name, _package(point), None, f"{point.value} is no PluginStep")
    if reason := _objection(point.name, step):
        return Installed(point.name, _package(point), None, reason)
    return Installed(point.name, _package(point), step)


def _objection(name: str, step: PluginStep) -> str:
    """Why a declaration cannot be taken; empty if it can."""
    kind = step.kind
    if name in STEP_KINDS:
        return "a step of this name is built in"
    if kind.name != name or not _NAME.fullmatch(name):
        return f"its kind is called {kind.name!r}; both names must be the same, in small letters, digits and _"
    if kind.by_compiler or kind.takes not in (Port.FRAMES, Port.FACES) or kind.gives != kind.takes:
        return "a step takes and gives frames, or takes and gives faces"
    if StepParameters not in getattr(kind.parameters, "__mro__", ()):
        return "its parameters are no StepParameters"
    if not _REFERENCE.fullmatch(step.implementation):
        return f"{step.implementation!r} is not written as module:function"
    return ""


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown package"
