"""The streams beside the picture: sound, subtitles, cover art, fonts, timecode.

Decides copy, encode again or drop for each, and feeds them to the output as the picture advances: packets are read
again from the input, so that never more than one is held however long the file is. Must not know pixels.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias

from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.error import InvalidDataError
from av.packet import Packet
from av.stream import AttachmentStream, Disposition, Stream
from av.subtitles.stream import SubtitleStream

from secondface.errors import MediaCorrupt
from secondface.media.containers import legible, open_input, reading_failures, writing_failures
from secondface.media.cover_art import CoverArt, cover_art
from secondface.media.encoders import VideoOptions
from secondface.media.ratios import exact, seconds
from secondface.media.sound import CODECS, PlainSound, SoundTrack
from secondface.media.subtitles import SubtitleTrack, written_as
from secondface.media.timeline import timed_packets
from secondface.media.trim import Trim
from secondface.media.video_facts import codec_name

_REFUSED = {"mov": ("opus", "vorbis", "flac", "truehd"), "mp4": ("truehd",)}
"""What FFmpeg's table of codecs allows and its muxer then refuses."""
Action = Literal["encoded", "copied", "transcoded", "dropped"]
KEPT_TAGS = ("language", "title")
"""Tags of a stream that are kept; others name devices, places or programs."""
TECHNICAL_TAGS = frozenset({
    "encoder", "handler_name", "vendor_id", "major_brand", "minor_version", "compatible_brands", "duration",
    "bps", "number_of_frames", "number_of_bytes", "alpha_mode", "timecode",
})  # fmt: skip
"""What a container says of how it was written: true of the input, not of the output."""
_MOV_LANGUAGES = {
    "deu": "ger", "nld": "dut", "ell": "gre", "isl": "ice", "zho": "chi", "sqi": "alb", "mkd": "mac", "swe": "sve",
}  # fmt: skip
"""QuickTime has a list of its own, which FFmpeg knows by these names of the same languages."""
_FONTS = ("font", "opentype", "truetype")
"""In the types of what subtitles are shown with."""
_NOTE_OF_DAMAGE = "the file is damaged: what comes after is lost"


@dataclass(slots=True)
class StreamReport:
    """What became of one stream of the input; `note` says why when it was not kept as it was."""

    index: int
    kind: str
    codec: str
    action: Action
    note: str = ""
    language: str | None = None
    packets: int = 0


class _Copy:
    """Hands on packets as they are; only the stream that they belong to changes."""

    def __init__(self, output: OutputContainer, template: Stream) -> None:
        self.stream = output.add_stream_from_template(template)
        self.damaged = 0
        self._last: int | None = None

    def take(self, packet: Packet[Stream]) -> Iterable[Packet[Stream]]:
        if packet.dts is not None:
            stands = self.stream.type == "audio" and packet.dts == self._last
            if self._last is not None and (stands or packet.dts < self._last):
                # no container can hold time that runs backwards
                return ()
            self._last = packet.dts
        packet.stream = self.stream
        return (packet,)

    def finish(self) -> Iterable[Packet[Stream]]:
        return ()


Track: TypeAlias = _Copy | PlainSound | SoundTrack | SubtitleTrack


