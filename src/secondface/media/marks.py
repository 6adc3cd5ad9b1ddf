"""The metadata marks as a finished file stores them: a still's XMP packet, a container's tags.

Decides where they are found in a file; what they mean is for `provenance` to say.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO

import pillow_heif
from PIL import Image

from secondface.errors import MediaCorrupt
from secondface.media.containers import legible, open_input, reading_failures
from secondface.media.gif_output import gif_xmp
from secondface.media.handed import descriptor_of, open_bytes
from secondface.media.images import still_info
from secondface.media.signatures import Kind, sniff


@dataclass(frozen=True, slots=True)
class StoredMarks:
    """What a file stores, untouched. A tag of a stream is named with its number: `0.AIGC`."""

    kind: Kind
    xmp: bytes | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])


def read_stored_marks(path: str | os.PathLike[str]) -> StoredMarks:
    """The XMP packet of the still, or the tags of the video, `path`.

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty.
    """
    path = Path(path)
    signature = sniff(path)
    if signature.kind == "video":
        return StoredMarks("video", tags=_tags(path, signature.format_name))
    still_info(path)  # refuses what is too large or has a damaged header
    return StoredMarks("still", xmp=_xmp(path, signature.format_name))


def _xmp(path: Path, format_name: str) -> bytes | None:
    packet: object
    try:
        # by an open file, since a caged reader can open no path
        with reading_failures(path, "XMP"), open_bytes(path) as file:
            if format_name == "GIF":
                # Not read: a stranger's GIF may be as long as an upload may be, and the server has one memory.
                descriptor = descriptor_of(path)
                handed = file.fileno() if descriptor is None else descriptor
                with mmap(handed, 0, access=ACCESS_READ) as content:
                    packet = gif_xmp(content)
            elif format_name == "HEIF":
                packet = _heif_xmp(file)
            else:
                with Image.open(file, formats=[format_name]) as picture:
                    if format_name == "PNG":
                        picture.load()  # its text may stand after the pixels
                    # by its own key first: Pillow's name for it can be that of any text in a PNG
                    packet = picture.info.get("XML:com.adobe.xmp") or picture.info.get("xmp")
    except (SyntaxError, RuntimeError, struct.error, zlib.error) as cause:
        raise MediaCorrupt(f"{path.name}, XMP: {cause}") from cause
    if isinstance(packet, str):
        return packet.encode("utf-8", "surrogateescape")
    return packet if isinstance(packet, bytes) and packet else None


def _heif_xmp(file: IO[bytes]) -> object:
    heif = pillow_heif.open_heif(file)  # pyright: ignore[reportUnknownMemberType]: its stubs leave types open
    return heif.info.get("xmp")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _tags(path: Path, format_name: str) -> dict[str, str]:
    with open_input(path, format_name) as container, reading_failures(path, "tags"):
        tags = legible(container.metadata)
        for stream in container.streams:
            tags |= {f"{stream.index}.{key}": value for key, value in legible(stream.metadata).items()}
    return tags
