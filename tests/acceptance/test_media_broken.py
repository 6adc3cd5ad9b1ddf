"""Broken and hostile files: a stable code, quickly, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from secondface.errors import SecondfaceError
from secondface.media.cage import can_cage
from secondface.media.caged_task import INSPECTION, caged_task
from secondface.media.limits import Limits
from secondface.media.probe import PROBE_CAGE, answer_of, opened_alone, probe
from secondface.media.read import VideoReader
from tests.sample_media import MEDIA, needs_media

pytestmark = needs_media

CODES = {
    "bad_box_size.mp4": "media_corrupt",
    "bad_ihdr_crc.png": "media_corrupt",
    "bomb_20000x20000_gray.png": "media_too_large",
    "corrupt_idat_bitflip.png": "media_corrupt",
    "fake_duration_61min_header.mkv": "works",
    "fake_duration_61min_header.mp4": "works",
    "ffconcat_named.mp4": "media_unsupported",
    "ftyp_only.mp4": "media_empty",
    "gif_logical_screen_65535.gif": "media_too_large",
    "header_lies_100000x100000.png": "media_too_large",
    "html_named.png": "media_unsupported",
    "jpeg_named.mp4": "works",
    "jpeg_sof_zero_height.jpg": "media_corrupt",
    "m3u8_named.mp4": "media_unsupported",
    "mp4_named.jpg": "works",
    "png_ztxt_bomb_50MB.png": "media_too_large",
    "polyglot_jpeg_php_comment.jpg": "works",
    "polyglot_jpeg_plus_zip.jpg": "works",
    "random_bytes.mp4": "media_unsupported",
    "sample_entry_lies_32000x32000.mp4": "works",
    "svg_named.png": "media_unsupported",
    "text_named.jpg": "media_unsupported",
    "truncated_faststart_half.mp4": "works",
    "truncated_half.jpg": "media_corrupt",
    "truncated_half.webm": "works",
    "truncated_header_only_200b.jpg": "media_corrupt",
    "zero_bytes.mp4": "media_empty",
    "zero_bytes.png": "media_empty",
}

_READ_ALL = """
import json, pathlib, resource, sys, time
from secondface.errors import SecondfaceError
from secondface.media.images import read_still
from secondface.media.probe import probe
from secondface.media.read import VideoReader

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    start, before = time.process_time(), peak_mb()
    try:
        if probe(path).kind == "still":
            read_still(path)
        else:
            with VideoReader(path) as reader:
                for frame in reader.frames():
                    pass
        code = "works"
    except SecondfaceError as error:
        code = error.code
    print(json.dumps([path.name, code, time.process_time() - start, peak_mb() - before]))
"""


def test_each_broken_file_has_its_code() -> None:
    command = [sys.executable, "-W", "error", "-c", _READ_ALL, str(MEDIA / "broken")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name: code for name, code, _, _ in rows} == CODES
    assert max(seconds for _, _, seconds, _ in rows) < 5
    assert max(grown_mb for _, _, _, grown_mb in rows) < 300


LOOKS_WHOLE = {"corrupt_idat_bitflip.png", "truncated_half.jpg"}
"""Only decoding shows what these lack."""
ENDS_EARLY = {"truncated_half.webm", "truncated_faststart_half.mp4"}


@pytest.mark.skipif(not can_cage(), reason="only Linux can cage a process")
@pytest.mark.parametrize("name", sorted(CODES))
def test_the_caged_look_at_each(name: str) -> None:
    with opened_alone(MEDIA / "broken" / name) as descriptor:
        outcome = caged_task(INSPECTION).call([(descriptor, name)], Limits().words(), PROBE_CAGE)
    assert outcome.status == 0
    assert outcome.cpu_s < 5
    assert outcome.peak_bytes < 300 << 20, "all of the child, what it shares included"
    try:
        info = answer_of(name, outcome, PROBE_CAGE)
        code = "works"
        assert bool(info.file_notes) == (name in ENDS_EARLY), info.file_notes
    except SecondfaceError as error:
        code = error.code
        assert error.detail.startswith(name)
    assert code == ("works" if name in LOOKS_WHOLE else CODES[name])


def test_a_file_that_ends_early_says_where() -> None:
    assert probe(MEDIA / "broken" / "truncated_half.webm").file_notes == (
        "the file ends early: 39661 of 79323 bytes are there, what came after them is lost",
    )


def test_a_film_whose_end_is_missing_is_read_up_to_there() -> None:
    with VideoReader(MEDIA / "broken" / "truncated_faststart_half.mp4") as reader:
        count = sum(1 for _ in reader.frames())
        assert 0 < count < 50
        assert any("could not be decoded" in note and "at 0.400 s" in note for note in reader.late_notes())
