"""The XMP packet of a still: written with the marks, and read again, also from files that mean harm.

Decides the packet's form; must not know image formats (`media` puts the packet into the file and takes it out).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape

from secondface.provenance.aigc import AigcLabel

DIGITAL_SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia"
IPTC_EXTENSION = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
TC260 = "http://www.tc260.org.cn/ns/AIGC/1.0/"

_LARGEST_PACKET_BYTES = 1 << 20
_DEEPEST = 64
_PACKET = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:Iptc4xmpExt="{iptc}" xmlns:TC260="{tc260}">
   <Iptc4xmpExt:DigitalSourceType>{source_type}</Iptc4xmpExt:DigitalSourceType>
   <TC260:AIGC>{aigc}</TC260:AIGC>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="r"?>"""


def xmp_packet(label: AigcLabel) -> bytes:
    """A whole XMP packet, UTF-8, with the AIGC label and the IPTC digital source type and nothing else."""
    text = _PACKET.format(
        iptc=IPTC_EXTENSION, tc260=TC260, source_type=escape(DIGITAL_SOURCE_TYPE), aigc=escape(label.to_json())
    )
    return text.encode()


@dataclass(slots=True)
class XmpMarks:
    """The marks in a packet; more than one AIGC text means that something else labelled the file too."""

    aigc: list[str] = field(default_factory=list[str])
    digital_source_types: list[str] = field(default_factory=list[str])


def parse_xmp(packet: bytes) -> XmpMarks:
    """The marks in a packet. Raises ValueError for one that is damaged, too large, or declares a document type.

    Without a document type there are no entities, so nothing can expand or be fetched; nesting is limited too.
    """
    if len(packet) > _LARGEST_PACKET_BYTES:
        raise ValueError("the XMP packet is too large")
    reader = _PacketReader()
    try:
        reader.parse(packet)
    except expat.ExpatError as error:
        raise ValueError(f"the XMP packet is damaged: {error}") from error
    return reader.marks


class _PacketReader:
    """Keeps the text of the wanted properties, whether stored as elements or as attributes."""

    def __init__(self) -> None:
        self.marks = XmpMarks()
        self._wanted = {
            f"{TC260} AIGC": self.marks.aigc,
            f"{IPTC_EXTENSION} DigitalSourceType": self.marks.digital_source_types,
        }
        self._depth = 0
        self._open: list[str] | None = None
        self._parser = expat.ParserCreate("utf-8", " ")  # files store UTF-8, whatever the packet declares
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def parse(self, packet: bytes) -> None:
        self._parser.Parse(packet.strip(b"\x00 \t\r\n"), True)

    def _refuse_doctype(self, _name: str, _system: str | None, _public: str | None, _internal: bool) -> None:
        raise ValueError("the XMP packet declares a document type")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("the XMP packet is nested too deeply")
        for key, value in attributes.items():
            if key in self._wanted:
                self._wanted[key].append(value.strip())
        if name in self._wanted:
            self._open = self._wanted[name]
            self._open.append("")

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name in self._wanted and self._open:
            self._open[-1] = self._open[-1].strip()
            self._open = None

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1] += text
