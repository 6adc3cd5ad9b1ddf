"""What -t names: one file, several, a folder or a pattern.

Decides that a literal name wins over a pattern, what in a folder is no media, and when the output is a folder.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from secondface.errors import FileUnreadable, InvalidOption, SecondfaceError

MEDIA_ENDINGS = frozenset(
    [
        ".mp4",
        ".m4v",
        ".mov",
        ".mkv",
        ".webm",
        ".avi",
        ".wmv",
        ".flv",
        ".mpg",
        ".mpeg",
        ".ts",
        ".m2ts",
        ".mts",
        ".3gp",
        ".3g2",
        ".mxf",
        ".vob",
        ".ogv",
        ".y4m",
        ".jpg",
        ".jpeg",
        ".jpe",
        ".png",
        ".apng",
        ".webp",
        ".gif",
        ".bmp",
        ".tif",
        ".tiff",
        ".avif",
        ".heic",
        ".heif",
        ".jp2",
    ]
)
"""A file that is named like this and cannot be read is reported, not passed over."""


@dataclass(slots=True)
class Gathered:
    """The targets in order, and what lay beside them and was passed over."""

    into_folder: bool
    """Whether each target becomes a file of its own name in the output folder."""
    files: list[Path] = field(default_factory=list[Path])
    passed_over: list[Path] = field(default_factory=list[Path])
    """Files that are neither pictures nor videos."""

    def add(self, path: Path, *, found: bool) -> None:
        """Take a file once; `found` in a folder or by a pattern, it must look like media."""
        if path in self.files or path in self.passed_over:
            return
        if found and not _may_be_media(path):
            self.passed_over.append(path)
        else:
            self.files.append(path)


def gather(words: Sequence[str], output: str) -> Gathered:
    """The files that the words name. Raises InvalidOption or FileUnreadable where they name none."""
    gathered = Gathered(len(words) > 1 or _is_folder_name(output))
    for word in words:
        path = Path(word)
        if word and path.is_dir():
            gathered.into_folder = True
            for child in sorted(path.iterdir()):
                if child.is_file() and not child.name.startswith("."):
                    gathered.add(child, found=True)
        elif not _is_pattern(word) or os.path.lexists(word):
            gathered.add(path, found=False)
        else:
            gathered.into_folder = True
            _add_matches(gathered, word, Path(output))
    if not gathered.files:
        raise InvalidOption(f"--target {' '.join(words)}: there is no picture and no video.", option="target")
    return gathered


def _add_matches(gathered: Gathered, pattern: str, output: Path) -> None:
    # glob itself leaves out hidden files
    matches = sorted(Path(match) for match in glob.glob(pattern, recursive=True))  # noqa: PTH207 - takes any pattern
    # What an earlier run made of the others is no target of the next one.
    files = [match for match in matches if match.is_file() and match.parent.absolute() != output.absolute()]
    if not files:
        raise FileUnreadable(f"{pattern}: no file matches", path=pattern)
    for match in files:
        gathered.add(match, found=True)


def _is_pattern(word: str) -> bool:
    return any(sign in word for sign in "*?[")


def _is_folder_name(output: str) -> bool:
    return output.endswith(("/", os.sep))


def _may_be_media(path: Path) -> bool:
    from secondface.media.signatures import sniff

    if path.suffix.lower() in MEDIA_ENDINGS:
        return True
    try:
        sniff(path)
    except SecondfaceError:
        return False
    return True
