"""Whether a file ends before its own structure says that it does.

Decides by lengths that the format itself states: boxes, chunks, segments, pages, tags. Formats that state none (MPEG
streams) can be told only when they end within a packet. Reads headers alone; must not decode.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from secondface.media.handed import open_bytes, size_of

_MOST_PARTS = 100_000
"""Boxes, chunks or blocks that are walked over before the rest is believed."""
_BOXES = (
    b"ftyp", b"styp", b"moov", b"mdat", b"moof", b"mfra", b"sidx", b"free", b"skip", b"wide", b"meta", b"udta",
    b"uuid", b"pnot", b"pdin", b"emsg", b"prft",
)  # fmt: skip
_ASF_FILE_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
_TAIL_BYTES = 1 << 17
_LARGEST_FILE = 1 << 50
_FLASH_TAGS = (8, 9, 18)
"""Sound, picture, description."""
_PACK = b"\0\0\1\xba"
_PROGRAM_END = 0xB9


def note_on_end(path: Path, format_name: str) -> str | None:
    """A note for the user when `path`, a file of that format (as sniff() names it), ends early. Raises OSError."""
    measure = _STATED_SIZE.get(format_name)
    size = size_of(path)
    if measure is None:
        return None
    with open_bytes(path) as file:
        stated = measure(file, size)
    if stated is None or stated <= size:
        return None
    return f"the file ends early: {size} of {stated} bytes are there, what came after them is lost"


def _boxes(file: BinaryIO, size: int) -> int | None:
    """ISO base media (MP4, MOV, HEIC, AVIF): the end of the last box."""
    at = 0
    for _ in range(_MOST_PARTS):
        file.seek(at)
        head = file.read(16)
        if len(head) < 8 or not head[4:8].isascii():
            return None
        length = int.from_bytes(head[:4], "big")
        if length == 1 and len(head) == 16:
            length = int.from_bytes(head[8:], "big")
        if length < 8:
            return None
        at += length
        if at >= size:
            # bytes that were hung on behind the last box look like an endless one
            return at if head[4:8] in _BOXES else None
    return None


def _matroska(file: BinaryIO, size: int) -> int | None:  # noqa: ARG001  one shape for all formats
    """Matroska, WebM: the end of the segment; None where it is open (live recordings)."""
    head = file.read(4096)
    header = _ebml_length(head, 4)
    if header is None or header[0] is None:
        return None
    at = header[0] + header[1]
    if head[at : at + 4] != b"\x18\x53\x80\x67":
        return None
    segment = _ebml_length(head, at + 4)
    return None if segment is None or segment[0] is None else segment[0] + segment[1]


def _ebml_length(head: bytes, at: int) -> tuple[int | None, int] | None:
    """Length (None: unknown) and where the content begins."""
    if at >= len(head) or not head[at]:
        return None
    count = 9 - head[at].bit_length()
    value = int.from_bytes(head[at : at + count], "big") & ((1 << 7 * count) - 1)
    return (None if value == (1 << 7 * count) - 1 else value), at + count


def _riff(file: BinaryIO, size: int) -> int | None:  # noqa: ARG001
    """WebP and AVI: the end of the first RIFF chunk."""
    return 8 + int.from_bytes(file.read(8)[4:], "little")


def _png(file: BinaryIO, size: int) -> int | None:
    """PNG: the end of IEND, or of the chunk that reaches past the end of the file."""
    at = 8
    for _ in range(_MOST_PARTS):
        file.seek(at)
        head = file.read(8)
        if len(head) < 8:
            return size + 12
        at += 12 + int.from_bytes(head[:4], "big")
        if head[4:] == b"IEND" or at > size:
            return at
    return None


def _gif(file: BinaryIO, size: int) -> int | None:
    """GIF: the end of the trailer, or one byte more than there is."""
    screen = file.read(13)
    if len(screen) < 13:
        return 14
    file.seek(_table_bytes(screen[10]), 1)
    for _ in range(_MOST_PARTS):
        match file.read(1):
            case b"\x3b":
                return file.tell()
            case b"\x21":
                file.seek(1, 1)
            case b"\x2c":
                descriptor = file.read(9)
                if len(descriptor) < 9:
                    return size + 1
                file.seek(_table_bytes(descriptor[8]) + 1, 1)
            case b"":
                return size + 1
            case _:
                return None
        while length := file.read(1):
            if length == b"\0":
                break
            file.seek(length[0], 1)
    return None


def _table_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _asf(file: BinaryIO, size: int) -> int | None:  # noqa: ARG001
    """ASF (WMV): the size in the file properties, which live recordings leave open."""
    head = file.read(_TAIL_BYTES)
    at = head.find(_ASF_FILE_PROPERTIES)
    properties = head[at : at + 92] if at >= 0 else b""
    if len(properties) < 92 or properties[88] & 1:
        return None
    return int.from_bytes(properties[40:48], "little")


def _ogg(file: BinaryIO, size: int) -> int | None:
    """Ogg: the end of the last page."""
    start = max(0, size - _TAIL_BYTES)
    file.seek(start)
    tail = file.read(_TAIL_BYTES)
    at = tail.rfind(b"OggS")
    if at < 0 or len(tail) < at + 27:
        return None
    segments = tail[at + 27 : at + 27 + tail[at + 26]]
    return start + at + 27 + tail[at + 26] + sum(segments)


def _transport(file: BinaryIO, size: int) -> int | None:
    """MPEG-TS: the end of the packet in which the file ends."""
    head = file.read(4096)
    for packet, first in ((188, 0), (192, 4), (204, 0)):
        if head[first::packet][:3] == b"GGG":
            return -(-size // packet) * packet
    return None


def _flash(file: BinaryIO, size: int) -> int | None:
    """FLV: the size in its own description, or the end of the tag in which the file ends."""
    head = file.read(4096)
    at = head.find(b"filesize\0")
    if at >= 0 and len(head) >= at + 17:
        stated = struct.unpack(">d", head[at + 9 : at + 17])[0]
        # live recordings leave it at 0; more than a disk holds is none
        if 0 < stated < _LARGEST_FILE:
            return int(stated)
    at = int.from_bytes(head[5:9], "big") + 4
    for _ in range(_MOST_PARTS):
        file.seek(at)
        tag = file.read(4)
        if not tag or tag[0] & 0x1F not in _FLASH_TAGS:
            return None
        if len(tag) < 4:
            return size + 1
        at += 15 + int.from_bytes(tag[1:], "big")
        if at > size:
            return at
    return None


def _program(file: BinaryIO, size: int) -> int | None:
    """MPEG program streams: the end of the packet in which the file ends."""
    start = max(0, size - _TAIL_BYTES)
    file.seek(start)
    tail = file.read(_TAIL_BYTES)
    at = tail.find(_PACK)
    if at < 0 or len(tail) < at + 14:
        return None
    while at + 4 <= len(tail):
        if tail[at : at + 3] != b"\0\0\1" or tail[at + 3] < _PROGRAM_END:
            return None
        code, rest = tail[at + 3], tail[at + 4 : at + 14]
        if code == _PROGRAM_END:
            return start + at + 4
        if code == _PACK[3]:
            # MPEG-2 says how many bytes it is stuffed with
            is_second = bool(rest) and rest[0] & 0xC0 == 0x40
            at += 14 + (rest[9] & 7 if len(rest) == 10 else 0) if is_second else 12
        elif len(rest) >= 2:
            at += 6 + int.from_bytes(rest[:2], "big")
        else:
            at += 6
    return None if at == len(tail) else start + max(at, len(tail) + 1)


_STATED_SIZE: Mapping[str, Callable[[BinaryIO, int], int | None]] = {
    "mov,mp4,m4a,3gp,3g2,mj2": _boxes, "HEIF": _boxes, "AVIF": _boxes, "matroska,webm": _matroska, "WEBP": _riff,
    "avi": _riff, "PNG": _png, "GIF": _gif, "asf": _asf, "ogg": _ogg, "mpegts": _transport,
    "flv": _flash, "mpeg": _program,
}  # fmt: skip
