"""The XMP packet: right namespaces, readable by an ordinary XML parser, and hostile packets are refused cheaply."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.provenance.aigc import AigcLabel
from secondface.provenance.xmp import DIGITAL_SOURCE_TYPE, IPTC_EXTENSION, TC260, parse_xmp, xmp_packet

LABEL = AigcLabel(content_producer="a<b>&\"c'", produce_id="run-42")
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def wrapped(inside: str, attributes: str = "") -> bytes:
    return (
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{RDF}"><rdf:Description xmlns:T="{TC260}" '
        f'xmlns:i="{IPTC_EXTENSION}" {attributes}>{inside}</rdf:Description></rdf:RDF></x:xmpmeta>'
    ).encode()


def test_an_ordinary_parser_finds_both_properties() -> None:
    tree = ET.fromstring(xmp_packet(LABEL))
    description = tree.find(f".//{{{RDF}}}Description")
    assert description is not None
    assert description.findtext(f"{{{IPTC_EXTENSION}}}DigitalSourceType") == DIGITAL_SOURCE_TYPE
    assert description.findtext(f"{{{TC260}}}AIGC") == LABEL.to_json()


def test_the_packet_is_read_back_also_with_padding() -> None:
    marks = parse_xmp(b"\x00\n" + xmp_packet(LABEL) + b"   \n\x00\x00")
    assert marks.aigc == [LABEL.to_json()]
    assert marks.digital_source_types == [DIGITAL_SOURCE_TYPE]


def test_properties_stored_as_attributes_count_too() -> None:
    marks = parse_xmp(wrapped("<T:AIGC>one</T:AIGC>", 'T:AIGC="two" i:DigitalSourceType="somewhere"'))
    assert sorted(marks.aigc) == ["one", "two"]
    assert marks.digital_source_types == ["somewhere"]


def test_a_property_of_the_same_name_elsewhere_does_not_count() -> None:
    assert parse_xmp(b'<x xmlns="urn:other"><AIGC>no</AIGC></x>').aigc == []


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><x>&b;</x>'
FETCH = b'<!DOCTYPE x [<!ENTITY a SYSTEM "http://127.0.0.1:9/x">]><x>&a;</x>'


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (BOMB, "document type"),
        (FETCH, "document type"),
        (b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>', "document type"),
        (BOMB.decode().encode("utf-16"), "document type"),
        (b"<x>" * 200, "nested"),
        (b"<x>" + b" " * (1 << 20) + b"</x>", "too large"),
        (b"<x>&undefined;</x>", "damaged"),
        (b"<x", "damaged"),
        (b"", "damaged"),
        (b"\xff\xfe\xfa", "damaged"),
    ],
)
def test_hostile_packets_are_refused_with_the_reason(packet: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_xmp(packet)


@given(st.binary(max_size=300) | st.binary(max_size=80).map(lambda inside: b"<x>" + inside + b"</x>"))
def test_no_bytes_do_worse_than_a_value_error(packet: bytes) -> None:
    try:
        parse_xmp(packet)
    except ValueError as error:
        assert "XMP packet" in str(error)
