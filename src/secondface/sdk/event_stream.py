"""Server-sent events: bytes in, events out, whatever the pieces are cut like."""

from __future__ import annotations

from dataclasses import dataclass, field

_LONGEST_EVENT = 1 << 20


@dataclass(frozen=True, slots=True)
class Message:
    """One event of a stream; `id` is the last one that was said."""

    id: str
    kind: str
    data: str


@dataclass(slots=True)
class EventReader:
    """Reads one stream. Lines end in LF, CR or CRLF; a message ends at an empty line."""

    _rest: bytes = b""
    _id: str = ""
    _kind: str = ""
    _data: list[str] = field(default_factory=list[str])

    def feed(self, piece: bytes) -> list[Message]:
        """The messages that this piece completes. Raises ValueError where one grows without end."""
        text = self._rest + piece
        # A CR at the very end may be half of a CRLF.
        held = text.endswith(b"\r")
        lines = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + (b"\r" if held else b"")
        if len(self._rest) + sum(map(len, self._data)) > _LONGEST_EVENT:
            raise ValueError("an event is too long")
        return [message for line in lines if (message := self._line(line.decode("utf-8", "replace")))]

    def _line(self, line: str) -> Message | None:
        if not line:
            return self._end()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _end(self) -> Message | None:
        data, kind = "\n".join(self._data), self._kind
        has_data = bool(self._data)
        self._data, self._kind = [], ""
        return Message(self._id, kind or "message", data) if has_data else None
