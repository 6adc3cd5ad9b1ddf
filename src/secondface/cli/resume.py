"""What makes a second run over a folder do only what is not done yet.

Decides when an output is the one that a request would make: the id in its own marks is worked out from the bytes of all
inputs and from the options, so that nothing but the output has to be kept, and a file that was cut off has no id.
"""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from secondface.errors import FileUnreadable, SecondfaceError

if TYPE_CHECKING:
    from secondface.spec.schemas import RunRequest

_PLACES = {"output", "target", "sources", "limits"}
"""Parts of a request that say where things are or what may be used, not what is made."""


class Digests:
    """The digest of each file, read once: the sources are the same for all targets."""

    def __init__(self) -> None:
        self._known: dict[Path, str] = {}

    def of(self, path: Path) -> str:
        """The SHA-256 of a file's bytes. Raises FileUnreadable."""
        if path not in self._known:
            try:
                with path.open("rb") as file:
                    self._known[path] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise FileUnreadable(f"{path}: {error.strerror}", path=str(path)) from error
        return self._known[path]


def id_of(request: RunRequest, digests: Digests, producer: str = "") -> str:
    """The id of what a request makes, as 32 hex digits: the same inputs, options and producer give the same id."""
    words = request.model_dump_json(exclude=_PLACES)
    people = "|".join(str(len(person.images)) for person in request.sources)
    text = "\n".join(
        [words, people, producer, request.output.suffix.lower(), *(digests.of(path) for path in request.inputs)]
    )
    return uuid.uuid5(uuid.NAMESPACE_OID, text).hex


def is_done(output: Path, produce_id: str) -> bool:
    """Whether the output is there, can be read, and carries that id in its marks."""
    from secondface.compose import marks_of

    if not output.is_file():
        return False
    try:
        label = marks_of(output).label
    except SecondfaceError:
        return False
    return label is not None and label.produce_id == produce_id
