from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import ExifTags, Image, ImageCms, PngImagePlugin

from secondface.errors import (
    InvalidOption,
    MediaCorrupt,
    MediaTooLarge,
    MediaUnsupported,
    OutputFormatUnsupported,
    OutputNotWritable,
)
from secondface.media.images import StillOptions, read_still, still_info, write_still
from secondface.media.limits import Limits
from secondface.media.probe import probe
from secondface.media.still_output import require_possible

XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><a b="\xe4\xb8\xad"/></x:xmpmeta>'


def picture(width: int = 48, height: int = 32) -> np.ndarray:
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return np.stack([x, y, 255 - x], -1).astype(np.uint8)


def exif(orientation: int | None = None) -> Image.Exif:
    tags = Image.Exif()
    if orientation is not None:
        tags[ExifTags.Base.Orientation] = orientation
    tags[ExifTags.Base.DateTime] = "2024:05:06 07:08:09"
    tags[ExifTags.Base.Make] = "SecretCam"
    tags.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.BodySerialNumber] = "SN-12345"
    tags.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitudeRef] = "N"
    tags.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitude] = (51.0, 28.0, 38.0)
    return tags


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_undone(tmp_path: Path, orientation: int) -> None:
    upright = picture()
    # stored so that the tag turns it back
    undo = {1: lambda a: a, 2: lambda a: a[:, ::-1], 3: lambda a: a[::-1, ::-1], 4: lambda a: a[::-1],
            5: lambda a: a.transpose(1, 0, 2), 6: np.rot90, 7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
            8: lambda a: np.rot90(a, -1)}[orientation]  # fmt: skip
    path = tmp_path / "a.png"
    Image.fromarray(np.ascontiguousarray(undo(upright))).save(path, exif=exif(orientation))
    still = read_still(path)
    np.testing.assert_array_equal(still.frame.read(), upright)
    assert (still_info(path).width, still_info(path).height) == (48, 32)
    assert still.metadata == {"captured": "2024:05:06 07:08:09"}


@pytest.mark.parametrize("mode", ["L", "LA", "1", "P", "RGBA", "CMYK", "I;16", "F"])
def test_every_mode_becomes_the_right_rgb(tmp_path: Path, mode: str) -> None:
    gray = np.repeat(np.linspace(0, 255, 48).round().astype(np.uint8)[None], 32, 0)
    suffix = ".tiff" if mode in ("CMYK", "F") else ".png"
    if mode == "I;16":
        source = Image.fromarray(gray.astype(np.uint16) * 257)
    elif mode == "F":
        source = Image.fromarray(gray.astype(np.float32) / 255)
    else:
        source = Image.fromarray(gray).convert("RGB").convert(mode, dither=Image.Dither.NONE)
    source.save(tmp_path / f"a{suffix}")
    still = read_still(tmp_path / f"a{suffix}")
    expected = (gray > 127).astype(np.uint8) * 255 if mode == "1" else gray
    tolerance = 27 if mode == "P" else 2 if mode == "CMYK" else 0  # the web palette has six grays
    assert np.abs(still.frame.rgb.astype(int) - expected[:, :, None]).max() <= tolerance
    assert (still.alpha is not None) == (mode in ("LA", "RGBA"))


def test_transparent_palettes_have_alpha(tmp_path: Path) -> None:
    source = Image.fromarray(picture()).quantize(16)
    source.save(tmp_path / "a.png", transparency=0)
    still = read_still(tmp_path / "a.png")
    assert still.alpha is not None and set(np.unique(still.alpha)) == {0, 255}


