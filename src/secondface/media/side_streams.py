"""The streams beside the picture: sound, subtitles, cover art, fonts, timecode.

Decides copy, transcode or drop for each, and feeds them to the output as the picture advances: packets are read again
from the input, so that never more than one is held however long the file is. Must not know pixels.
"""
# pyright: reportUnknownMemberType=false
# PyAV's stubs leave the keyword arguments of add_stream and the stream of an encoded packet untyped

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal, cast

from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.packet import Packet
from av.stream import AttachmentStream, Disposition, Stream

from secondface.media.containers import legible, open_input, reading_failures, writing_failures
from secondface.media.ratios import seconds
from secondface.media.video_facts import codec_name

_REFUSED = {"mov": ("opus", "vorbis", "flac", "truehd"), "mp4": ("truehd",)}
"""What FFmpeg's table of codecs allows and its muxer then refuses."""
_JITTER = Fraction(1, 20)
"""Seconds by which a stamp may miss the count of samples; more is a gap in the sound."""
_LAYOUTS = {1: "mono", 2: "stereo", 3: "3.0", 4: "4.0", 5: "5.0", 6: "5.1", 7: "5.1", 8: "7.1"}
"""By count of channels: what both AAC and Opus take, whatever name the input gives to them."""
Action = Literal["encoded", "copied", "transcoded", "dropped"]
KEPT_TAGS = ("language", "title")
"""Tags of a stream that are kept; others name devices, places or programs."""
_SOUND_CODEC = {"mp4": "aac", "mov": "aac", "matroska": "aac", "webm": "libopus"}


@dataclass(slots=True)
class StreamReport:
    """What became of one stream of the input; `reason` says why when it was not kept as it was."""

    index: int
    kind: str
    codec: str
    action: Action
    reason: str = ""
    language: str | None = None
    packets: int = 0


class _Copy:
    """Hands on packets as they are; only the stream that they belong to changes, and the origin of time."""

    def __init__(self, output: OutputContainer, template: Stream) -> None:
        self.stream = output.add_stream_from_template(template)
        self._last: int | None = None

    def take(self, packet: Packet[Stream]) -> Iterable[Packet[Stream]]:
        if packet.dts is not None:
            if self._last is not None and packet.dts < self._last:
                # no container can hold time that runs backwards
                return ()
            self._last = packet.dts
        packet.stream = self.stream
        return (packet,)

    def finish(self) -> Iterable[Packet[Stream]]:
        return ()


class _Transcode:
    """Decodes and encodes again, with the same start and the same gaps."""

    def __init__(self, output: OutputContainer, source: AudioStream, codec: str) -> None:
        context = source.codec_context
        channels = context.layout.nb_channels
        layout = _LAYOUTS.get(channels, "stereo")
        rate = 48000 if codec == "libopus" else context.sample_rate
        stream = cast("AudioStream", output.add_stream(codec, rate=rate))
        stream.codec_context.layout = "quad" if layout == "4.0" and codec == "libopus" else layout
        stream.codec_context.bit_rate = 80_000 * min(max(1, channels), 8)
        self.stream = stream
        self._source = source
        self._next: Fraction | None = None

    def take(self, packet: Packet[Stream]) -> Iterable[Packet[Stream]]:
        for frame in packet.decode():
            yield from self._encode(cast("AudioFrame", frame))

    def finish(self) -> Iterable[Packet[Stream]]:
        for frame in self._source.decode(None):
            yield from self._encode(frame)
        yield from self.stream.encode(None)

    def _encode(self, frame: AudioFrame) -> Iterable[Packet[Stream]]:
        stamp = seconds(frame.pts, frame.time_base)
        if self._next is None or (stamp is not None and abs(stamp - self._next) > _JITTER):
            self._next = stamp or Fraction(0)
        # counted in samples: stamps in whole milliseconds would make the sound stutter
        frame.time_base = Fraction(1, frame.sample_rate)
        frame.pts = round(self._next * frame.sample_rate)
        self._next += Fraction(frame.samples, frame.sample_rate)
        yield from self.stream.encode(frame)


