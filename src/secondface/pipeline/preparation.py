"""What happens before frames flow: inputs are looked at in the cage, pictures read, models loaded.

Decides that nothing reads a file before the cage did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from secondface.media.images import read_still
from secondface.media.info import MediaInfo
from secondface.media.limits import Limits
from secondface.media.probe import probe
from secondface.pipeline.passage import Casting, Conduct
from secondface.pipeline.people import Picture
from secondface.spec.graph import Plan
from secondface.spec.schemas import RunRequest


def inspect_inputs(request: RunRequest, conduct: Conduct) -> Mapping[Path, MediaInfo]:
    """Look at every input in a cage before anything else reads it. Raises BadMedia errors."""
    limits = Limits.of_pixels(request.limits.max_pixels)
    infos: dict[Path, MediaInfo] = {}
    for path in dict.fromkeys(request.inputs):
        conduct.checkpoint()
        infos[path] = probe(path, limits)
    return infos


def load_models(plan: Plan, conduct: Conduct) -> None:
    """Load what the plan needs. Raises the errors of models and devices."""
    for model in plan.models:
        conduct.checkpoint()
        conduct.sessions.get(model)


def read_casting(request: RunRequest, conduct: Conduct, name_of: Callable[[Path], str] = str) -> Casting:
    """Read the pictures of who is put onto whom, each under the name that messages use. Raises BadMedia errors."""
    limits = Limits.of_pixels(request.limits.max_pixels)

    def read(path: Path) -> Picture:
        conduct.checkpoint()
        return Picture(name_of(path), read_still(path, limits).frame.rgb)

    return Casting(
        sources=[[read(image) for image in person.images] for person in request.sources],
        rule=request.rule,
        like=read(request.rule.like) if request.rule.like else None,
        mapping=[(entry.source, read(entry.like) if entry.like else entry.index or 0) for entry in request.mapping],
        allow_no_face=request.allow_no_face,
        max_faces=request.limits.max_faces,
    )
