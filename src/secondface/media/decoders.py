"""The video stream of a file, and the decoder that turns it into pictures.

Decides which stream is the picture, which decoder reads it, and what happens where a machine lacks that decoder.
Must not know frames or time.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from typing import cast

import av
from av.codec import Codec
from av.codec.context import CodecContext
from av.codec.hwaccel import HWAccel, hwdevices_available
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Disposition, Stream
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from secondface.errors import (
    CodecUnavailable,
    InvalidOption,
    MediaCorrupt,
    MediaEmpty,
    MediaUnsupported,
    SecondfaceError,
)
from secondface.media.containers import open_input, reading_failures
from secondface.media.damage import Damage
from secondface.media.limits import Limits
from secondface.media.low_priority import giving_way
from secondface.media.ratios import seconds
from secondface.media.timeline import JUMPING, UNTIMED, Slots, timed_packets
from secondface.media.video_facts import codec_name

ANY_GPU = "gpu"
"""In the place of a decoder's name: whatever GPU works here, or else the processor, with a note."""
_SEES_ALPHA = {"vp8": "libvpx", "vp9": "libvpx-vp9"}
"""FFmpeg's own decoders of these do not look at the second picture in which WebM keeps alpha."""
_FAR = Fraction(2)
"""Seconds; what begins earlier is reached by decoding from the start."""