def swapped_profile() -> bytes:
    """sRGB with the colorants of red and green exchanged, by renaming two tags of the profile."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    for at in range(132, 132 + 12 * int.from_bytes(profile[128:132], "big"), 12):
        name = {b"rXYZ": b"gXYZ", b"gXYZ": b"rXYZ"}.get(bytes(profile[at : at + 4]))
        if name:
            profile[at : at + 4] = name
    return bytes(profile)


def test_a_profile_is_applied(tmp_path: Path) -> None:
    Image.fromarray(picture()).save(tmp_path / "a.png", icc_profile=swapped_profile())
    got = read_still(tmp_path / "a.png").frame.rgb.astype(int)
    assert np.abs(got - picture()[:, :, [1, 0, 2]]).max() <= 2


def test_an_srgb_profile_changes_nothing(tmp_path: Path) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(picture()).save(tmp_path / "a.png", icc_profile=profile)
    np.testing.assert_array_equal(read_still(tmp_path / "a.png").frame.rgb, picture())


def test_a_damaged_profile_is_noted(tmp_path: Path) -> None:
    Image.fromarray(picture()).save(tmp_path / "a.png", icc_profile=b"not a profile")
    still = read_still(tmp_path / "a.png")
    np.testing.assert_array_equal(still.frame.rgb, picture())
    assert "profile" in still.info.notes[0]


@pytest.mark.parametrize("suffix", [".png", ".tiff", ".jpg", ".webp", ".avif"])
@pytest.mark.parametrize("with_alpha", [False, True])
def test_what_is_written_can_be_read_back(tmp_path: Path, suffix: str, with_alpha: bool) -> None:
    source = Image.fromarray(picture())
    if with_alpha:
        source.putalpha(Image.fromarray(picture()[:, :, 0]))
    source.save(tmp_path / "in.png", exif=exif(1))
    still = read_still(tmp_path / "in.png")
    target = tmp_path / f"out{suffix}"
    notes = write_still(target, still.frame.rgb, still, xmp=XMP)
    again = read_still(target)
    exact = suffix in (".png", ".tiff")
    if not with_alpha or exact:
        assert np.abs(again.frame.rgb.astype(int) - still.frame.rgb).max() <= (0 if exact else 24)
    assert (again.alpha is not None) == (with_alpha and suffix != ".jpg")
    assert bool(notes) == (with_alpha and suffix == ".jpg")
    assert again.metadata == still.metadata
    content = target.read_bytes()
    assert b"SecretCam" not in content and b"SN-12345" not in content
    with Image.open(target) as written:
        written.load()
        stored = written.info.get("xmp")
        assert stored == XMP and not written.getexif().get_ifd(ExifTags.IFD.GPSInfo)
    assert {path.name for path in tmp_path.iterdir()} == {"in.png", target.name}


def test_jpeg_keeps_full_colour(tmp_path: Path) -> None:
    rgb = np.zeros((16, 16, 3), np.uint8)
    rgb[:, ::2] = (255, 0, 0)
    rgb[:, 1::2] = (0, 0, 255)
    write_still(tmp_path / "a.jpg", rgb)
    assert np.abs(read_still(tmp_path / "a.jpg").frame.rgb.astype(int) - rgb).max() < 40


@pytest.mark.parametrize("quality", [50, 94, 100])
def test_jpeg_takes_any_grain(tmp_path: Path, quality: int) -> None:
    grain = np.random.default_rng(1).integers(0, 256, (400, 300, 3), np.uint8)
    write_still(tmp_path / "out.jpg", grain, options=StillOptions(quality=quality))
    assert read_still(tmp_path / "out.jpg").frame.rgb.shape == grain.shape


def test_quality_and_lossless(tmp_path: Path) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    write_still(tmp_path / "a.webp", rgb, options=StillOptions(lossless=True))
    np.testing.assert_array_equal(read_still(tmp_path / "a.webp").frame.rgb, rgb)
    for quality in (20, 90):
        write_still(tmp_path / f"{quality}.jpg", rgb, options=StillOptions(quality=quality))
    assert (tmp_path / "20.jpg").stat().st_size < (tmp_path / "90.jpg").stat().st_size
    with pytest.raises(InvalidOption):
        StillOptions(quality=0)


def test_alpha_grows_with_the_picture(tmp_path: Path) -> None:
    source = Image.fromarray(picture())
    source.putalpha(128)
    source.save(tmp_path / "a.png")
    still = read_still(tmp_path / "a.png")
    write_still(tmp_path / "b.png", np.zeros((64, 96, 3), np.uint8), still)
    again = read_still(tmp_path / "b.png")
    assert again.alpha is not None and again.alpha.shape == (64, 96) and set(np.unique(again.alpha)) == {128}


def test_heif_is_read(tmp_path: Path) -> None:
    pillow_heif.from_pillow(Image.fromarray(picture(64, 64))).save(tmp_path / "a.heic", quality=95)
    still = read_still(tmp_path / "a.heic")
    assert still.info.format_name == "HEIF"
    assert np.abs(still.frame.rgb.astype(int) - picture(64, 64)).mean() < 4


def test_animations_give_their_first_frame(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((16, 16, 3), value, np.uint8)) for value in (10, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    still = read_still(tmp_path / "a.gif")
    assert np.abs(still.frame.rgb.astype(int) - 10).max() <= 2
    assert still.info.notes == ("only the first of 2 frames is used",)


def test_refusals(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(picture()).save(path)
    with pytest.raises(MediaTooLarge, match="48x32"):
        read_still(path, Limits(still_pixels=100))
    data = path.read_bytes()
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    with pytest.raises(MediaCorrupt):
        read_still(tmp_path / "cut.png")
    info = PngImagePlugin.PngInfo()
    info.add_text("comment", "x" * 50_000_000, zip=True)
    Image.fromarray(picture()).save(tmp_path / "bomb.png", pnginfo=info)
    with pytest.raises(MediaTooLarge):
        read_still(tmp_path / "bomb.png")
    (tmp_path / "a.mp4").write_bytes(b"\0\0\0\x14ftypisom\0\0\0\0isom")
    with pytest.raises(MediaUnsupported, match="a video"):
        read_still(tmp_path / "a.mp4")


def test_names_decide_only_the_output(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.fromarray(picture()).save(buffer, "PNG")
    (tmp_path / "really_png.jpg").write_bytes(buffer.getvalue())
    assert probe(tmp_path / "really_png.jpg").format_name == "PNG"
    for name in ("a.bmp", "a.xyz", "a"):
        with pytest.raises(OutputFormatUnsupported):
            write_still(tmp_path / name, picture())
    with pytest.raises(OutputNotWritable):
        write_still(tmp_path / "missing" / "a.png", picture())


@pytest.mark.parametrize("name", ["out.jpg", "out.avif"])
def test_a_format_that_always_loses_something_refuses_lossless(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="lossless"):
        require_possible(tmp_path / name, StillOptions(lossless=True))
    require_possible(tmp_path / "out.webp", StillOptions(lossless=True))


_FULL_DISK = """
import resource, sys
import numpy as np
from secondface.errors import DiskFull
from secondface.media.still_output import write_still
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
try:
    write_still(sys.argv[1], np.random.default_rng(1).integers(0, 256, (256, 256, 3), np.uint8))
except DiskFull as error:
    print("DiskFull", error.detail)
"""


@pytest.mark.parametrize("ending", ["png", "jpg", "webp", "avif", "tiff"])
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    command = [sys.executable, "-c", _FULL_DISK, str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith(f"DiskFull {target}"), done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
