"""One clock for a recording whose own clock jumps: joined broadcasts, restarted encoders, counters that begin again.

Decides what is a jump and where time goes on after it. The same packets in the same order give the same times, so that
picture and sound, which are read apart, stay together. Must not know codecs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition, Stream
from av.video.frame import VideoFrame

from secondface.media.ratios import exact, seconds

JUMPING = ("mpegts", "mpeg")
"""Formats that are joined by putting one behind the other."""
UNTIMED = ("avi",)
"""Formats that do not say when a picture is shown."""
_STEADY = ("video", "audio")
"""Kinds of streams whose packets follow each other without end; only these show a jump."""
_BACK = Fraction(1, 10)
_AHEAD = Fraction(60)
"""Seconds; less is a stamp that strays, or a pause."""
_OVERLAP = Fraction(1)
"""By so much one stream may have been longer than another when the clock jumped."""
_Any = TypeVar("_Any", bound=Stream)


@dataclass(slots=True)
class _Place:
    """Where one stream is: the time after its last packet, and what is added to its stamps."""

    next: Fraction
    offset: Fraction


class Timeline:
    """Gives each packet of a file, in the file's order, its time on one clock that never jumps."""

    def __init__(self) -> None:
        self._newest = Fraction(0)
        self._places: dict[int, _Place] = {}

    def put(self, packet: Packet[_Any]) -> None:
        """Correct the stamps of `packet` in place."""
        stamp = packet.dts if packet.dts is not None else packet.pts
        time, base = seconds(stamp, packet.time_base), exact(packet.time_base)
        if time is None or base is None:
            return
        offset = self._newest
        if packet.stream.type in _STEADY:
            offset = self._offset_of(packet.stream.index, time, (packet.duration or 0) * base)
        if offset:
            moved = round(offset / base)
            packet.dts = packet.dts + moved if packet.dts is not None else None
            packet.pts = packet.pts + moved if packet.pts is not None else None

    def _offset_of(self, index: int, time: Fraction, duration: Fraction) -> Fraction:
        place = self._places.setdefault(index, _Place(time + self._newest, self._newest))
        if not -_BACK <= time + place.offset - place.next <= _AHEAD:
            # another stream may have jumped before, and this one then follows it to the same clock
            follows = -_OVERLAP <= time + self._newest - place.next <= _AHEAD
            if place.offset == self._newest or not follows:
                self._newest = place.next - time
            place.offset = self._newest
        place.next = time + place.offset + duration
        return place.offset


class Slots:
    """Times of showing for a file that tells only the order of decoding (AVI): the k-th picture takes the k-th time.

    FFmpeg's guess puts pictures that follow B frames up to three places too late.
    """

    def __init__(self) -> None:
        self._open: list[int] = []
        self._most: int | None = None
        self._base: Fraction | None = None

    def put(self, packet: Packet[_Any]) -> None:
        """`packet` goes to the decoder."""
        if packet.size and packet.dts is not None:
            heapq.heappush(self._open, packet.dts)
            self._base = packet.time_base

    def take(self, picture: VideoFrame) -> None:
        """Give `picture`, the next to be shown, its time."""
        if self._most is None:
            self._most = len(self._open)
        while len(self._open) > self._most:
            # packets that stand for no picture would move all that follow
            heapq.heappop(self._open)
        if self._open and self._base is not None:
            picture.pts, picture.time_base = heapq.heappop(self._open), self._base


def timed_packets(container: InputContainer, format_name: str, wanted: Iterable[Stream]) -> Iterator[Packet[Stream]]:
    """The packets of `wanted` on one clock; other streams are read along where their clock may jump."""
    indexes = {stream.index for stream in wanted}
    if format_name not in JUMPING:
        yield from _packets(container, [stream for stream in container.streams if stream.index in indexes])
        return
    heard = [stream for stream in container.streams if not stream.disposition & Disposition.attached_pic]
    timeline = Timeline()
    for packet in _packets(
        container, [stream for stream in heard if stream.type in _STEADY or stream.index in indexes]
    ):
        timeline.put(packet)
        if packet.stream.index in indexes:
            yield packet


def _packets(container: InputContainer, streams: Sequence[Stream]) -> Iterator[Packet[Stream]]:
    """All packets of `streams`, and then one without content for each."""
    ended: set[int] = set()
    while True:
        try:
            for packet in container.demux(*streams):
                is_end = packet.size == 0 and packet.dts is None
                if not is_end or packet.stream.index not in ended:
                    yield packet
                if is_end:
                    ended.add(packet.stream.index)
        except IndexError:
            # damaged files seem to have more streams on the way, over which PyAV stumbles at the end
            continue
        return
