"""Subtitles in the words of another container: what is said and when stays, and what of the style has a name there.

Decides which kinds are text and what they become; must not know pictures or sound.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# PyAV's stubs leave the keyword arguments of add_stream and the stream of an encoded packet untyped

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import cast

from av.container import OutputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Stream
from av.subtitles.stream import SubtitleStream
from av.subtitles.subtitle import AssSubtitle, SubtitleSet

from secondface.media.ratios import seconds

_TEXT = ("mov_text", "subrip", "ass", "ssa", "webvtt", "text")
_WRITTEN = {"mp4": "mov_text", "mov": "mov_text", "matroska": "subrip", "webm": "webvtt"}
_MILLISECOND = Fraction(1, 1000)
_FIELDS_BEFORE_TEXT = 8
"""An event of FFmpeg's: read order, layer, style, name, three margins, effect, text."""


def written_as(codec: str, container: str) -> str | None:
    """The kind of subtitles that `container` gets for `codec`; None where there is no way (pictures of text)."""
    return _WRITTEN[container] if codec in _TEXT else None


class SubtitleTrack:
    """Decodes and encodes again, with the same times."""

    def __init__(self, output: OutputContainer, source: SubtitleStream, codec: str) -> None:
        self._source = source.codec_context
        self._source.open(strict=False)
        stream = cast("SubtitleStream", output.add_stream(codec))
        stream.time_base = stream.codec_context.time_base = _MILLISECOND
        stream.codec_context.subtitle_header = self._source.subtitle_header
        self.stream = stream
        self.damaged = 0
        """Packets that could not be decoded."""

    def take(self, packet: Packet[Stream]) -> Iterable[Packet[Stream]]:
        """The packet that `packet` becomes, if it says anything."""
        start = seconds(packet.pts, packet.time_base)
        length = seconds(packet.duration, packet.time_base)
        try:
            found = self._source.decode2(packet)
        except FFmpegError:
            self.damaged += 1
            return ()
        lines = [rect.ass for rect in found or () if isinstance(rect, AssSubtitle)]
        if found is None or not lines or start is None:
            return ()
        shown_ms = round(length / _MILLISECOND) if length else found.end_display_time - found.start_display_time
        event = b"\\N".join([lines[0], *(line.split(b",", _FIELDS_BEFORE_TEXT)[-1] for line in lines[1:])])
        written = self.stream.codec_context.encode_subtitle(SubtitleSet.create(event, 0, shown_ms))
        written.stream, written.time_base = self.stream, _MILLISECOND
        written.pts = written.dts = round(start / _MILLISECOND)
        written.duration = shown_ms
        return (written,)

    def finish(self) -> Iterable[Packet[Stream]]:
        """Nothing is held back."""
        return ()