class SideStreams:
    """Every stream of the file `path` but number `picture_index`, on its way into `output`.

    `origin` is the time in seconds that becomes 0 in the output; `cover` says that it can hold cover art.
    """

    def __init__(
        self, path: Path, format_name: str, picture_index: int, output: OutputContainer, container: str, *,
        origin: Fraction = Fraction(0), sound: bool = True, cover: bool = False,
    ) -> None:  # fmt: skip
        self._path = path
        self._written = Path(output.name.removeprefix("file:"))
        self._origin = origin
        self._output = output
        self._container = container
        self._tracks: dict[int, _Copy | _Transcode] = {}
        self.reports: dict[int, StreamReport] = {}
        self._input = open_input(path, format_name)
        try:
            held = output.supported_codecs
            for stream in self._input.streams:
                if stream.index != picture_index:
                    self._decide(stream, held, sound, cover)
            self._packets = self._read()
            self._next = next(self._packets, None)
        except BaseException:
            self._input.close()
            raise

    @property
    def timecode(self) -> str | None:
        """The timecode track's start, which the output's muxer writes anew."""
        for stream in self._input.streams:
            if found := legible(stream.metadata).get("timecode"):
                return found
        return None

    def advance(self, until: Fraction | None) -> None:
        """Write everything that lies before `until` seconds of the output; None for all that is left."""
        while self._next is not None and (until is None or self._time(self._next) <= until):
            self._send(self._next)
            self._next = next(self._packets, None)
        if until is None:
            for index, track in self._tracks.items():
                with writing_failures(self._written, f"stream {index}"):
                    self._mux(index, track.finish())

    def close(self) -> None:
        """Let go of the input."""
        self._next = None
        self._input.close()

    def _decide(self, stream: Stream, held: set[str], sound: bool, cover: bool) -> None:
        codec = codec_name(stream)
        language = legible(stream.metadata).get("language")
        report = StreamReport(stream.index, stream.type, codec or "unknown", "dropped", language=language)
        self.reports[stream.index] = report
        copies = codec in held and codec not in _REFUSED.get(self._container, ())
        match stream:
            case AudioStream() if not sound:
                report.reason = "sound was switched off"
            case AudioStream() if not copies:
                track = _Transcode(self._output, stream, _SOUND_CODEC[self._container])
                self._keep(track, stream, report, "transcoded")
                report.reason = f"{self._container} cannot hold {codec}"
            case AttachmentStream() if self._container == "matroska":
                name = legible(stream.metadata).get("filename", "attachment")
                self._output.add_attachment(name, stream.mimetype or "", stream.data)
                report.action = "copied"
            case _ if stream.type == "data":
                written = "timecode" in stream.metadata and self._container == "mov"
                report.action, report.reason = ("copied", "timecode written anew") if written else (
                    "dropped", "data tracks can hold positions and serial numbers")  # fmt: skip
            case _ if stream.type == "video" and not stream.disposition & Disposition.attached_pic:
                report.reason = "only one video stream is processed"
            case _ if stream.type in ("audio", "subtitle") and copies:
                self._keep(_Copy(self._output, stream), stream, report, "copied")
            case _ if stream.type == "video" and copies and cover:
                self._keep(_Copy(self._output, stream), stream, report, "copied")
            case _ if stream.type == "video":
                report.reason = "no room for cover art"
            case _:
                report.reason = f"{self._container} cannot hold {codec or stream.type}"

    def _keep(self, track: _Copy | _Transcode, stream: Stream, report: StreamReport, action: Action) -> None:
        tags = legible(stream.metadata)
        track.stream.metadata.update({key: tags[key] for key in KEPT_TAGS if key in tags})
        track.stream.disposition = stream.disposition
        self._tracks[stream.index] = track
        report.action = action

    def _read(self) -> Iterator[Packet[Stream]]:
        kept = [stream for stream in self._input.streams if stream.index in self._tracks]
        packets = iter(self._input.demux(*kept)) if kept else iter(())
        while True:
            with reading_failures(self._path, "sound and subtitles"):
                packet = next(packets, None)
            if packet is None:
                return
            if packet.size == 0 and packet.dts is None:
                continue  # FFmpeg's sign of the end
            if self._origin:
                moved = round(self._origin / packet.time_base)
                packet.dts = packet.dts - moved if packet.dts is not None else None
                packet.pts = packet.pts - moved if packet.pts is not None else None
            yield packet

    @staticmethod
    def _time(packet: Packet[Stream]) -> Fraction:
        stamp = packet.dts if packet.dts is not None else packet.pts
        return seconds(stamp, packet.time_base) or Fraction(0)

    def _send(self, packet: Packet[Stream]) -> None:
        index = packet.stream.index
        with writing_failures(self._written, f"stream {index}"):
            self._mux(index, self._tracks[index].take(packet))

    def _mux(self, index: int, packets: Iterable[Packet[Stream]]) -> None:
        for packet in packets:
            self._output.mux_one(packet)
            self.reports[index].packets += 1
