"""Cover art: taken out of a file, and put into a finished one.

Decides what of it is kept (the picture, not its own metadata) and where each container has it. FFmpeg's MP4 muxer
writes either cover art or tags of other names, and the marks are tags of other names.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from av.stream import Disposition

from secondface.media.containers import open_input, reading_failures
from secondface.media.mp4_boxes import Box, box, boxes, replace_index
from secondface.media.video_facts import codec_name

_KINDS = {"mjpeg": ("cover.jpg", "image/jpeg", 13), "png": ("cover.png", "image/png", 14)}
"""By codec: a name, a type, and the type's number in MP4."""
_MOST_BYTES = 16 * 2**20
_KEPT_JPEG_SEGMENTS = (0xE0, 0xE2, 0xEE)
"""Of the application segments: JFIF, the ICC profile, and Adobe's note on colours."""
_DROPPED_PNG_CHUNKS = (b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME")


@dataclass(frozen=True, slots=True)
class CoverArt:
    """One picture that stands for the file; `index` is that of its stream."""

    index: int
    name: str
    mime_type: str
    code: int
    data: bytes


def cover_art(path: Path, format_name: str) -> list[CoverArt]:
    """The cover art of `path`, without EXIF, comments and other text. Raises BadMedia errors."""
    with open_input(path, format_name) as container, reading_failures(path, "cover art"):
        attached = {each.index for each in container.streams.video if each.disposition & Disposition.attached_pic}
        found: list[CoverArt] = []
        if not attached:
            return found
        for packet in container.demux():
            # attached pictures come first, before anything is read
            if packet.stream.index not in attached or len(found) == len(attached):
                break
            kind = _KINDS.get(codec_name(packet.stream))
            attached.discard(packet.stream.index)
            if kind is not None and 0 < packet.size <= _MOST_BYTES:
                found.append(CoverArt(packet.stream.index, *kind, _bare(bytes(packet))))
        return found


def add_to_mp4(path: Path, covers: list[CoverArt]) -> None:
    """Put `covers` into the finished MP4 or MOV file `path`, in place. Raises OSError, and ValueError if it is not one.

    The cover goes where players look for it, the marks to the same place one level up, where FFmpeg reads both.
    """
    items = b"".join(box(b"data", struct.pack(">2I", each.code, 0), each.data) for each in covers)
    replace_index(path, lambda index: _with_cover(index, box(b"covr", items)))


def _with_cover(index: bytes, cover: bytes) -> bytes:
    children = boxes(index)
    user_data = [child for child in children if child.kind == b"udta"]
    inner = boxes(user_data[0].body) if user_data else []
    old = next((child for child in inner if child.kind == b"meta"), None)
    others = [child for child in inner if child is not old]
    rest = [child for child in children if child not in user_data]
    if old is not None and b"mdir" in old.body[:32]:
        meta = [_appended(part, cover) for part in boxes(old.body[4:])]
        new = box(b"meta", old.body[:4], *(part.whole for part in meta))
        outside = b""
    else:
        new = box(b"meta", bytes(4), _handler(), box(b"ilst", cover))
        outside = old.whole if old is not None else b""
    return b"".join(
        [*(child.whole for child in rest), outside, box(b"udta", *(each.whole for each in others), new)]
    )  # fmt: skip


def _appended(part: Box, cover: bytes) -> Box:
    return Box(part.kind, part.body + cover) if part.kind == b"ilst" else part


def _handler() -> bytes:
    return box(b"hdlr", bytes(8), b"mdirappl", bytes(9))


def _bare(data: bytes) -> bytes:
    """`data` without what a picture says beside its pixels."""
    if data.startswith(b"\xff\xd8"):
        return _bare_jpeg(data)
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _bare_png(data)
    return data


def _bare_jpeg(data: bytes) -> bytes:
    kept, at = [data[:2]], 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        kind, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big") + 2
        if kind == 0xFF:
            at += 1
            continue
        if kind in _KEPT_JPEG_SEGMENTS or not (0xE0 <= kind <= 0xEF or kind == 0xFE):
            kept.append(data[at : at + length])
        at += length
    # what follows the end of the picture is no picture
    end = data.rfind(b"\xff\xd9")
    return b"".join([*kept, data[at : end + 2 if end > at else None]])


def _bare_png(data: bytes) -> bytes:
    kept, at = [data[:8]], 8
    while at + 12 <= len(data):
        length, kind = int.from_bytes(data[at : at + 4], "big") + 12, data[at + 4 : at + 8]
        if kind not in _DROPPED_PNG_CHUNKS:
            kept.append(data[at : at + length])
        at += length
        if kind == b"IEND":
            break
    return b"".join(kept)
