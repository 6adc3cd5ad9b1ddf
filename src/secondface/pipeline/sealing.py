"""The last steps of every output: it is signed when it is whole, and read back before it gets its name.

Decides that a file without its marks is never handed out. Where an output comes from a process that must not hold the
key, `sign_in_place` is called afterwards by whoever holds it, with what the report says of the run.
"""

from __future__ import annotations

import io
import mmap
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, cast

from secondface.errors import BadMedia, MarkMissing
from secondface.frames import Frame
from secondface.media.containers import writing_failures
from secondface.media.marks import read_stored_marks
from secondface.media.signatures import sniff
from secondface.pipeline.watermarking import WatermarkFound, is_in_frame, lost_watermark_notes, read_back
from secondface.provenance.aigc import AigcLabel
from secondface.provenance.credentials import FORMATS
from secondface.provenance.metadata import AIGC_TAG, MetadataMarks, read_marks, require_marks
from secondface.provenance.signing import ContentSigner, Ingredient, Role, Statement
from secondface.spec.graph import Plan
from secondface.spec.marks import watermark_of
from secondface.spec.schemas import RunRequest

_IN_MEMORY_BYTES = 32 << 20
_BLOCK_BYTES = 1 << 20
_OTHER_FORMATS = {"matroska,webm": "video/x-matroska", "BMP": "image/bmp", "mpegts": "video/mp2t", "avi": "video/avi"}
_UNNAMED_FORMAT = "application/octet-stream"
MEDIA_TYPES = frozenset({*FORMATS.values(), *_OTHER_FORMATS.values(), _UNNAMED_FORMAT})
"""All that can be said of an input's format."""


@dataclass(slots=True)
class Seal:
    """The marks of one run's output, from the metadata that is written into it to the signature over all of it."""

    marks: MetadataMarks
    said: Statement
    signer: ContentSigner | None = None
    """None where the output is signed later, by another process."""
    notes: list[str] = field(default_factory=list[str])

    watermark: WatermarkFound | None = None
    """What was found of the watermark in the finished file."""

    @property
    def holds_watermark(self) -> bool:
        return self.watermark is not None and self.watermark.is_ours

    def closing(
        self, *, is_still: bool, size: tuple[int, int] | None = None, exact: Frame | None = None
    ) -> Callable[[Path], None]:
        """What a whole file goes through before it gets its name. It raises MarkMissing, or DiskFull.

        `size` is that of the frames as marked, if the file's may differ; `exact` is a frame that loses nothing.
        """

        def close(path: Path) -> None:
            if self.signer is not None:
                self.notes.extend(sign_in_place(path, self.signer, self.said))
            stored = read_stored_marks(path)
            require_marks(read_marks(stored.xmp, stored.tags), self.marks, is_still=is_still)
            # Not every picture can hold the watermark; one that did must still do so.
            wanted = watermark_of(self.said.produce_id)
            self.watermark = read_back(path, wanted, size)
            if not self.watermark.is_ours and exact is not None and is_in_frame(exact, wanted):
                raise MarkMissing("the invisible watermark is missing or altered")
            self.notes.extend(lost_watermark_notes(self.watermark))

        return close


def sign_in_place(path: Path, signer: ContentSigner, said: Statement) -> tuple[str, ...]:
    """Sign the file `path` where its format can hold a signature, and read it back from there. Returns notes.

    The file stays the one that its owner holds locked. Raises MarkMissing, DiskFull, OutputNotWritable.
    """
    media_type = FORMATS.get(sniff(path).format_name)
    if media_type is None:
        return ()
    with writing_failures(path), path.open("r+b") as file, _scratch(path) as signed:
        careful = _Careful(signed)
        try:
            notes = signer.sign(media_type, file, cast("IO[bytes]", careful), said)
        finally:
            careful.raise_failure()
        signed.seek(0)
        file.seek(0)
        shutil.copyfileobj(signed, file, _BLOCK_BYTES)
        file.truncate()
        file.flush()
        signer.require_signed(media_type, file, said)
    return notes


def ingredient_of(role: Role, path: Path) -> Ingredient:
    """What is signed about an input, for a process that may read it."""
    name = sniff(path).format_name
    media_type = FORMATS.get(name) or _OTHER_FORMATS.get(name, _UNNAMED_FORMAT)
    return Ingredient(role, media_type, _own_label(path))


def statement_of(
    request: RunRequest, plan: Plan, produce_id: str, now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ingredient: Callable[[Role, Path], Ingredient] = ingredient_of,
) -> Statement:  # fmt: skip
    """What is signed about the output of a request, whose inputs have been looked at in the cage.

    `ingredient` is asked for the target, then for the sources in their order.
    """
    people = [image for person in request.sources for image in person.images]
    given: list[tuple[Role, Path]] = [("target", request.target), *(("source", path) for path in people)]
    return Statement(
        produce_id=produce_id,
        made_at=now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        steps=tuple(step.name for step in plan.frame_steps),
        inputs=tuple(ingredient(role, path) for role, path in given),
    )


def _own_label(path: Path) -> AigcLabel | None:
    """The AIGC label that an input came with. Most have none, and then nothing of them is decoded for it."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(AIGC_TAG.encode()) < 0:
                return None
        stored = read_stored_marks(path)
    except (BadMedia, OSError, ValueError):
        return None  # whoever reads the input itself says what is wrong with it
    return read_marks(stored.xmp, stored.tags).label


def _scratch(path: Path) -> IO[bytes]:
    """A file without a name: nothing is left of it when this process is killed."""
    return io.BytesIO() if path.stat().st_size <= _IN_MEMORY_BYTES else tempfile.TemporaryFile(dir=path.parent)


class _Careful:
    """What the signing library needs of a file. It tells only that a write failed; this remembers why."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._failure: OSError | None = None
        self.read, self.seek, self.tell = file.read, file.seek, file.tell
        self.flush, self.truncate = file.flush, file.truncate

    def write(self, content: bytes) -> int:
        try:
            return self._file.write(content)
        except OSError as error:
            self._failure = error
            raise

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
