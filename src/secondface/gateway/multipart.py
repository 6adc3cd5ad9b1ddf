"""multipart/form-data as it comes: part after part, never whole in memory.

Names of files are read and thrown away: what a caller calls a file decides nothing here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from logging import CRITICAL, Logger
from typing import Literal

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from secondface.gateway.refusals import BodyInvalid, BodyTooLarge

MOST_PARTS = 100
_UNHEARD = Logger("multipart", CRITICAL)
"""Strangers could fill the terminal with what is wrong with their bodies; the answer says it to them."""
_Event = tuple[Literal["begin", "data", "end"], bytes]


@dataclass(slots=True)
class Part:
    """One part: its name in the form, and its bytes, which must be taken before the next part comes."""

    name: str
    is_file: bool
    content_type: str
    chunks: AsyncIterator[bytes]

    async def text(self, most_bytes: int) -> str:
        """A part that holds words. Raises BodyTooLarge, BodyInvalid."""
        content = bytearray()
        async for chunk in self.chunks:
            content += chunk
            if len(content) > most_bytes:
                raise BodyTooLarge(f"{self.name}: it takes {most_bytes} bytes.", most_bytes=most_bytes)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BodyInvalid(f"{self.name}: it is not UTF-8.") from error


@dataclass(slots=True)
class _Header:
    name: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)


class _Events:
    """Turns the parser's calls into events, and headers into a part's facts."""

    def __init__(self, boundary: bytes) -> None:
        self.ready: list[_Event] = []
        self.headers: list[dict[bytes, bytes]] = []
        self.ended = False
        self._header = _Header()
        self.parser = MultipartParser(boundary, {
            "on_part_begin": self._part_begin, "on_header_field": self._field, "on_header_value": self._value,
            "on_header_end": self._header_end, "on_headers_finished": lambda: self.ready.append(("begin", b"")),
            "on_part_data": lambda data, start, end: self.ready.append(("data", data[start:end])),
            "on_part_end": lambda: self.ready.append(("end", b"")), "on_end": self._end,
        })  # fmt: skip
        self.parser.logger = _UNHEARD

    def feed(self, chunk: bytes) -> None:
        try:
            self.parser.write(chunk)
        except MultipartParseError as error:
            raise BodyInvalid("The multipart body is not well-formed.") from error

    def _part_begin(self) -> None:
        if len(self.headers) >= MOST_PARTS:
            raise BodyInvalid(f"A form has at most {MOST_PARTS} parts.")
        self.headers.append({})

    def _field(self, data: bytes, start: int, end: int) -> None:
        self._header.name += data[start:end]

    def _value(self, data: bytes, start: int, end: int) -> None:
        self._header.value += data[start:end]

    def _header_end(self) -> None:
        self.headers[-1][bytes(self._header.name).lower()] = bytes(self._header.value)
        self._header = _Header()

    def _end(self) -> None:
        self.ended = True


async def parts(content_type: str, stream: AsyncIterator[bytes]) -> AsyncIterator[Part]:
    """The parts of a body. Raises BodyInvalid where it is not well-formed or ends too early."""
    _, options = parse_options_header(content_type.encode("latin-1", "replace"))
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= 70:
        raise BodyInvalid("The Content-Type of a multipart body names a boundary of 1 to 70 signs.")
    events = _Events(boundary)
    flow = _flow(events, stream)
    seen = 0
    async for kind, _ in flow:
        if kind != "begin":
            continue
        chunks = _content(flow)
        yield _part(events.headers[seen], chunks)
        seen += 1
        async for _rest in chunks:  # what was not wanted of it
            pass
    if not events.ended:
        raise BodyInvalid("The multipart body ends too early.")


async def _flow(events: _Events, stream: AsyncIterator[bytes]) -> AsyncIterator[_Event]:
    async for chunk in stream:
        events.feed(chunk)
        ready, events.ready = events.ready, []
        for event in ready:
            yield event


async def _content(flow: AsyncIterator[_Event]) -> AsyncIterator[bytes]:
    async for kind, data in flow:
        if kind == "end":
            return
        yield data
    raise BodyInvalid("The multipart body ends too early.")


def _part(headers: dict[bytes, bytes], chunks: AsyncIterator[bytes]) -> Part:
    kind, options = parse_options_header(headers.get(b"content-disposition", b""))
    name = options.get(b"name")
    if kind != b"form-data" or name is None:
        raise BodyInvalid("Each part has a Content-Disposition of form-data with a name.")
    content_type = headers.get(b"content-type", b"application/octet-stream").decode("latin-1")[:100]
    return Part(name.decode("utf-8", "replace")[:64], b"filename" in options, content_type, chunks)
