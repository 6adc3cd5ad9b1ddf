"""What happens before frames flow: inputs are looked at in the cage, pictures read, models loaded.

Decides that nothing reads a file before the cage did.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from secondface.errors import FileUnreadable
from secondface.frames import RGB8
from secondface.media.images import read_still
from secondface.media.limits import Limits
from secondface.media.probe import probe
from secondface.pipeline.passage import Casting, Conduct
from secondface.spec.graph import Plan
from secondface.spec.schemas import RunRequest


@dataclass(frozen=True, slots=True)
class Look:
    """What the cage said of a file, as far as a run needs it."""

    width: int
    height: int
    notes: tuple[str, ...] = ()


def inspect_inputs(
    request: RunRequest, conduct: Conduct, known: Mapping[Path, Look] | None = None
) -> Mapping[Path, Look]:
    """Look at every input in a cage before anything else reads it. Raises BadMedia errors.

    `known` are files at whose very bytes a cage of ours has looked already.
    """
    limits = Limits.of_pixels(request.limits.max_pixels)
    looks = dict(known or {})
    for path in dict.fromkeys(request.inputs):
        conduct.checkpoint()
        if path not in looks:
            info = probe(path, limits)
            looks[path] = Look(info.width, info.height, info.file_notes)
    return looks


class PictureFile:
    """A still by its bytes: of a person who is known from an earlier run no pixel is decoded.

    They are read at once, so that whatever cannot be read is called by `name`. Raises FileUnreadable.
    """

    def __init__(self, name: str, path: Path, limits: Limits) -> None:
        self.name = name
        self._path, self._limits = path, limits
        self._rgb: RGB8 | None = None
        try:
            with path.open("rb") as file:
                self.digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise FileUnreadable(f"{name}: {error.strerror}") from error

    @property
    def rgb(self) -> RGB8:
        """The pixels [h,w,3], which are kept. Raises BadMedia errors."""
        if self._rgb is None:
            self._rgb = read_still(self._path, self._limits).frame.rgb
        return self._rgb


def load_models(plan: Plan, conduct: Conduct) -> None:
    """Load what the plan needs. Raises the errors of models and devices."""
    for model in plan.models:
        conduct.checkpoint()
        conduct.sessions.get(model)


def read_casting(request: RunRequest, conduct: Conduct, name_of: Callable[[Path], str] = str) -> Casting:
    """Read the pictures of who is put onto whom, each under the name that messages use. Raises BadMedia errors."""
    limits = Limits.of_pixels(request.limits.max_pixels)

    def named(path: Path) -> PictureFile:
        return PictureFile(name_of(path), path, limits)

    sources = [[named(image) for image in person.images] for person in request.sources]
    like = named(request.rule.like) if request.rule.like else None
    mapping = [(entry.source, named(entry.like) if entry.like else entry.index or 0) for entry in request.mapping]
    wanted = [each for each in (like, *(who for _, who in mapping)) if isinstance(each, PictureFile)]
    if not conduct.people.holds(sources):
        wanted = [*chain.from_iterable(sources), *wanted]
    for picture in wanted:
        conduct.checkpoint()
        _ = picture.rgb  # what cannot be read is said here, before the device works and anything is counted
    return Casting(
        sources=sources,
        rule=request.rule,
        like=like,
        mapping=mapping,
        allow_no_face=request.allow_no_face,
        max_faces=request.limits.max_faces,
    )
