"""What the options of `run` mean for a service; what only this machine can do is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from secondface.cli.money import parse_money
from secondface.cli.run_options import RunOptions
from secondface.errors import InvalidOption, OutputFormatUnsupported

if TYPE_CHECKING:
    from secondface.sdk import JobWords
    from secondface.sdk.inputs import Goal
    from secondface.spec.schemas import RunRequest
    from secondface.spec.service import OutputFormat

_FORMATS: dict[str, OutputFormat] = {
    ".jpg": "jpeg", ".jpeg": "jpeg", ".png": "png", ".webp": "webp", ".avif": "avif", ".tif": "tiff",
    ".tiff": "tiff", ".gif": "gif", ".apng": "apng", ".mp4": "mp4", ".mov": "mov", ".mkv": "mkv", ".webm": "webm",
}  # fmt: skip
_ONLY_HERE = ("device", "max_faces", "decoder", "encoder")
"""Options that speak of this machine."""


def job_words(
    request: RunRequest, options: RunOptions
) -> tuple[list[Path], list[tuple[int, Goal]], JobWords]:  # fmt: skip
    """Sources, mapping and options of a job. Raises InvalidOption, OutputFormatUnsupported."""
    from secondface.sdk import JobWords

    for name in _ONLY_HERE:
        if options[name]:
            raise InvalidOption(
                f"--{name.replace('_', '-')} speaks of this machine; a service decides that itself.", option=name
            )
    ending = request.output.suffix.lower()
    if ending not in _FORMATS:
        raise OutputFormatUnsupported(f"{request.output.name}: {', '.join(_FORMATS)}")
    mapping: list[tuple[int, Goal]] = [
        (each.source, each.like if each.like is not None else each.index or 0) for each in request.mapping
    ]
    words = JobWords(
        same_person=options["same_person"], faces="like" if request.faces.like else str(request.faces),
        restore=request.restore, pipeline=request.pipeline, label=request.label, video=request.video,
        still=request.still, output=_FORMATS[ending], keep_metadata=request.keep_metadata,
        allow_no_face=request.allow_no_face, priority=options["priority"] or 0, deadline_s=options["deadline"],
        likeness_confirmed=options["likeness_confirmed"],
    )  # fmt: skip
    if options["tier"]:
        words["tier"] = options["tier"]
    if options["market"]:
        words["market"] = options["market"]
    if options["max_cost"] is not None:  # an empty word is a shell's variable that was never set, and no limit
        words["max_cost_micros"] = parse_money("--max-cost", options["max_cost"])
    return [image for person in request.sources for image in person.images], mapping, words
