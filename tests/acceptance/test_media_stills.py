"""Real pictures of every kind: size, orientation and colour as a viewer shows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from secondface.media.images import read_still, write_still
from secondface.media.probe import probe

MEDIA = Path(__file__).parents[2] / ".." / "shared" / "media"
pytestmark = pytest.mark.skipif(not MEDIA.is_dir(), reason="the shared media are not beside this checkout")

STILLS = sorted(path for path in (MEDIA / "formats").glob("*") if not path.name.startswith("vid_"))
SIZES = {
    "img_16bit_gray.png": (384, 384), "img_16bit_rgb.png": (384, 384), "img_1x1.png": (1, 1),
    "img_animated.gif": (320, 180), "img_animated.webp": (320, 180), "img_multipage.tiff": (320, 180),
    "img_exif_orientation3.jpg": (424, 632), "img_exif_orientation5.jpg": (424, 632),
    "img_exif_orientation6.png": (212, 316), "img_exif_orientation6.webp": (424, 632),
    "img_extreme_aspect_6000x64.jpg": (6000, 64), "img_heic_exif6_no_irot.heic": (632, 424),
    "img_heic_irot90.heic": (424, 632), "IMG_UPPER.JPG": (256, 256), "img_png_named_as.jpg": (256, 256),
    "-weird 'näme' 日本 & ;$(x) %20 .jpg": (256, 256),
}  # fmt: skip
ALPHA = {"img_rgba_alpha.png", "img_rgba_alpha.webp", "img_gray_alpha_LA.png", "img_animated.webp"}


def colours(name: str) -> np.ndarray:
    return read_still(MEDIA / "formats" / name).frame.rgb.astype(int)


@pytest.mark.parametrize("path", STILLS, ids=lambda path: path.name)
def test_every_picture_is_read_and_written(path: Path, tmp_path: Path) -> None:
    still = read_still(path)
    size = SIZES.get(path.name, (512, 512))
    assert (still.frame.width, still.frame.height) == size
    assert (probe(path).width, probe(path).height) == size
    assert (still.alpha is not None) == (path.name in ALPHA)
    write_still(tmp_path / "out.png", still.frame.rgb, still)
    again = read_still(tmp_path / "out.png")
    np.testing.assert_array_equal(again.frame.rgb, still.frame.rgb)
    if still.alpha is not None:
        np.testing.assert_array_equal(again.alpha, still.alpha)


@pytest.mark.parametrize("name", ["img_icc_SwappedRedAndGreen.jpg", "img_icc_ProPhotoRGB.jpg", "img_cmyk.jpg",
                                  "img_avif.avif", "img_heic.heic", "img_palette.png"])  # fmt: skip
def test_one_picture_in_many_codings_looks_the_same(name: str) -> None:
    difference = np.abs(colours(name) - colours("img_jpeg_444_q100.jpg"))
    assert difference.mean() < (12 if name in ("img_cmyk.jpg", "img_palette.png") else 5)


def test_a_gray_picture_is_gray() -> None:
    for name in ("img_gray.jpg", "img_16bit_gray.png", "img_1bit.png"):
        assert np.ptp(colours(name), axis=2).max() == 0


def test_sixteen_bits_are_toned_not_cut() -> None:
    assert 60 < colours("img_16bit_gray.png").mean() < 200
    assert 60 < colours("img_16bit_rgb.png").mean() < 200


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".avif", ".tiff"])
def test_a_polyglot_tail_never_reaches_an_output(suffix: str, tmp_path: Path) -> None:
    for name in ("polyglot_jpeg_php_comment.jpg", "polyglot_jpeg_plus_zip.jpg"):
        still = read_still(MEDIA / "broken" / name)
        write_still(tmp_path / f"out{suffix}", still.frame.rgb, still)
        content = (tmp_path / f"out{suffix}").read_bytes()
        assert b"<?php" not in content and b"PK\x03\x04" not in content
