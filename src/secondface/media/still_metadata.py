"""What a picture file says beside its pixels, and what of it may go into an output.

Decides which parts describe the old pixels (and so never go on) and how the input's XMP and ours become one packet.
Nothing of this is written unless the caller asks for it. Must not know pixels.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast
from xml.dom import minidom
from xml.parsers.expat import ExpatError

from PIL import ExifTags, Image

from secondface.media.still_files import exif_of

_IPTC_RESOURCE, _IPTC_TAG, _XMP_TAG = 0x0404, 33723, 700
_PIXEL_TAGS = frozenset(
    {256, 257, 258, 259, 262, 266, 273, 274, 277, 278, 279, 284, 288, 289, 317, 320, 322, 323, 324, 325, 330, 338, 339,
     347, 512, 513, 514, 529, 530, 531, 532, _XMP_TAG, _IPTC_TAG, 34377, 34665, 34675, 34853, 37724, 40965}
)  # fmt: skip
"""How pixels are stored, other metadata, and where directories lie: all of it untrue in another file."""
_SIZE_TAGS = (ExifTags.Base.ExifImageWidth, ExifTags.Base.ExifImageHeight, ExifTags.Base.ExifInteroperabilityOffset)
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_STALE = {
    ("http://ns.adobe.com/tiff/1.0/", "Orientation"), ("http://ns.adobe.com/xap/1.0/", "Thumbnails"),
    ("http://ns.adobe.com/xmp/note/", "HasExtendedXMP"), ("http://purl.org/dc/terms/", "provenance"),
}  # fmt: skip
_STALE_SPACES = (
    "http://ns.adobe.com/hdr-gain-map/1.0/", "http://ns.apple.com/HDRGainMap/1.0/", "http://ns.google.com/photos/",
)  # fmt: skip
"""Extra pictures behind the picture, which the output does not have."""
_XMP_KEYS = ("XML:com.adobe.xmp", "xmp")
"""The key of a PNG's XMP, and the name that Pillow has for it: a text of that name would stand before our packet."""
_LARGEST_PACKET = 1 << 20
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class KeptMetadata:
    """What --keep-metadata hands on; `exif` without its `Exif` header, `texts` by PNG's keys."""

    exif: bytes | None = None
    xmp: bytes | None = None
    iptc: bytes | None = None
    comment: bytes | None = None
    texts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StillCoding:
    """How a picture was stored, as far as its output follows it."""

    depth: int = 8
    """10 and 12 only of HEIF and AVIF."""
    is_gray: bool = False
    profile: bytes | None = None
    """The ICC profile in which a deep picture is, and stays."""
    cicp: tuple[int, int] | None = None
    """H.273 primaries and transfer in which a deep picture is, and stays."""
    was_tagged: bool = False
    """Whether its colours were described: the output then says that it is sRGB."""
    quality: int | None = None
    """Of a JPEG, by its tables."""
    kept: KeptMetadata = field(default_factory=KeptMetadata)


def collect(picture: Image.Image) -> KeptMetadata:
    """What the opened `picture` says, less what belongs to its pixels."""
    info = cast("dict[str, Any]", picture.info)
    notes: list[str] = []
    try:
        exif = _exif(picture)
    except (ValueError, TypeError, KeyError, struct.error, SyntaxError, OverflowError, AttributeError):
        exif, notes = None, ["its EXIF is damaged and not kept"]
    xmp = info.get("xmp") or info.get("XML:com.adobe.xmp")
    texts: dict[str, Any] = getattr(picture, "text", None) or {}
    comment = info.get("comment")
    return KeptMetadata(
        exif,
        xmp.encode("utf-8", "replace") if isinstance(xmp, str) else xmp if isinstance(xmp, bytes) else None,
        _iptc(picture),
        comment.encode("utf-8", "replace") if isinstance(comment, str) else comment,
        tuple((key, str(text)) for key, text in texts.items() if key not in _XMP_KEYS),
        tuple(notes),
    )


