from __future__ import annotations

import struct
from pathlib import Path

import av
import numpy as np
import pytest
from av.stream import Disposition
from PIL import Image

from secondface.media.cover_art import CoverArt, add_to_mp4, cover_art
from secondface.media.mp4_boxes import box, boxes, moved_chunks
from tests.unit.media.conftest import MakeClip

SIZE = (48, 32)


def picture(folder: Path, name: str) -> bytes:
    """A cover with all that a camera and a user may have put beside the pixels."""
    path = folder / name
    exif = Image.Exif()
    exif[0x9286], exif[0xA431] = b"private words", "serial-4711"
    rgb = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    rgb[:, :24] = (200, 30, 60)
    Image.fromarray(rgb).save(path, exif=exif, **({"comment": "private words"} if name.endswith("jpg") else {}))
    return path.read_bytes() + b"private tail"


def packets(path: Path) -> list[tuple[int, bytes]]:
    with av.open(str(path)) as container:
        streams = [each for each in container.streams if not each.disposition & Disposition.attached_pic]
        return [(packet.stream.index, bytes(packet)) for packet in container.demux(*streams) if packet.size]


@pytest.mark.parametrize("name", ["out.mp4", "out.mov"])
@pytest.mark.parametrize("tags", [{}, {"AIGC": "{}"}])
@pytest.mark.parametrize(("cover", "mime", "code"), [("a.jpg", "image/jpeg", 13), ("b.png", "image/png", 14)])
def test_a_cover_is_put_into_a_finished_file(
    make_clip: MakeClip, tmp_path: Path, name: str, tags: dict[str, str], cover: str, mime: str, code: int
) -> None:
    flags = {"movflags": "+faststart" + ("+use_metadata_tags" if tags else "")}
    source, target = make_clip(sound_s=0.5, tags={"title": "A title"}), tmp_path / name
    with av.open(str(source)) as given, av.open(str(target), "w", container_options=flags) as output:
        output.metadata.update(given.metadata | tags)
        streams = {each.index: output.add_stream_from_template(each) for each in given.streams}
        for packet in given.demux():
            if packet.dts is not None:
                packet.stream = streams[packet.stream.index]
                output.mux(packet)
    before = packets(target)
    add_to_mp4(target, [CoverArt(9, cover, mime, code, picture(tmp_path, cover))])
    assert packets(target) == before
    found = cover_art(target, "mov")
    assert [(each.mime_type, each.index) for each in found] == [(mime, 2)]
    with av.open(str(target)) as container:
        assert container.metadata["title"] == "A title"
        assert tags.items() <= container.metadata.items()
        shown = next(container.decode(container.streams.video[1]))
        assert (shown.width, shown.height) == SIZE
        assert np.abs(shown.to_ndarray(format="rgb24")[16, 8].astype(int) - (200, 30, 60)).max() < 12


@pytest.mark.parametrize("name", ["a.jpg", "b.png"])
def test_a_cover_comes_without_its_own_metadata(make_clip: MakeClip, tmp_path: Path, name: str) -> None:
    source = make_clip()
    add_to_mp4(source, [CoverArt(9, name, "", 13 if name.endswith("jpg") else 14, picture(tmp_path, name))])
    assert b"private words" in source.read_bytes()
    (found,) = cover_art(source, "mov")
    for secret in (b"private words", b"serial-4711", b"private tail"):
        assert secret not in found.data


def test_a_file_without_cover_has_none(make_clip: MakeClip) -> None:
    assert cover_art(make_clip(sound_s=0.2), "mov") == []


def test_chunks_move_with_the_index() -> None:
    table = box(b"stbl", box(b"stco", bytes(4), struct.pack(">I2I", 2, 10, 2000)), box(b"stsz", b"1234"))
    index = box(b"trak", box(b"mdia", box(b"minf", table)))
    moved = boxes(boxes(boxes(boxes(moved_chunks(index, 100, 50))[0].body)[0].body)[0].body)[0]
    chunks, sizes = boxes(moved.body)
    assert struct.unpack(">I2I", chunks.body[4:]) == (2, 10, 2050)
    assert sizes.body == b"1234"


def test_offsets_that_do_not_fit_are_refused() -> None:
    table = box(b"stco", bytes(4), struct.pack(">II", 1, 0xFFFFFFF0))
    with pytest.raises(ValueError, match="wider"):
        moved_chunks(table, 100, 50)


def test_a_cut_off_box_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        boxes(box(b"free", b"12345678")[:-1])


def test_nothing_is_changed_in_what_is_no_mp4(tmp_path: Path) -> None:
    other = tmp_path / "other.mp4"
    other.write_bytes(b"not an index at all, but long enough")
    with pytest.raises(ValueError, match="no index"):
        add_to_mp4(other, [CoverArt(0, "a", "b", 13, b"c")])
    assert other.read_bytes() == b"not an index at all, but long enough"
