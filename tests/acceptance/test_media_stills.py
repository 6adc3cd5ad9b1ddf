"""Every real picture: what it is, how it looks, and what becomes of it in each format, as target and as source."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from secondface.errors import NoFaceInSource, OutputFormatUnsupported
from secondface.media.images import read_still, write_still
from secondface.media.marks import read_stored_marks
from secondface.media.probe import probe
from secondface.media.still_frames import DeepFrame
from secondface.models.sessions import OrtSessions
from secondface.pipeline.run import run_file
from secondface.provenance.metadata import read_marks
from secondface.spec.schemas import RunRequest
from tests.sample_media import MEDIA, needs_media

pytestmark = needs_media

WOMAN, SELFIE = "synth_P009_woman_dark_long_front.jpg", "synth_P006_selfie_outdoor.jpg"


@dataclass(frozen=True)
class Row:
    """What one file is: upright size, Pillow's mode of its own output, bits, alpha, and which portrait it shows."""

    size: tuple[int, int] = (512, 512)
    mode: str = "RGB"
    depth: int = 8
    alpha: bool = False
    opaque: bool = False
    """Whether the alpha that it has says nothing, so that codecs may drop it."""
    shows: str | None = WOMAN
    unlike: float = 6.0
    """Mean difference from the portrait, of 255, that its coding explains."""
    notes: tuple[str, ...] = ()
    own: str | None = None
    """Ending of its own format; None where the name tells, "" where no such output can be written."""


FIRST_OF_12 = "only the first of 12 frames is used"
TABLE = {
    "img_16bit_gray.png": Row((384, 384), "I;16", 16, shows=None),
    "img_16bit_rgb.png": Row((384, 384), "RGB", 16),
    "img_1bit.png": Row(mode="L", shows=None),
    "img_1x1.png": Row((1, 1), shows=None),
    "img_animated.gif": Row((320, 180), "RGB", shows=None, notes=(FIRST_OF_12,)),
    "img_animated.webp": Row((320, 180), alpha=True, opaque=True, shows=None, notes=(FIRST_OF_12,)),
    "img_avif.avif": Row(),
    "img_cmyk.jpg": Row(notes=("CMYK becomes sRGB",)),
    "img_exif_orientation3.jpg": Row((424, 632), shows=SELFIE),
    "img_exif_orientation5.jpg": Row((424, 632), shows=SELFIE),
    "img_exif_orientation6.png": Row((212, 316), shows=SELFIE),
    "img_exif_orientation6.webp": Row((424, 632), shows=SELFIE),
    "img_extreme_aspect_6000x64.jpg": Row((6000, 64), unlike=8.0),
    "img_gray.jpg": Row(mode="L", shows=None),
    "img_gray_alpha_LA.png": Row(mode="LA", alpha=True, shows=None),
    "img_heic.heic": Row(own=""),
    "img_heic_exif6_no_irot.heic": Row((632, 424), shows=None, own=""),
    "img_heic_irot90.heic": Row((424, 632), shows=None, own=""),
    "img_icc_ProPhotoRGB.jpg": Row(notes=("its colours are converted to sRGB",)),
    "img_icc_SwappedRedAndGreen.jpg": Row(notes=("its colours are converted to sRGB",)),
    "img_jpeg_444_q100.jpg": Row(),
    "img_jpeg_named_as.png": Row(),
    "img_multipage.tiff": Row((320, 180), shows=None, notes=("only the first of 2 pages is used",)),
    "img_palette.png": Row(unlike=8.0),
    "img_png_named_as.jpg": Row((256, 256)),
    "img_progressive.jpg": Row(),
    "img_rgba_alpha.png": Row(mode="RGBA", alpha=True),
    "img_rgba_alpha.webp": Row(mode="RGBA", alpha=True, unlike=12.0),
    "IMG_UPPER.JPG": Row((256, 256)),
    "-weird 'näme' 日本 & ;$(x) %20 .jpg": Row((256, 256)),
}  # fmt: skip
FACELESS = {"img_1x1.png", "img_extreme_aspect_6000x64.jpg"}
"""No face is in these (one pixel, a row of 64); one on its side is found."""


def file_of(name: str) -> Path:
    return MEDIA / "formats" / name


def portrait(name: str, size: tuple[int, int]) -> np.ndarray:
    with Image.open(MEDIA / "portraits" / name) as picture:
        return np.asarray(picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)).astype(int)


def output_name(name: str) -> str:
    row = TABLE[name]
    return f"out{Path(name).suffix.lower() if row.own is None else row.own}"


def test_the_table_names_every_still() -> None:
    here = {path.name for path in (MEDIA / "formats").iterdir() if not path.name.startswith("vid_")}
    assert here == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_every_picture_is_read_as_what_it_is(name: str) -> None:
    row, still = TABLE[name], read_still(file_of(name))
    assert (still.frame.width, still.frame.height) == row.size
    assert (probe(file_of(name)).width, probe(file_of(name)).height) == row.size
    assert still.coding.depth == row.depth and isinstance(still.frame, DeepFrame) == (row.depth > 8)
    assert (still.alpha is not None) == row.alpha
    assert still.info.notes == row.notes
    assert still.coding.is_gray == (row.mode in ("L", "LA", "I;16"))
    if row.shows is not None:
        seen, wanted = still.frame.rgb.astype(int), portrait(row.shows, row.size)
        visible = np.ones(seen.shape[:2], bool) if still.alpha is None else still.alpha > 200
        assert np.abs(seen - wanted)[visible].mean() < row.unlike


