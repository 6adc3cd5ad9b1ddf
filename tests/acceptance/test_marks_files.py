"""The marks in finished files of every output format, read back by the package and by the libraries of others."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import av
import numpy as np
import pytest
from PIL import Image

from secondface.errors import SecondfaceError
from secondface.media.images import write_still
from secondface.media.marks import read_stored_marks
from secondface.media.read import VideoReader
from secondface.media.write import VideoWriter
from secondface.provenance.metadata import metadata_marks, read_marks, require_marks
from secondface.provenance.xmp import DIGITAL_SOURCE_TYPE, IPTC_EXTENSION, TC260
from tests.sample_media import MEDIA, needs_media

MARKS = metadata_marks("run-0123456789abcdef", "91110000EXAMPLE00X100000001")
OLD = '{"Label":"1","ContentProducer":"somebody-else","ProduceID":"old"}'


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "avif", "tiff"])
def test_a_still_carries_both_marks(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    write_still(path, np.full((48, 64, 3), 90, np.uint8), xmp=MARKS.xmp)
    stored = read_stored_marks(path)
    found = read_marks(stored.xmp, stored.tags)
    require_marks(found, MARKS, is_still=True)
    with Image.open(path) as picture:
        packet = picture.info.get("xmp") or picture.info["XML:com.adobe.xmp"]
    tree = ET.fromstring(packet)
    assert [node.text for node in tree.iter(f"{{{IPTC_EXTENSION}}}DigitalSourceType")] == [DIGITAL_SOURCE_TYPE]
    (value,) = [json.loads(node.text or "") for node in tree.iter(f"{{{TC260}}}AIGC")]
    assert value["ProduceID"] == "run-0123456789abcdef"


def labelled_clip(path: Path) -> Path:
    """A clip of five frames that somebody else labelled before, in the file and in its video stream."""
    with av.open(str(path), "w", options={"movflags": "use_metadata_tags"}) as container:
        container.metadata.update({"AIGC": OLD, "title": "a title"})
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.metadata["AIGC"] = OLD
        for level in range(5):
            picture = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 40 * level, np.uint8))
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return path


@pytest.mark.parametrize("given", ["mp4", "mkv"])
@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv", "webm"])
def test_a_video_carries_exactly_one_label_in_place_of_the_inputs_own(tmp_path: Path, given: str, suffix: str) -> None:
    source, path = labelled_clip(tmp_path / f"in.{given}"), tmp_path / f"out.{suffix}"
    before = read_stored_marks(source)
    assert read_marks(before.xmp, before.tags).label is not None
    with VideoReader(source) as reader, VideoWriter(path, reader, tags=MARKS.tags) as writer:
        for frame in reader.frames():
            writer.write(frame)
        writer.close()
    stored = read_stored_marks(path)
    require_marks(read_marks(stored.xmp, stored.tags), MARKS, is_still=False)
    assert OLD not in path.read_bytes().decode("latin-1")
    with av.open(str(path)) as container:
        assert json.loads(container.metadata["AIGC"])["ContentProducer"] == "91110000EXAMPLE00X100000001"


def test_mp4_keeps_the_label_in_the_metadata_box_of_the_movie(tmp_path: Path) -> None:
    source, path = labelled_clip(tmp_path / "in.mp4"), tmp_path / "out.mp4"
    with VideoReader(source) as reader, VideoWriter(path, reader, tags=MARKS.tags) as writer:
        for frame in reader.frames():
            writer.write(frame)
        writer.close()
    data = path.read_bytes()
    for box in (b"moov", b"udta", b"meta", b"keys"):
        data = data[data.index(box) :]
    assert b"mdtaAIGC" in data


@needs_media
@pytest.mark.parametrize("folder", ["formats", "broken"])
def test_reading_the_marks_of_any_file_answers_or_refuses_with_a_code(folder: str) -> None:
    files = sorted(path for path in (MEDIA / folder).iterdir() if path.is_file())
    assert files
    for path in files:
        try:
            stored = read_stored_marks(path)
        except SecondfaceError as error:
            assert error.fault == "caller", path.name
        else:
            assert not read_marks(stored.xmp, stored.tags).says_ai_made, path.name
