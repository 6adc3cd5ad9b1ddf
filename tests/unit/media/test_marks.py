"""Marks of files that mean harm: found, and never whole in memory."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from PIL import Image

from secondface.media.gif_output import gif_xmp
from secondface.media.marks import read_stored_marks

_MIB = 1 << 20
_EXTENSION = b"\x21\xff\x0bXMP DataXMP"
_END = b"\x01" + bytes(range(0xFF, -1, -1)) + b"\x00"


def endless_gif(path: Path, packet: bytes) -> None:
    """A picture of one pixel, 300 MiB of comments that take no room on the disk, and a packet behind them."""
    drawn = io.BytesIO()
    Image.new("P", (1, 1)).save(drawn, "GIF")
    with path.open("wb") as file:
        file.write(drawn.getvalue()[:-1] + b"\x21\xfe\x00")
        file.seek(300 * _MIB, io.SEEK_CUR)
        file.write(_EXTENSION + packet + _END + b"\x00;")


def test_a_gif_of_any_length_is_looked_through_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.gif"
    endless_gif(path, b"<x:xmpmeta/>")
    script = (
        "import resource, sys\n"
        "from secondface.media.marks import read_stored_marks\n"
        "used = int(next(l for l in open('/proc/self/status') if l.startswith('VmData')).split()[1]) * 1024\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (used + (96 << 20),) * 2)\n"
        "print(read_stored_marks(sys.argv[1]).xmp)"
    )
    told = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=False)
    assert told.stdout == "b'<x:xmpmeta/>'\n", told.stderr


def test_a_packet_of_any_length_is_cut(tmp_path: Path) -> None:
    found = gif_xmp(b"GIF89a" + _EXTENSION + bytes(20 * _MIB) + _END)
    assert found is not None and len(found) == 2 * _MIB
    path = tmp_path / "none.gif"
    Image.new("P", (1, 1)).save(path, "GIF")
    assert read_stored_marks(path).xmp is None