@pytest.mark.parametrize("ending", ["own", "png", "jpg", "webp", "avif", "tiff"])
@pytest.mark.parametrize("name", TABLE)
def test_every_picture_is_written_in_every_format(name: str, ending: str, tmp_path: Path) -> None:
    row, still = TABLE[name], read_still(file_of(name))
    out = tmp_path / (output_name(name) if ending == "own" else f"out.{ending}")
    if ending == "own" and row.own == "":
        with pytest.raises(OutputFormatUnsupported):
            write_still(tmp_path / "out.heic", still.frame, still)
        return
    notes = write_still(out, still.frame, still)
    again = read_still(out)
    assert (again.frame.width, again.frame.height) == row.size
    with Image.open(out) as written:
        assert written.getexif().get(ExifTags.Base.Orientation, 1) == 1
        assert not written.getexif().get_ifd(ExifTags.IFD.GPSInfo)
    deep = row.depth > 8 and out.suffix in (".png", ".tiff", ".avif")
    assert again.coding.depth == ((12 if out.suffix == ".avif" else 16) if deep else 8)
    if not row.opaque:
        assert (again.alpha is not None) == (row.alpha and out.suffix != ".jpg")
    halved = row.depth > 8 and out.suffix == ".avif" and not row.mode.startswith("I;")
    assert bool(notes) == ((row.alpha and out.suffix == ".jpg") or (row.depth > 8 and not deep) or halved)
    before, after = still.frame.rgb.astype(int), again.frame.rgb.astype(int)
    if out.suffix in (".png", ".tiff"):
        np.testing.assert_array_equal(after, before)
        np.testing.assert_array_equal(again.alpha, still.alpha)
    elif not row.alpha:
        assert np.abs(after - before).mean() < (30 if row.size == (1, 1) else 6)


def test_the_swapped_profile_looks_like_its_sibling_and_says_srgb(tmp_path: Path) -> None:
    swapped, sibling = read_still(file_of("img_icc_SwappedRedAndGreen.jpg")), read_still(
        file_of("img_jpeg_444_q100.jpg")
    )  # fmt: skip
    difference = np.abs(swapped.frame.rgb.astype(int) - sibling.frame.rgb)
    assert difference.mean() < 2 and np.percentile(difference, 99) < 12
    with Image.open(file_of("img_icc_SwappedRedAndGreen.jpg")) as stored:
        unmanaged = np.asarray(stored).astype(int)
    assert np.abs(unmanaged - sibling.frame.rgb).mean() > 8  # without its profile it is visibly wrong
    for ending in ("jpg", "png", "webp", "avif", "tiff"):
        write_still(tmp_path / f"out.{ending}", swapped.frame, swapped)
        with Image.open(tmp_path / f"out.{ending}") as written:
            assert written.info["icc_profile"] != stored.info["icc_profile"]
            plain = np.asarray(written.convert("RGB")).astype(int)
        assert np.abs(plain - sibling.frame.rgb).mean() < 4


def test_turns_of_heic_are_those_of_its_boxes() -> None:
    """irot turns, EXIF does not: the file with EXIF 6 alone is shown as it is stored."""
    upright = portrait(SELFIE, (424, 632))
    turned = read_still(file_of("img_heic_irot90.heic")).frame.rgb.astype(int)
    stored = read_still(file_of("img_heic_exif6_no_irot.heic")).frame.rgb.astype(int)
    assert np.abs(np.rot90(stored, -1) - upright).mean() < 6
    assert min(np.abs(np.rot90(turned, quarter) - upright).mean() for quarter in (0, 2)) < 6


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".avif", ".tiff", ".gif"])
def test_a_polyglot_tail_never_reaches_an_output(suffix: str, tmp_path: Path) -> None:
    for name in ("polyglot_jpeg_php_comment.jpg", "polyglot_jpeg_plus_zip.jpg"):
        still = read_still(MEDIA / "broken" / name)
        write_still(tmp_path / f"out{suffix}", still.frame, still)
        content = (tmp_path / f"out{suffix}").read_bytes()
        assert b"<?php" not in content and b"PK\x03\x04" not in content


@pytest.fixture(scope="module")
def sessions() -> OrtSessions:
    return OrtSessions("cpu")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TABLE if "animated" not in name])
def test_every_picture_can_be_the_target(name: str, sessions: OrtSessions, tmp_path: Path) -> None:
    row = TABLE[name]
    out = tmp_path / ("out.png" if row.own == "" else output_name(name))
    shutil.copy(file_of(name), tmp_path / "before")
    request = RunRequest.of_files(
        [MEDIA / "portraits" / SELFIE], file_of(name), out, restore="off", allow_no_face=True
    )  # fmt: skip
    report = run_file(request, sessions)
    assert (report.kind, report.frames, report.width, report.height) == ("still", 1, *row.size)
    assert bool(report.faces_swapped) == (name not in FACELESS)
    assert file_of(name).read_bytes() == (tmp_path / "before").read_bytes()
    with Image.open(out) as written:
        assert written.size == row.size
        assert written.mode == (row.mode if out.suffix not in (".jpg", ".webp") or row.mode != "RGB" else "RGB")
    assert read_still(out).coding.depth == row.depth
    stored = read_stored_marks(out)
    assert read_marks(stored.xmp, stored.tags).label is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_every_picture_with_a_face_can_be_the_source(name: str, sessions: OrtSessions, tmp_path: Path) -> None:
    target = MEDIA / "portraits/synth_P001_tiny_96px_derived.jpg"
    request = RunRequest.of_files([file_of(name)], target, tmp_path / "out.png", restore="off")
    if name in FACELESS:
        with pytest.raises(NoFaceInSource):
            run_file(request, sessions)
    else:
        assert run_file(request, sessions).faces_swapped == 1
