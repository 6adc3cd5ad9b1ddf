"""A film with damage in the middle gives what can be decoded, and says what could not."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import av
import pytest

from secondface.errors import MediaCorrupt
from secondface.media.damage import Damage
from secondface.media.read import VideoReader
from secondface.media.write import VideoWriter
from tests.unit.media.conftest import MakeClip


def spoil(path: Path, packets: range) -> None:
    """Overwrite the content of these packets of the picture, in the order of the file."""
    with av.open(str(path)) as container:
        found = [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]
    content = bytearray(path.read_bytes())
    for number in packets:
        at, size = found[number]
        content[at or 0 : (at or 0) + size] = random.Random(number).randbytes(size)
    path.write_bytes(content)


@pytest.mark.parametrize("codec", ["libx264", "libvpx-vp9", "libx265"])
def test_what_is_whole_is_read(make_clip: MakeClip, tmp_path: Path, codec: str) -> None:
    options = {"g": "10", "bf": "0", "x265-params": "log-level=none:keyint=10:bframes=0"}
    source = make_clip(codec=codec, stamps=range(40), time_base=Fraction(1, 25), options=options)
    spoil(source, range(12, 16))
    with VideoReader(source) as reader, VideoWriter(tmp_path / "out.mp4", reader) as writer:
        frames = list(reader.frames())
        for frame in frames:
            writer.write(frame)
        reports = writer.close()
    stamps = [int(frame.pts * frame.time_base * 25) for frame in frames if frame.pts is not None]
    assert stamps[:12] == list(range(12))
    assert stamps[-20:] == list(range(20, 40))
    assert "the file is damaged" in reports[0].note
    assert "at 0.440 s" in reports[0].note


def test_a_film_of_nothing_but_damage_is_refused(make_clip: MakeClip) -> None:
    source = make_clip(stamps=range(80), time_base=Fraction(1, 25), options={"g": "1", "bf": "0"})
    spoil(source, range(80))
    with pytest.raises(MediaCorrupt, match="at its start: Invalid data"):
        VideoReader(source)


def test_what_is_no_damage_is_not_passed_over() -> None:
    failure = MediaCorrupt("clip.mp4")
    failure.__cause__ = MemoryError()
    for refuse in (Damage().skip, Damage().stop):
        with pytest.raises(MediaCorrupt):
            refuse(failure)


def test_sound_that_begins_in_the_middle_of_a_stream_stops_nothing(make_clip: MakeClip) -> None:
    source = make_clip("clip.flv", stamps=range(0, 1600, 40), time_base=Fraction(1, 1000), options={"bf": "0"})
    content = source.read_bytes()
    with av.open(str(source)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size]
    # a tag of sound (MP3) in a file whose header knows of none
    body = b"\x2f" + b"\xff\xfb\x90\x00" + bytes(413)
    tag = b"\x08" + len(body).to_bytes(3, "big") + bytes(7) + body
    at = places[30] or 0
    assert content[at] == 9, "a tag of the picture"
    source.write_bytes(content[:at] + tag + len(tag).to_bytes(4, "big") + content[at:])
    with VideoReader(source) as reader:
        assert sum(1 for _ in reader.frames()) == 40
