"""The chunks of a PNG file: walked without decoding, and put in where a library cannot.

Decides how PNG is laid out; must not know pixels.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER_END = 33
"""After the signature and IHDR."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk; `body` is empty for the kinds that hold pixels, which are not read."""

    kind: bytes
    body: bytes


_PIXELS = (b"IDAT", b"fdAT")
_LARGEST_BODY = 1 << 20


def chunks(file: BinaryIO) -> Iterator[Chunk]:
    """The chunks of `file`, from its start; ends quietly where the file is cut or a chunk is absurdly large."""
    file.seek(len(SIGNATURE))
    while len(head := file.read(8)) == 8:
        size, kind = struct.unpack(">I4s", head)
        if kind in _PIXELS or size > _LARGEST_BODY:
            file.seek(size + 4, 1)
            yield Chunk(kind, b"")
            continue
        body = file.read(size)
        file.seek(4, 1)
        yield Chunk(kind, body)
        if kind == b"IEND":
            return


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk as it is stored."""
    return struct.pack(">I4s", len(body), kind) + body + struct.pack(">I", zlib.crc32(kind + body))


def text_chunk(key: str, text: str) -> bytes:
    """An iTXt chunk, not compressed, without language."""
    return chunk(b"iTXt", key.encode("latin-1", "replace") + b"\0\0\0\0\0" + text.encode("utf-8"))


def xmp_chunk(packet: bytes) -> bytes:
    """The iTXt chunk in which XMP is stored."""
    return chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet)


def profile_chunk(profile: bytes) -> bytes:
    """The iCCP chunk of an ICC profile."""
    return chunk(b"iCCP", b"ICC profile\0\0" + zlib.compress(profile))


def with_chunks(png: bytes, stored: bytes) -> bytes:
    """`png` with the chunks `stored` right after its header."""
    return png[:_HEADER_END] + stored + png[_HEADER_END:]