class SideStreams:
    """Every stream of the file `path` but number `picture_index`, on its way into `output`, cut like the picture.

    `reserved` are names of tags that no stream may bring along.
    """

    def __init__(
        self, path: Path, format_name: str, picture_index: int, output: OutputContainer, container: str, *,
        trim: Trim, options: VideoOptions, reserved: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._path, self._format_name = path, format_name
        self._written = Path(output.name.removeprefix("file:"))
        self._trim = trim
        self._options = options
        self._unkept = TECHNICAL_TAGS | {name.lower() for name in reserved}
        self._output = output
        self._container = container
        self._tracks: dict[int, Track] = {}
        self.reports: dict[int, StreamReport] = {}
        self.covers: list[CoverArt] = []
        """What is to be put into the finished file."""
        self._input = open_input(path, format_name)
        try:
            for stream in self._input.streams:
                if stream.index != picture_index:
                    self._decide(stream)
            if any(stream.disposition & Disposition.attached_pic for stream in self._input.streams.video):
                self._place_covers(cover_art(path, format_name))
            self._packets = self._read()
            self._next = next(self._packets, None)
        except BaseException:
            self._input.close()
            raise

    @property
    def timecode(self) -> str | None:
        """Where the input's timecode starts; the output's muxer writes it anew."""
        for stream in self._input.streams:
            if found := legible(stream.metadata).get("timecode"):
                return found
        return legible(self._input.metadata).get("timecode")

    def advance(self, until: Fraction | None) -> None:
        """Write everything that lies before `until` seconds of the output; None for all that is left."""
        while self._next is not None and (until is None or self._time(self._next) <= until):
            self._send(self._next)
            self._next = next(self._packets, None)
        if until is None:
            for index, track in self._tracks.items():
                with writing_failures(self._written, f"stream {index}"):
                    self._mux(index, track.finish())
                if isinstance(track, PlainSound) and track.filled:
                    _add_note(self.reports[index], f"{float(track.filled):.2f} s without sound are filled with silence")
                if track.damaged:
                    note = f"{track.damaged} packets could not be decoded and are left out"
                    _add_note(self.reports[index], note)

    def cover_lost(self, reason: str) -> None:
        """The covers could not be put into the finished file after all."""
        for cover in self.covers:
            self.reports[cover.index].action = "dropped"
            _add_note(self.reports[cover.index], reason)

    def close(self) -> None:
        """Let go of the input."""
        self._next = None
        self._input.close()

    def _decide(self, stream: Stream) -> None:
        codec = codec_name(stream)
        language = legible(stream.metadata).get("language")
        report = StreamReport(stream.index, stream.type, codec or "unknown", "dropped", language=language)
        self.reports[stream.index] = report
        match stream:
            case AudioStream():
                self._decide_sound(stream, codec, report)
            case SubtitleStream():
                self._decide_subtitles(stream, codec, report)
            case AttachmentStream() if self._container == "matroska":
                self._decide_attachment(stream, report)
            case _ if stream.type == "data":
                self._decide_data(stream, report)
            case _ if stream.type == "video" and not stream.disposition & Disposition.attached_pic:
                report.note = "only one video stream is processed"
            case _ if stream.type == "video":
                report.note = f"{self._container} has no room for cover art"
            case _:
                report.note = f"{self._container} cannot hold {codec or stream.type}"

    def _copies(self, codec: str) -> bool:
        return codec in self._output.supported_codecs and codec not in _REFUSED.get(self._container, ())

    def _copies_sound(self, stream: AudioStream, codec: str) -> bool:
        # MP4 says where each channel of plain samples stands, and FFmpeg gives up when the input does not
        unplaced = self._container == "mp4" and codec.startswith("pcm_") and "channels" in stream.layout.name
        return self._copies(codec) and not unplaced

    def _decide_sound(self, stream: AudioStream, codec: str, report: StreamReport) -> None:
        volume = None if self._options.volume == 1 else self._options.volume
        copies = self._copies_sound(stream, codec)
        if not self._options.audio:
            report.note = "sound was switched off"
        elif copies and volume is None and codec.startswith("pcm_") and self._container in ("mov", "mp4"):
            self._keep(PlainSound(self._output, stream, codec), stream, report, "copied")
        elif copies and volume is None:
            self._keep(_Copy(self._output, stream), stream, report, "copied")
        elif not codec:
            report.note = "no decoder for its sound"
        else:
            track = SoundTrack(self._output, stream, CODECS[self._container], volume)
            self._keep(track, stream, report, "transcoded")
            louder = f"volume {float(volume):g}" if volume is not None else ""
            report.note = louder if copies else f"{self._container} cannot hold {codec}"
            if track.note:
                _add_note(report, track.note)

    def _decide_subtitles(self, stream: SubtitleStream, codec: str, report: StreamReport) -> None:
        if self._copies(codec):
            self._keep(_Copy(self._output, stream), stream, report, "copied")
        elif target := written_as(codec, self._container):
            self._keep(SubtitleTrack(self._output, stream, target), stream, report, "transcoded")
            report.note = f"{self._container} cannot hold {codec}: written as {target}"
        else:
            report.note = f"{self._container} cannot hold {codec or 'this kind'}, which is no text"

    def _decide_data(self, stream: Stream, report: StreamReport) -> None:
        if "timecode" in stream.metadata and self._container != "webm":
            report.action, report.codec, report.note = "copied", "tmcd", "timecode written anew"
        elif self._is_chapters(stream):
            report.action, report.codec, report.note = "copied", "text", "chapters written anew"
        else:
            report.note = "data tracks can hold positions and serial numbers"

    def _decide_attachment(self, stream: AttachmentStream, report: StreamReport) -> None:
        name, kind = legible(stream.metadata).get("filename", "attachment"), stream.mimetype or ""
        if not self._options.keep_metadata and not any(word in kind for word in _FONTS):
            report.note = "attachments other than fonts can hold anything"
            return
        self._output.add_attachment(name, kind, stream.data)
        report.action = "copied"

    def _is_chapters(self, stream: Stream) -> bool:
        """Whether this is the track of names that MP4 has for chapters: one line for each of them."""
        chapters = len(self._input.chapters())
        return bool(chapters) and stream.frames == chapters and self._input.format.name.startswith("mov")

    def _place_covers(self, covers: list[CoverArt]) -> None:
        for cover in covers:
            report = self.reports[cover.index]
            if self._container == "matroska":
                self._output.add_attachment(cover.name, cover.mime_type, cover.data)
            elif self._container in ("mp4", "mov"):
                self.covers.append(cover)
            else:
                continue
            report.action, report.note, report.packets = "copied", "", 1

    def _keep(
        self, track: Track, stream: Stream, report: StreamReport, action: Action
    ) -> None:  # fmt: skip
        tags = legible(stream.metadata)
        if self._options.keep_metadata:
            kept = {key: text for key, text in tags.items() if key.lower() not in self._unkept}
        else:
            kept = {key: tags[key] for key in KEPT_TAGS if key in tags}
        if self._container == "mov" and (language := kept.get("language")):
            kept["language"] = _MOV_LANGUAGES.get(language, language)
        track.stream.metadata.update(kept)
        track.stream.disposition = stream.disposition
        self._tracks[stream.index] = track
        report.action = action

    def _read(self) -> Iterator[Packet[Stream]]:
        kept = [stream for stream in self._input.streams if stream.index in self._tracks]
        packets = timed_packets(self._input, self._format_name, kept) if kept else iter(())
        open_ones = set(self._tracks)
        while open_ones:
            try:
                with reading_failures(self._path, "sound and subtitles"):
                    packet = next(packets, None)
            except MediaCorrupt as cause:
                if not isinstance(cause.__cause__, InvalidDataError):
                    raise
                # the picture says where
                for index in open_ones:
                    _add_note(self.reports[index], _NOTE_OF_DAMAGE)
                return
            if packet is None:
                return
            if packet.size == 0 and packet.dts is None:
                continue  # FFmpeg's sign of the end
            base = exact(packet.time_base) or Fraction(1, 1000)
            if self._trim.is_after(self._time(packet)):
                open_ones.discard(packet.stream.index)
            elif self._moved(packet, base):
                yield packet

    def _moved(self, packet: Packet[Stream], base: Fraction) -> bool:
        """Whether any of `packet` lies in the part that is kept; its times are then counted from there."""
        if self._trim.is_whole and not self._trim.origin:
            return True
        start = seconds(packet.pts, base)
        if packet.stream.type == "subtitle" and start is not None:
            part = self._trim.clipped(start, start + (packet.duration or 0) * base)
            if part is None:
                return False
            packet.pts = packet.dts = round(part[0] / base)
            packet.duration = round((part[1] - part[0]) / base)
            return True
        if self._trim.is_before(start if start is not None else self._time(packet)):
            return False
        moved = round(self._trim.start / base)
        packet.dts = packet.dts - moved if packet.dts is not None else None
        packet.pts = packet.pts - moved if packet.pts is not None else None
        return True

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


def _add_note(report: StreamReport, text: str) -> None:
    report.note = f"{report.note}; {text}" if report.note else text