class PictureSource:
    """The pictures of the video in `path`, as decoded. `decoder` is FFmpeg's name of a decoder or of a device.

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge, MediaEmpty, InvalidOption, CodecUnavailable.
    """

    def __init__(
        self, path: Path, format_name: str, limits: Limits, threads: int, decoder: str | None = None
    ) -> None:  # fmt: skip
        self.path = path
        self.notes: list[str] = []
        self._format_name = format_name
        self._limits = limits
        self._threads = threads
        self._hardware: HWAccel | None = None
        self._named: str | None = None
        self._context: VideoCodecContext | None = None
        self._choose(decoder)
        self.container: InputContainer = self._opened(self._hardware)
        self.stream: VideoStream = video_stream(self.container, path)
        self._fresh, self._is_running = True, False
        self._damage = Damage()
        try:
            if self._hardware is not None and not self.stream.codec_context.is_hwaccel:
                self.notes.append(f"the GPU does not decode {codec_name(self.stream)}: the processor does")
            self._ready()
        except BaseException:
            self.close()
            raise

    def first_described(self, first: av.VideoFrame) -> av.VideoFrame:
        """A picture that says what the file says of `first`: only FFmpeg's own decoders are told which way is up."""
        if self._context is None:
            return first
        container = self._opened(None)
        try:
            with reading_failures(self.path, "at its start"):
                return next(container.decode(video_stream(container, self.path)), first)
        finally:
            container.close()

    def pictures(self, begin: Fraction | None = None) -> Iterator[av.VideoFrame]:
        """Every picture in presentation order, from the file's start; from `begin` (or a little before) if given."""
        if not self._fresh:
            self._reopen()
        self._fresh = False
        if begin is not None and begin >= _FAR and self._format_name in JUMPING:
            # a time says nothing of a place where the clock jumps
            skipped = self._last_key_packet(begin)
            self._reopen()
            return self._decoded(skipped)
        if begin is None or not self._sought(begin):
            return self._decoded()
        pictures = self._decoded()
        first = next(pictures, None)
        time = seconds(first.pts, first.time_base) if first is not None else None
        if first is None or time is None or time > begin:
            # not every container knows where its key frames are
            return self.pictures()
        return chain([first], pictures)

    def late_notes(self) -> tuple[str, ...]:
        """What was found to be damaged, as far as pictures have been read."""
        return self._damage.notes()

    def close(self) -> None:
        """Let go of the file."""
        self._context = None
        self.container.close()

    def _reopen(self) -> None:
        self.close()
        self._is_running = False
        self.container = self._opened(self._hardware)
        self.stream = video_stream(self.container, self.path)
        self._ready()

    def _last_key_packet(self, begin: Fraction) -> int:
        """How many packets of the picture come before the last one from which `begin` can be decoded."""
        found = 0
        with reading_failures(self.path):
            for count, packet in enumerate(timed_packets(self.container, self._format_name, [self.stream])):
                time = seconds(packet.pts, packet.time_base)
                if time is not None and time > begin + _FAR:
                    break
                if packet.is_keyframe and time is not None and time <= begin:
                    found = count
        return found

    def _choose(self, decoder: str | None) -> None:
        if decoder is None:
            return
        if decoder == ANY_GPU:
            self._hardware = _any_hardware()
            if self._hardware is None:
                self.notes.append("no GPU decoder works here: the processor decodes")
        elif decoder in hwdevices_available():
            self._hardware = _hardware(decoder)
        else:
            self._named = decoder

    def _opened(self, hardware: HWAccel | None) -> InputContainer:
        container = open_input(self.path, self._format_name, hardware)
        try:
            self._limits.check_streams(self.path.name, len(container.streams))
            stream = video_stream(container, self.path)
            context = stream.codec_context
            if context.width and context.height:
                self._limits.check_size(self.path.name, context.width, context.height, video=True)
            self._restrict(context)
            stream.thread_type = "AUTO"
        except BaseException:
            container.close()
            raise
        return container

    def _restrict(self, context: VideoCodecContext) -> None:
        # the header may lie: FFmpeg checks the size inside the bitstream too, before it makes room for a picture
        context.options = {"max_pixels": str(self._limits.video_pixels)}
        context.thread_count = self._threads

    def _ready(self) -> None:
        """Make the named decoder, if there is to be one."""
        codec = codec_name(self.stream)
        if self._named is None and self.stream.metadata.get("alpha_mode") == "1" and codec in _SEES_ALPHA:
            self._named = _SEES_ALPHA[codec] if _SEES_ALPHA[codec] in av.codecs_available else None
        if self._named is None:
            return
        try:
            described = Codec(self._named, "r")
        except (FFmpegError, ValueError) as cause:
            raise InvalidOption(f"decoder {self._named}: FFmpeg has none of that name") from cause
        if described.canonical_name != codec:
            raise InvalidOption(f"decoder {self._named}: it reads {described.canonical_name}, and the video is {codec}")
        own = self.stream.codec_context
        context = cast("VideoCodecContext", CodecContext.create(self._named, "r"))
        context.extradata = own.extradata
        context.width, context.height = own.width, own.height
        self._restrict(context)
        try:
            context.open()
        except FFmpegError as cause:
            raise CodecUnavailable(f"{self._named}: {cause.strerror}", codec=self._named) from cause
        self._context = context

    def _sought(self, begin: Fraction) -> bool:
        base = self.stream.time_base
        if base is None or begin < _FAR:
            return False
        try:
            self.container.seek(int(begin / base), stream=self.stream)
        except (FFmpegError, OverflowError):
            return False
        return True

    def _decoded(self, skipped: int = 0) -> Iterator[av.VideoFrame]:
        """Every picture, but for those of the first `skipped` packets."""
        packets = islice(timed_packets(self.container, self._format_name, [self.stream]), skipped, None)
        self._damage = damage = Damage()
        slots = Slots() if self._format_name in UNTIMED else None
        while (packet := self._next_packet(packets, damage)) is not None:
            if slots is not None:
                slots.put(packet)
            try:
                with reading_failures(self.path, damage.where):
                    pictures = self._pictures_of(packet)
            except MediaCorrupt as cause:
                damage.skip(cause)
                continue
            for picture in pictures:
                if slots is not None:
                    slots.take(picture)
                damage.see(picture)
                try:
                    self._limits.check_size(self.path.name, picture.width, picture.height, video=True)
                except SecondfaceError:
                    self.close()
                    raise
                yield picture

    def _next_packet(self, packets: Iterator[Packet[Stream]], damage: Damage) -> Packet[Stream] | None:
        try:
            with reading_failures(self.path, damage.where):
                packet = next(packets, None)
        except MediaCorrupt as cause:
            damage.stop(cause)
            return None
        if packet is None:
            damage.end()
        return packet

    def _pictures_of(self, packet: Packet[Stream]) -> list[av.VideoFrame]:
        if not self._is_running:
            # FFmpeg starts a decoder's threads when it meets the first packet; frames wait for each other further on.
            self._is_running = True
            return giving_way(lambda: self._pictures_of(packet))
        if self._context is None:
            return cast("Packet[VideoStream]", packet).decode()
        return self._context.decode(packet)  # pyright: ignore[reportUnknownMemberType]: its stub leaves it open


def video_stream(container: InputContainer, path: Path) -> VideoStream:
    """The stream that is the picture of `path`: not cover art, the default one where there are several."""
    pictures = [each for each in container.streams.video if not each.disposition & Disposition.attached_pic]
    if not pictures:
        raise MediaEmpty(f"{path.name}: no video stream")
    chosen = [each for each in pictures if each.disposition & Disposition.default]
    stream = (chosen or pictures)[0]
    if not codec_name(stream):
        raise MediaUnsupported(f"{path.name}: no decoder for its video")
    return stream


def _hardware(device: str) -> HWAccel:
    try:
        # made once to see whether it works; each stream makes its own
        HWAccel(device).create(Codec("h264", "r"))
    except (FFmpegError, ValueError, RuntimeError) as cause:
        reason = cause.strerror if isinstance(cause, FFmpegError) else str(cause)
        raise CodecUnavailable(f"{device}: {reason}", codec=device) from cause
    return HWAccel(device, allow_software_fallback=True)


def _any_hardware() -> HWAccel | None:
    for device in hwdevices_available():
        try:
            return _hardware(device)
        except CodecUnavailable:
            continue
    return None
