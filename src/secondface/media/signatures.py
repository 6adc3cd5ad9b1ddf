"""What a file is, from its first bytes, never from its name.

Decides which formats are let in at all: anything that could name another file (playlists, scripts, SVG, HTML) or that
is only text matches nothing here. Must not decode.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from secondface.errors import FileUnreadable, MediaEmpty, MediaUnsupported
from secondface.media.handed import descriptor_of, open_bytes, shown

Kind = Literal["still", "video"]
SNIFFED_BYTES = 4096

_STILL_BRANDS = {b"avif": "AVIF", b"avis": "AVIF"} | dict.fromkeys(
    (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), "HEIF"
)
_MP4_BOXES = (b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"styp", b"sidx", b"moof")
_PREFIXES: tuple[tuple[bytes, Kind, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "still", "PNG"),
    (b"\xff\xd8\xff", "still", "JPEG"),
    (b"GIF87a", "still", "GIF"),
    (b"GIF89a", "still", "GIF"),
    (b"II*\x00", "still", "TIFF"),
    (b"MM\x00*", "still", "TIFF"),
    (b"BM", "still", "BMP"),
    (b"\x1aE\xdf\xa3", "video", "matroska,webm"),
    (b"FLV\x01", "video", "flv"),
    (b"OggS", "video", "ogg"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video", "asf"),
    (b"\x00\x00\x01\xba", "video", "mpeg"),
    (b"\x06\x0e\x2b\x34\x02\x05\x01\x01", "video", "mxf"),
)


@dataclass(frozen=True, slots=True)
class Signature:
    """What the first bytes say: the kind, and the name of the one format that may read the file.

    Stills carry Pillow's name of the format, videos FFmpeg's name of the demuxer.
    """

    kind: Kind
    format_name: str


_RIFF = {b"WEBP": Signature("still", "WEBP"), b"AVI ": Signature("video", "avi")}


def sniff(path: Path) -> Signature:
    """The signature of the ordinary file `path`; FileUnreadable, MediaEmpty or MediaUnsupported."""
    try:
        if descriptor_of(path) is None and path.exists() and not path.is_file():
            # a pipe or a device could block for ever or never end
            head = None
        else:
            with open_bytes(path) as file:
                head = file.read(SNIFFED_BYTES)
    except (OSError, ValueError) as cause:
        raise FileUnreadable(f"{shown(path)}: {getattr(cause, 'strerror', None) or cause}") from cause
    if head is None:
        raise FileUnreadable(f"{shown(path)}: not an ordinary file")
    if not head:
        raise MediaEmpty(f"{path.name}: 0 bytes")
    found = signature_of(head)
    if found is None:
        raise MediaUnsupported(f"{path.name}: {_what_instead(head)}")
    return found


def signature_of(head: bytes) -> Signature | None:
    """The signature of a file that begins with `head`, or None."""
    for prefix, kind, name in _PREFIXES:
        if head.startswith(prefix):
            return Signature(kind, name)
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        return _ftyp(head)
    if head[4:8] in _MP4_BOXES:
        return Signature("video", "mov,mp4,m4a,3gp,3g2,mj2")
    if any(_is_transport_stream(head, packet, start) for packet, start in ((188, 0), (192, 4), (204, 0))):
        return Signature("video", "mpegts")
    return None


_REFUSED = (
    (b"#extm3u", "a playlist"), (b"ffconcat", "a concat script"), (b"<svg", "SVG"), (b"<?xml", "XML"),
    (b"<!doctype html", "HTML"), (b"<html", "HTML"), (b"%pdf", "PDF"),
)  # fmt: skip


def _ftyp(head: bytes) -> Signature:
    size = min(int.from_bytes(head[:4], "big"), len(head))
    brands = [head[8:12]] + [head[at : at + 4] for at in range(16, size - 3, 4)]
    if brands[0] in _STILL_BRANDS:
        # a generic main brand leaves the codec to the compatible ones
        generic = brands[0] in (b"mif1", b"msf1")
        name = "AVIF" if generic and b"avif" in brands else _STILL_BRANDS[brands[0]]
        return Signature("still", name)
    return Signature("video", "mov,mp4,m4a,3gp,3g2,mj2")


def _is_transport_stream(head: bytes, packet: int, start: int) -> bool:
    marks = head[start::packet]
    return len(marks) >= 3 and all(mark == 0x47 for mark in marks)


def _what_instead(head: bytes) -> str:
    """A few words on what the refused file looks like."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for start, words in _REFUSED:
        if text.startswith(start):
            return f"this is {words}, not a picture or a video"
    printable = sum(byte in b"\t\r\n" or 32 <= byte < 127 or byte >= 128 for byte in head)
    if printable == len(head):
        return "this is text, not a picture or a video"
    return "its first bytes match no picture or video format that is supported"