def _exif(picture: Image.Image) -> bytes | None:
    found = exif_of(picture)
    kept = Image.Exif()
    kept.endian = "<"  # as the TIFF writer wants it
    for tag, value in found.items():
        if tag not in _PIXEL_TAGS:
            kept[tag] = value
    for ifd in (ExifTags.IFD.Exif, ExifTags.IFD.GPSInfo):
        part = {tag: value for tag, value in found.get_ifd(ifd).items() if tag not in _SIZE_TAGS}
        if part:
            kept.get_ifd(ifd).update(part)
            kept[ifd] = part
    return kept.tobytes().removeprefix(b"Exif\0\0") if len(kept) else None


def _iptc(picture: Image.Image) -> bytes | None:
    resources = picture.info.get("photoshop")
    if isinstance(resources, dict):
        return cast("dict[int, bytes]", resources).get(_IPTC_RESOURCE)
    tags: Any = getattr(picture, "tag_v2", None) or {}
    value = tags.get(_IPTC_TAG)
    return value if isinstance(value, bytes) else None


def iptc_segment(iptc: bytes) -> bytes:
    """`iptc` as the APP13 segment of a JPEG."""
    resource = b"8BIM" + struct.pack(">HHI", _IPTC_RESOURCE, 0, len(iptc)) + iptc + b"\0" * (len(iptc) % 2)
    body = b"Photoshop 3.0\0" + resource
    return b"\xff\xed" + struct.pack(">H", len(body) + 2) + body


def merged_xmp(ours: bytes, theirs: bytes | None) -> bytes | None:
    """One packet: all of `theirs` but what `ours` says too or what is stale, then ours. None if theirs is unusable."""
    if theirs is None:
        return ours
    old, new = _parsed(theirs), _parsed(ours)
    if old is None or new is None:
        return None
    with_ours = {(str(node.namespaceURI), str(node.localName)) for node in _properties(new)}
    for node in list(_elements(old)):
        for name in [name for name, _ in node.attributes.items() if _is_gone(node.attributes[name], with_ours)]:
            node.removeAttribute(name)
        if _is_gone(node, with_ours) and node.parentNode is not None:
            node.parentNode.removeChild(node)
    root = old.getElementsByTagNameNS(_RDF, "RDF")[0]
    for description in new.getElementsByTagNameNS(_RDF, "Description"):
        root.appendChild(old.importNode(description, True))
    body = old.documentElement.toxml() if old.documentElement is not None else ""
    begin = '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
    return f'{begin}\n{body}\n<?xpacket end="r"?>'.encode()


def _parsed(packet: bytes) -> minidom.Document | None:
    """The packet's tree; None for one that is damaged, too large or too deep, or that declares a document type."""
    if len(packet) > _LARGEST_PACKET or b"<!" in packet.replace(b"<!--", b""):
        return None
    try:
        packet.decode("utf-8")
        # without a document type, which is refused above, XML can name no file and grow no entity
        tree = minidom.parseString(packet.strip(b"\0 \t\r\n"))  # noqa: S318
    except (ExpatError, UnicodeDecodeError, ValueError, RecursionError):
        return None
    return tree if tree.getElementsByTagNameNS(_RDF, "RDF") and _depth(tree) <= _DEEPEST else None


def _depth(tree: Any) -> int:
    level, depth = [tree], 0
    while level:
        level, depth = [child for node in level for child in node.childNodes], depth + 1
    return depth


def _elements(tree: minidom.Document) -> Iterator[Any]:
    yield from tree.getElementsByTagName("*")


def _properties(tree: minidom.Document) -> Iterator[Any]:
    for description in tree.getElementsByTagNameNS(_RDF, "Description"):
        yield from (child for child in description.childNodes if child.nodeType == child.ELEMENT_NODE)


def _is_gone(node: Any, with_ours: set[tuple[str, str]]) -> bool:
    name = (str(node.namespaceURI), str(node.localName))
    return name in with_ours or name in _STALE or name[0].startswith(_STALE_SPACES)
