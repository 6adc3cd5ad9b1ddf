"""Whether the disk has room for the outputs, before work is spent on them.

Decides a careful guess from the size of the inputs: too little is refused, a doubtful case is tried.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from secondface.errors import DiskFull, SecondfaceError
from secondface.media.signatures import sniff
from secondface.spec.schemas import RunRequest

_OF_A_STILL = 2
"""A picture may be packed less tightly than it was, a PNG of a JPEG for one; a video is about as large as before."""


def require_room(requests: Sequence[RunRequest]) -> None:
    """Raises DiskFull, with what is needed and what is free, if the outputs surely have no room."""
    needed: dict[Path, int] = {}
    for request in requests:
        folder = request.output.absolute().parent
        needed[folder] = needed.get(folder, 0) + _expected_bytes(request)
    for folder, size in needed.items():
        try:
            free = shutil.disk_usage(folder).free
        except OSError:
            # Whether the folder can be written to is looked at elsewhere.
            continue
        if size > free:
            raise DiskFull(
                f"{folder}: about {_in_words(size)} are needed, {_in_words(free)} are free.",
                needed_bytes=size, free_bytes=free,
            )  # fmt: skip


def _expected_bytes(request: RunRequest) -> int:
    if request.video.begin is not None or request.video.end is not None or request.video.scale is not None:
        # A part of a video may be as small as one likes.
        return 0
    try:
        size = request.target.stat().st_size
        return size * (_OF_A_STILL if sniff(request.target).kind == "still" else 1)
    except (OSError, SecondfaceError):
        return 0


def _in_words(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
