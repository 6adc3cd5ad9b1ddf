"""What probe() says of files, through the cage and without it, and of files that end early."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from secondface.errors import FileUnreadable, MediaTooLarge, SecondfaceError
from secondface.media.caged_process import Given
from secondface.media.caged_task import caged_task
from secondface.media.handed import descriptor_of, handed_path, open_bytes, size_of
from secondface.media.images import still_info
from secondface.media.info import MediaInfo
from secondface.media.inspection import inspect
from secondface.media.limits import Limits
from secondface.media.missing_end import note_on_end
from secondface.media.probe import PROBE_CAGE, answer_of, opened_alone, probe
from secondface.media.signatures import sniff
from secondface.media.still_files import decoding_failures
from tests.sample_media import MEDIA, needs_media
from tests.unit.media.conftest import MakeClip


def media(kind: str) -> list[Path]:
    return sorted((MEDIA / kind).iterdir()) if MEDIA.is_dir() else []


def told(look: Callable[[Path], MediaInfo], path: Path) -> MediaInfo | tuple[type[SecondfaceError], str]:
    """What a look at a file says, be it a refusal."""
    try:
        return look(path)
    except SecondfaceError as refusal:
        return type(refusal), refusal.detail


@needs_media
@pytest.mark.parametrize("path", media("formats"), ids=lambda path: path.name)
def test_the_cage_says_what_the_readers_say(path: Path) -> None:
    said = told(probe, path)
    assert said == told(lambda file: inspect(file, Limits()), path)
    assert isinstance(said, MediaInfo) == (path.name != "vid_audio_only.mp4")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "missing", Path("a\0b"), Path("/dev/zero")):
        with pytest.raises(FileUnreadable):
            probe(path)


def test_limits_reach_the_child(tmp_path: Path) -> None:
    path = tmp_path / "wide.png"
    Image.new("L", (300, 200)).save(path)
    assert (probe(path).width, probe(path).height) == (300, 200)
    with pytest.raises(MediaTooLarge, match="300x200"):
        probe(path, Limits(still_pixels=59_999))


def test_deep_pictures_may_have_fewer_pixels() -> None:
    limits = Limits()
    limits.check_memory("plain", 8192, 8192, 3)
    limits.check_memory("deep", 8192, 4096, 6)
    with pytest.raises(MediaTooLarge, match="8192x8192 of 8 bytes a pixel needs 3584 MiB"):
        limits.check_memory("deep", 8192, 8192, 8)
    Limits(still_pixels=1 << 28).check_memory("by wish", 8192, 8192, 8)


def test_a_deep_picture_is_measured_before_it_is_decoded(tmp_path: Path) -> None:
    header = struct.pack(">4sIIBBBBB", b"IHDR", 8192, 8192, 16, 6, 0, 0, 0)
    body = header + struct.pack(">I", zlib.crc32(header)) + b"\0\0\0\0IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    path = tmp_path / "deep.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body)
    with pytest.raises(MediaTooLarge, match="8192x8192 of 8 bytes a pixel needs 3584 MiB"):
        probe(path)


def test_readers_of_a_handed_file_do_not_move_each_other(tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    (tmp_path / "file").write_bytes(content)
    with (tmp_path / "file").open("rb") as owner:
        path = handed_path(owner.fileno(), "file")
        with open_bytes(path) as one, open_bytes(path) as two:
            assert one.read(100_000) == content[:100_000]
            assert two.read() == content
            assert one.read(5) == content[100_000:100_005]
            assert one.seek(-3, os.SEEK_END) == len(content) - 3
            assert one.read() == content[-3:]
            assert two.seek(10) == 10
            assert (two.seek(5, os.SEEK_CUR), two.read(1)) == (15, content[15:16])
            with pytest.raises(OSError, match="Invalid argument"):
                one.seek(-1)


@pytest.mark.parametrize("default_image", [False, True])
def test_a_large_apng_is_understood_in_the_cage(tmp_path: Path, default_image: bool) -> None:
    # larger than what is read ahead: its delays are read while Pillow has it open
    noise = np.random.default_rng(3).integers(0, 256, (4, 240, 240, 3), np.uint8)
    first, *others = (Image.fromarray(each) for each in noise)
    path = tmp_path / "large.png"
    first.save(path, save_all=True, append_images=others, duration=100, default_image=default_image)
    assert probe(path) == inspect(path, Limits())
    assert probe(path).frame_count == len(others) + (not default_image)


def test_a_handed_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "0"
    path.write_bytes(b"content")
    assert descriptor_of(path) is None
    with path.open("rb") as file:
        handed = handed_path(file.fileno(), "clip.mp4")
        assert handed.name == "clip.mp4"
        assert descriptor_of(handed) == file.fileno()
        assert size_of(handed) == size_of(path) == 7
        for _ in range(2):
            with open_bytes(handed) as again:
                assert again.read() == b"content"


def _saved(format_name: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    frames = [Image.effect_noise((64, 48), 60).convert("RGB") for _ in range(3)]
    frames[0].save(buffer, format_name, save_all=True, append_images=frames[1:], **options)
    return buffer.getvalue()


@pytest.mark.parametrize("format_name", ["GIF", "PNG", "WEBP", "AVIF"])
def test_pictures_that_end_early(tmp_path: Path, format_name: str) -> None:
    whole = _saved(format_name)
    path = tmp_path / "picture"
    path.write_bytes(whole)
    assert note_on_end(path, sniff(path).format_name) is None
    path.write_bytes(whole + b"PK\x03\x04 what a polyglot carries behind")
    assert note_on_end(path, sniff(path).format_name) is None
    for part in (len(whole) - 1, len(whole) * 2 // 3, len(whole) // 2):
        path.write_bytes(whole[:part])
        note = note_on_end(path, sniff(path).format_name)
        assert note is not None, part
        assert note.startswith(f"the file ends early: {part} of ")


@needs_media
@pytest.mark.parametrize(
    "name",
    ["vid_no_audio.mp4", "vid_fragmented.mp4", "vid_pcm_s16le.mov", "vid_h263.3gp", "vid_subs_chapters.mkv",
     "vid_vp9_opus.webm", "vid_wmv2.wmv", "vid_h264_ts_offset_near_wrap.ts", "img_heic.heic", "vid_mpeg2_mp2.mpg"],
)  # fmt: skip
def test_videos_that_end_early(tmp_path: Path, name: str) -> None:
    whole = (MEDIA / "formats" / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(whole)
    format_name = sniff(path).format_name
    assert note_on_end(path, format_name) is None
    for part in (len(whole) - 1, len(whole) * 2 // 3 + 1, len(whole) // 2 + 1):
        path.write_bytes(whole[:part])
        assert f"{part} of " in (note_on_end(path, format_name) or ""), part


@pytest.mark.parametrize("is_live", [False, True])
def test_flash_that_ends_early(make_clip: MakeClip, is_live: bool) -> None:
    path = make_clip("clip.flv", options={"bf": "0"})
    whole = path.read_bytes()
    if is_live:
        at = whole.index(b"filesize\0") + 9
        whole = whole[:at] + bytes(8) + whole[at + 8 :]
        path.write_bytes(whole)
    assert note_on_end(path, "flv") is None
    for part in (len(whole) - 1, len(whole) * 2 // 3, len(whole) // 2):
        path.write_bytes(whole[:part])
        assert f"{part} of " in (note_on_end(path, "flv") or ""), part


@pytest.mark.parametrize(
    ("format_name", "content"),
    [
        ("flv", b"FLV\x01\x01\0\0\0\x09\0\0\0\0" + b"\x1f"),
        ("flv", b"FLV\x01"),
        ("mpeg", bytes(300)),
        ("matroska,webm", b"\x1aE\xdf\xa3\x81\x00\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" + bytes(50)),
        ("matroska,webm", b"\x1aE\xdf\xa3"),
        ("mov,mp4,m4a,3gp,3g2,mj2", b"\0\0\0\x08free" + b"\0\0\0\0mdat" + bytes(50)),
        ("mov,mp4,m4a,3gp,3g2,mj2", b"\0\0\0\x08free\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("mpeg", b"\0\0\1\xba"),
        ("ogg", b"OggS"),
        ("asf", bytes(200)),
        ("PNG", b"\x89PNG\r\n\x1a\n\0\0\0\0IEND\0\0\0\0"),
    ],
)
def test_what_states_no_length_gets_no_note(tmp_path: Path, format_name: str, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert note_on_end(path, format_name) is None


@needs_media
@pytest.mark.parametrize("cut", [lambda size: size // 2, lambda size: size - 1], ids=["half", "last byte"])
def test_a_cut_file_is_said_by_the_probe(tmp_path: Path, cut: Callable[[int], int]) -> None:
    whole = (MEDIA / "formats" / "vid_vp9_opus.webm").read_bytes()
    path = tmp_path / "cut.webm"
    path.write_bytes(whole[: cut(len(whole))])
    assert any(note.startswith("the file ends early") for note in probe(path).file_notes)


def refuse_a_handed_file(given: Given) -> Iterator[object]:
    """A caged task that fails in each way in which an error can name a file."""
    path = given.paths[0]
    match given.argument:
        case "library":
            yield {"code": "media_corrupt", "detail": f"{path}: [Errno 5] cannot read <file '{path}'>"}
        case "fault":
            raise RuntimeError(f"{path} broke")
        case _:
            with decoding_failures(path):
                raise PermissionError(13, "Permission denied", str(path))


@pytest.mark.parametrize("how", ["library", "fault", "reader"])
def test_no_error_names_a_place_in_the_cage(tmp_path: Path, how: str) -> None:
    path = tmp_path / "holiday.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    with opened_alone(path) as descriptor:
        task = caged_task(f"{__name__}:{refuse_a_handed_file.__name__}")
        outcome = task.call([(descriptor, path.name)], how, PROBE_CAGE)
    with pytest.raises(SecondfaceError) as caught:
        answer_of(path.name, outcome, PROBE_CAGE)
    assert "holiday.png" in str(caught.value)
    assert "/dev/fd" not in str(caught.value)


def test_readers_name_a_handed_file_alone_and_a_path_whole(tmp_path: Path) -> None:
    missing = tmp_path / "none.png"
    for path, name in ((handed_path(999, "holiday.png"), "holiday.png"), (missing, str(missing))):
        for read in (sniff, lambda each: still_info(each, Limits())):
            with pytest.raises(FileUnreadable) as caught:
                read(path)
            assert caught.value.detail.startswith(f"{name}: ")
