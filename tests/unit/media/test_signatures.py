from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.errors import FileUnreadable, MediaEmpty, MediaUnsupported
from secondface.media.signatures import signature_of, sniff


@pytest.mark.parametrize(
    ("head", "kind", "name"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "still", "PNG"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "still", "JPEG"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "still", "WEBP"),
        (b"\0\0\0\x1cftypavif\0\0\0\0mif1avifmiaf", "still", "AVIF"),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", "still", "AVIF"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "still", "HEIF"),
        (b"\0\0\0\x14ftypisom\0\0\0\0isom", "video", "mov,mp4,m4a,3gp,3g2,mj2"),
        (b"\0\0\0\x14ftypqt  \0\0\0\0qt  ", "video", "mov,mp4,m4a,3gp,3g2,mj2"),
        (b"\0\0\0\x08wide\0\0\0\0mdat", "video", "mov,mp4,m4a,3gp,3g2,mj2"),
        (b"\x1aE\xdf\xa3" + bytes(20), "video", "matroska,webm"),
        ((b"G" + bytes(187)) * 4, "video", "mpegts"),
        ((bytes(4) + b"G" + bytes(187)) * 4, "video", "mpegts"),
    ],
)
def test_formats_are_known_by_their_bytes(head: bytes, kind: str, name: str) -> None:
    found = signature_of(head)
    assert found is not None
    assert (found.kind, found.format_name) == (kind, name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"#EXTM3U\n#EXTINF:1,\nsecret.ts\n", "a playlist"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", "a concat script"),
        (b"\xef\xbb\xbf<svg xmlns='x'><image href='file:///etc/passwd'/></svg>", "SVG"),
        (b"<?xml version='1.0'?><MPD/>", "XML"),
        (b"<html>", "HTML"),
        (b"just words\n" * 40, "text"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "its first bytes match no"),
        (bytes(range(256)), "its first bytes match no"),
    ],
)
def test_whatever_can_name_another_file_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "named.mp4"
    path.write_bytes(content)
    with pytest.raises(MediaUnsupported, match=words):
        sniff(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="No such file"):
        sniff(tmp_path / "missing.mp4")
    with pytest.raises(FileUnreadable, match="not an ordinary file"):
        sniff(tmp_path)
    with pytest.raises(FileUnreadable):
        sniff(Path("a\0b"))
    (tmp_path / "empty").touch()
    with pytest.raises(MediaEmpty):
        sniff(tmp_path / "empty")


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(FileUnreadable, match="not an ordinary file"):
        sniff(tmp_path / "pipe.mp4")


@given(st.binary(max_size=600))
def test_no_bytes_break_the_look(head: bytes) -> None:
    signature_of(head)
