"""Sound that is encoded again: because the container cannot hold it, or because it shall be louder.

Decides codec, channels, rate and that every sample keeps its time. Must not know pictures.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# PyAV's stubs leave the keyword arguments of add_stream, decoded frames and the stream of a packet untyped

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import cast

import numpy as np
from av.audio.frame import AudioFrame
from av.audio.layout import AudioLayout
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.codec import Codec
from av.container import OutputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Stream

from secondface.media.ratios import seconds

CODECS = {"mp4": "aac", "mov": "aac", "matroska": "aac", "webm": "libopus"}
"""What sound becomes in each container."""
_JITTER = Fraction(1, 20)
"""Seconds by which a stamp may miss the count of samples; more is a gap in the sound."""
_LAYOUTS = {1: "mono", 2: "stereo", 3: "3.0", 4: "4.0", 5: "5.0", 6: "5.1", 7: "5.1", 8: "7.1"}
"""By count of channels: what both AAC and Opus take, whatever name the input gives to them."""
_FORMAT = "fltp"
_SILENCE = {"pcm_u8": b"\x80", "pcm_alaw": b"\xd5", "pcm_mulaw": b"\xff"}
"""The byte of which silence consists, where it is not 0."""
_LONGEST_SILENCE = Fraction(1)
"""Seconds in one packet."""


class PlainSound:
    """Hands on plain samples (PCM) to MOV and MP4, which count them: holes between packets must be filled with silence.

    `filled` is how many seconds of silence were put in.
    """

    def __init__(self, output: OutputContainer, source: AudioStream, codec: str) -> None:
        self.stream = output.add_stream_from_template(source)
        self.damaged = 0
        self.filled = Fraction(0)
        self._silence = _SILENCE.get(codec, b"\0")
        self._rate = source.codec_context.sample_rate
        self._next: Fraction | None = None

    def take(self, packet: Packet[Stream]) -> Iterable[Packet[Stream]]:
        """`packet`, after the silence that comes before it."""
        start = seconds(packet.pts, packet.time_base)
        length = seconds(packet.duration, packet.time_base)
        if start is not None and length:
            hole = start - self._next if self._next is not None else Fraction(0)
            if hole > _JITTER:
                yield from self._silent(packet, start - hole, hole, length)
            self._next = start + length
        packet.stream = self.stream
        yield packet

    def finish(self) -> Iterable[Packet[Stream]]:
        """Nothing is held back."""
        return ()

    def _silent(
        self, like: Packet[Stream], start: Fraction, hole: Fraction, length: Fraction
    ) -> Iterator[Packet[Stream]]:  # fmt: skip
        self.filled += hole
        width = round(like.size / (length * self._rate))
        end, base = start + hole, like.time_base
        while start < end:
            part = min(_LONGEST_SILENCE, end - start)
            packet: Packet[Stream] = Packet(self._silence * (round(part * self._rate) * width))
            packet.stream, packet.time_base = self.stream, base
            packet.pts = packet.dts = round(start / base)
            packet.duration = round(part / base)
            start += part
            yield packet


class SoundTrack:
    """Decodes and encodes again, with the same start and the same gaps; `volume` is a factor of the amplitude."""

    def __init__(
        self, output: OutputContainer, source: AudioStream, codec: str, volume: Fraction | None = None
    ) -> None:  # fmt: skip
        context = source.codec_context
        channels = context.layout.nb_channels
        layout = _LAYOUTS.get(channels, "stereo")
        self._layout = "quad" if layout == "4.0" and codec == "libopus" else layout
        self._rate = _nearest_rate(codec, context.sample_rate)
        written = len(AudioLayout(self._layout).channels)
        self.note = "" if written == channels else f"{channels} channels become {written}"
        """What is not as it was, beside the codec."""
        stream = cast("AudioStream", output.add_stream(codec, rate=self._rate))
        stream.codec_context.layout = self._layout
        stream.codec_context.bit_rate = 80_000 * min(max(1, channels), 8)
        self.stream = stream
        self.damaged = 0
        """Packets that could not be decoded; their time is silent."""
        self._source = source
        self._gain = np.float32(1 if volume is None else float(volume))
        self._resampler: AudioResampler | None = None
        self._shape: tuple[str, str, int] | None = None
        self._next: Fraction | None = None

    def take(self, packet: Packet[Stream]) -> Iterable[Packet[Stream]]:
        """The packets that are ready now that `packet` has come."""
        try:
            frames = packet.decode()
        except FFmpegError:
            self.damaged += 1
            return
        for frame in frames:
            yield from self._encode(cast("AudioFrame", frame))

    def finish(self) -> Iterable[Packet[Stream]]:
        """The packets that are left."""
        for frame in self._source.decode(None):
            yield from self._encode(frame)
        if self._resampler is not None:
            yield from self._timed(self._resampler.resample(None))
        yield from self.stream.encode(None)

    def _encode(self, frame: AudioFrame) -> Iterator[Packet[Stream]]:
        stamp = seconds(frame.pts, frame.time_base)
        if self._next is None or (stamp is not None and stamp - self._next > _JITTER):
            self._next = stamp or Fraction(0)
        elif stamp is not None and self._next - stamp > _JITTER:
            return  # it lies under what was heard already
        shape = (frame.format.name, frame.layout.name, frame.sample_rate)
        if shape != self._shape:
            # broadcasts change channels and rate in the middle
            self._resampler = AudioResampler(_FORMAT, self._layout, self._rate)
            self._shape = shape
        assert self._resampler is not None
        frame.pts = None
        yield from self._timed(self._resampler.resample(frame))

    def _timed(self, parts: Iterable[AudioFrame]) -> Iterator[Packet[Stream]]:
        for part in parts:
            louder = part if self._gain == 1 else self._louder(part)
            # counted in samples: stamps in whole milliseconds would make the sound stutter
            louder.time_base = Fraction(1, louder.sample_rate)
            louder.pts = round((self._next or Fraction(0)) * louder.sample_rate)
            self._next = (self._next or Fraction(0)) + Fraction(louder.samples, louder.sample_rate)
            yield from self.stream.encode(louder)

    def _louder(self, frame: AudioFrame) -> AudioFrame:
        samples = np.clip(frame.to_ndarray() * self._gain, -1, 1).astype(np.float32)
        louder = AudioFrame.from_ndarray(samples, _FORMAT, frame.layout.name)
        louder.sample_rate = frame.sample_rate
        return louder


def _nearest_rate(codec: str, rate: int) -> int:
    """The rate at which `codec` loses nothing of sound of `rate`, or else its highest."""
    known = sorted(Codec(codec, "w").audio_rates or [rate])
    return next((each for each in known if each >= rate), known[-1])
