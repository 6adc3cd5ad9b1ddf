"""Kinds of stills beyond the everyday: depth, wide gamut, turns in every format, several pictures in one file."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pillow_heif
import pytest
from PIL import ExifTags, Image, ImageCms

from secondface.errors import MediaUnsupported
from secondface.frames import Box
from secondface.media.deep_output import Descriptions, avif_deep, png16
from secondface.media.images import Still, StillOptions, read_still, still_info, write_still
from secondface.media.png_chunks import chunk, with_chunks
from secondface.media.rgb_space import space_of_icc
from secondface.media.still_colour import srgb_profile
from secondface.media.still_frames import DeepFrame
from secondface.media.tiff_output import tiff

ADOBE_XY = (0.64, 0.33, 0.21, 0.71, 0.15, 0.06)


def deep_picture(height: int = 48, width: int = 64) -> np.ndarray:
    """A smooth picture [h,w,3] that uses all 16 bits, and whose corners differ."""
    y, x = np.mgrid[0:height, 0:width]
    red, green = 65535 * x / (width - 1), 65535 * y / (height - 1)
    return np.stack([red, green, (red + green) / 3 + 7000], -1).clip(0, 65535).astype(np.uint16)


def stored_for(upright: np.ndarray, orientation: int) -> np.ndarray:
    """The array that EXIF's `orientation` turns into `upright`."""
    swapped = upright.transpose(1, 0, *range(2, upright.ndim))
    return np.ascontiguousarray(
        {1: upright, 2: upright[:, ::-1], 3: upright[::-1, ::-1], 4: upright[::-1], 5: swapped,
         6: np.rot90(upright), 7: upright[::-1, ::-1].transpose(1, 0, *range(2, upright.ndim)),
         8: np.rot90(upright, -1)}[orientation]
    )  # fmt: skip


def turned_exif(orientation: int) -> bytes:
    tags = Image.Exif()
    tags.endian = "<"
    tags[ExifTags.Base.Orientation] = orientation
    return tags.tobytes()


def codes(still: Still) -> np.ndarray:
    assert isinstance(still.frame, DeepFrame)
    return still.frame.words


def words(path: Path) -> np.ndarray:
    return codes(read_still(path))


def matrix_profile(gamma: float, xy: tuple[float, ...]) -> bytes:
    """An ICC profile of a pure power and these primaries, by editing that of sRGB."""
    profile = bytearray(srgb_profile())
    columns = np.array([(x / y, 1, (1 - x - y) / y) for x, y in zip(xy[::2], xy[1::2], strict=True)]).T
    white = np.array([0.3127 / 0.329, 1, 0.3583 / 0.329])
    own = columns * np.linalg.solve(columns, white)
    bradford = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
    gain = (bradford @ np.array([0.9642, 1, 0.8249])) / (bradford @ own.sum(1))
    d50 = np.linalg.inv(bradford) @ np.diag(gain) @ bradford @ own
    for at in range(132, 132 + 12 * int.from_bytes(profile[128:132], "big"), 12):
        name, start = bytes(profile[at : at + 4]), int.from_bytes(profile[at + 4 : at + 8], "big")
        if name in (b"rXYZ", b"gXYZ", b"bXYZ"):
            column = d50[:, (b"rXYZ", b"gXYZ", b"bXYZ").index(name)]
            profile[start + 8 : start + 20] = struct.pack(">3i", *np.round(column * 65536).astype(int))
        elif name in (b"rTRC", b"gTRC", b"bTRC"):
            profile[start : start + 14] = b"curv" + bytes(4) + struct.pack(">IH", 1, round(gamma * 256))
    return bytes(profile)


ADOBE = matrix_profile(563 / 256, ADOBE_XY)


def through_littlecms(rgb: np.ndarray, profile: bytes) -> np.ndarray:
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    turned = ImageCms.profileToProfile(Image.fromarray(rgb), source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    return np.asarray(turned)


# Turns


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["png", "png16", "jpg", "webp", "tiff", "tiff16", "avif", "avif10"])
def test_orientation_is_undone_in_every_format(tmp_path: Path, kind: str, orientation: int) -> None:
    deep = deep_picture()
    upright = deep if kind.endswith(("16", "10")) else (deep >> 8).astype(np.uint8)
    stored, exif = stored_for(upright, orientation), turned_exif(orientation)
    path = tmp_path / f"a.{kind.rstrip('016')}"
    match kind:
        case "png16":
            path.write_bytes(png16(stored, None, Descriptions(exif.removeprefix(b"Exif\0\0"))))
        case "tiff" | "tiff16":
            path.write_bytes(tiff(stored, None, {274: (3, struct.pack("<H", orientation))}))
        case "avif10":
            path.write_bytes(avif_deep(stored, None, Descriptions(exif.removeprefix(b"Exif\0\0")), 10, 95))
        case "png" | "avif":
            Image.fromarray(stored).save(path, exif=exif, quality=95)
        case _:
            Image.fromarray(stored).save(path, exif=exif, quality=97)
    still = read_still(path)
    assert (still.frame.width, still.frame.height) == (64, 48)
    assert (still_info(path).width, still_info(path).height) == (64, 48)
    tolerance = 0 if kind.startswith(("png", "tiff")) else 3
    seen, wanted = still.frame.rgb.astype(int), (upright.astype(int) + 128) // 257 if upright.max() > 255 else upright
    assert np.abs(seen - wanted).mean() <= tolerance
    if kind.endswith("16"):
        np.testing.assert_array_equal(words(path), upright)


# Depth


@pytest.mark.parametrize("suffix", ["png", "tiff"])
@pytest.mark.parametrize("kind", ["rgb", "rgba", "gray"])
def test_16_bits_stay_16_bits(tmp_path: Path, suffix: str, kind: str) -> None:
    deep = deep_picture()
    colours = deep[..., 0] if kind == "gray" else deep
    alpha = np.ascontiguousarray(deep[..., 2]) if kind == "rgba" else None
    (tmp_path / "in.png").write_bytes(png16(colours, alpha, Descriptions()))
    still = read_still(tmp_path / "in.png")
    assert still.info.notes == ()
    out = tmp_path / f"out.{suffix}"
    assert write_still(out, still.frame, still) == ()
    stored = cv2.imdecode(np.frombuffer(out.read_bytes(), np.uint8), cv2.IMREAD_UNCHANGED)
    assert stored is not None and stored.dtype == np.uint16
    np.testing.assert_array_equal(stored if kind == "gray" else stored[..., 2::-1], colours)
    if alpha is not None:
        np.testing.assert_array_equal(stored[..., 3], alpha)


def test_only_what_is_written_of_a_deep_picture_changes(tmp_path: Path) -> None:
    deep = deep_picture()
    (tmp_path / "in.png").write_bytes(png16(deep, None, Descriptions(profile=ADOBE)))
    still = read_still(tmp_path / "in.png")
    region = still.frame.read(Box(10, 10, 30, 30))
    region[5:9, 5:9] = (90, 150, 120)
    still.frame.write(Box(10, 10, 30, 30), region)
    write_still(tmp_path / "out.png", still.frame, still)
    after = words(tmp_path / "out.png")
    changed = (after != deep).any(axis=2)
    assert changed[15:19, 15:19].all() and np.count_nonzero(changed) == 16
    seen = read_still(tmp_path / "out.png").frame.rgb[15:19, 15:19].astype(int)
    assert np.abs(seen - (90, 150, 120)).max() <= 1


def test_a_tone_of_16_bits_that_means_transparent(tmp_path: Path) -> None:
    tones = deep_picture()[:, :, 0]
    png = with_chunks(png16(tones, None, Descriptions()), chunk(b"tRNS", struct.pack(">H", tones[0, 5])))
    (tmp_path / "in.png").write_bytes(png)
    still = read_still(tmp_path / "in.png")
    np.testing.assert_array_equal(still.alpha == 0, tones == tones[0, 5])
    assert (still.coding.depth, still.coding.is_gray) == (16, True)
    write_still(tmp_path / "out.png", still.frame, still)
    written = read_still(tmp_path / "out.png")
    np.testing.assert_array_equal(written.alpha, still.alpha)
    np.testing.assert_array_equal(codes(written), codes(still))


def test_a_deep_avif_says_what_becomes_of_its_colour(tmp_path: Path) -> None:
    (tmp_path / "in.avif").write_bytes(avif_deep(deep_picture(), None, Descriptions(), 10, 100))
    still = read_still(tmp_path / "in.avif")
    for quality, note in ((90, ("4:2:0",)), (100, ())):
        notes = write_still(tmp_path / "out.avif", still.frame, still, StillOptions(quality=quality))
        assert [word for word in ("4:2:0",) if any(word in each for each in notes)] == list(note)
    np.testing.assert_array_equal(words(tmp_path / "out.avif"), codes(still))


def test_gray_with_alpha_of_16_bits(tmp_path: Path) -> None:
    deep = deep_picture()[..., 0]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in np.dstack([deep, deep[::-1]]))
    header = struct.pack(">IIBBBBB", 64, 48, 16, 4, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    (tmp_path / "in.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    still = read_still(tmp_path / "in.png")
    np.testing.assert_array_equal(words(tmp_path / "in.png")[..., 1], deep)
    np.testing.assert_array_equal(still.alpha, deep[::-1])


_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Column and row at which each pass of an interlaced PNG begins, and its steps."""


@pytest.mark.parametrize("depth", [8, 16])
def test_interlaced_png(tmp_path: Path, depth: int) -> None:
    deep = deep_picture(45, 61)
    samples = deep if depth == 16 else (deep >> 8).astype(np.uint8)
    rows = b"".join(
        b"\0" + row.astype(">u2" if depth == 16 else "u1").tobytes()
        for x, y, step_x, step_y in _ADAM7 for row in samples[y::step_y, x::step_x]
    )  # fmt: skip
    parts = (
        chunk(b"IHDR", struct.pack(">IIBBBBB", 61, 45, depth, 2, 0, 0, 1)), chunk(b"IDAT", zlib.compress(rows)),
        chunk(b"IEND", b""),
    )  # fmt: skip
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    if depth == 16:
        np.testing.assert_array_equal(words(tmp_path / "a.png"), samples)
    else:
        np.testing.assert_array_equal(read_still(tmp_path / "a.png").frame.rgb, samples)


@pytest.mark.parametrize("depth", [10, 12])
@pytest.mark.parametrize("with_alpha", [False, True])
def test_avif_keeps_its_bits(tmp_path: Path, depth: int, with_alpha: bool) -> None:
    deep = deep_picture()
    alpha = np.ascontiguousarray(deep[..., 0]) if with_alpha else None
    (tmp_path / "in.avif").write_bytes(avif_deep(deep, alpha, Descriptions(xmp=b"<a/>"), depth, 97))
    still = read_still(tmp_path / "in.avif")
    assert still.coding.depth == depth
    assert (still.alpha is not None) == with_alpha
    assert np.abs(words(tmp_path / "in.avif").astype(int) - deep).mean() < 400
    for name in ("out.avif", "out.png", "out.tiff"):
        write_still(tmp_path / name, still.frame, still, xmp=b"<a/>")
        again = read_still(tmp_path / name)
        assert isinstance(again.frame, DeepFrame) and (again.alpha is not None) == with_alpha
        assert np.abs(again.frame.words.astype(int) - codes(still)).mean() < (500 if name == "out.avif" else 1)
    assert read_still(tmp_path / "out.avif").coding.depth == depth
    assert write_still(tmp_path / "out.jpg", still.frame, still)[0] == f"{depth} bits become 8, in sRGB"


def test_heic_of_10_bits_stays_deep(tmp_path: Path) -> None:
    deep = deep_picture()
    heif = pillow_heif.from_bytes("RGB;16", (64, 48), deep.tobytes())
    heif.save(tmp_path / "in.heic", quality=-1)
    still = read_still(tmp_path / "in.heic")
    assert still.coding.depth == 10
    assert np.abs(words(tmp_path / "in.heic").astype(int) - deep).mean() < 600
    write_still(tmp_path / "out.avif", still.frame, still)
    assert read_still(tmp_path / "out.avif").coding.depth == 10


def test_heic_in_display_p3_looks_right_and_keeps_its_gamut(tmp_path: Path) -> None:
    deep = deep_picture()
    pillow_heif.from_bytes("RGB;16", (64, 48), deep.tobytes()).save(
        tmp_path / "in.heic", quality=-1, color_primaries=12, transfer_characteristics=13, matrix_coefficients=6
    )
    still = read_still(tmp_path / "in.heic")
    assert still.coding.cicp == (12, 13)
    red = np.array([[[234, 51, 35]]])  # what P3 says for the red of sRGB
    (tmp_path / "red.png").write_bytes(
        png16(np.full((8, 8, 3), red * 257, np.uint16), None, Descriptions(cicp=(12, 13)))
    )
    assert np.abs(read_still(tmp_path / "red.png").frame.rgb.astype(int) - (255, 0, 0)).max() <= 3
    write_still(tmp_path / "out.png", still.frame, still)
    assert read_still(tmp_path / "out.png").coding.cicp == (12, 13)
    np.testing.assert_array_equal(words(tmp_path / "out.png"), codes(still))
    write_still(tmp_path / "out.avif", still.frame, still)
    assert read_still(tmp_path / "out.avif").coding.cicp == (12, 13)


@pytest.mark.parametrize("transfer", [16, 18])
def test_hdr_stills_are_toned_for_sight_and_stay_hdr(tmp_path: Path, transfer: int) -> None:
    deep = deep_picture()
    (tmp_path / "in.avif").write_bytes(avif_deep(deep, None, Descriptions(cicp=(9, transfer)), 10, 95))
    still = read_still(tmp_path / "in.avif")
    assert still.coding.cicp == (9, transfer)
    assert np.abs(still.frame.rgb.astype(int) - (codes(still) >> 8)).mean() > 10
    write_still(tmp_path / "out.avif", still.frame, still)
    assert read_still(tmp_path / "out.avif").coding.cicp == (9, transfer)
    notes = write_still(tmp_path / "out.jpg", still.frame, still)
    assert "8" in notes[0]
    shown = read_still(tmp_path / "out.jpg").frame.rgb.astype(int)
    assert np.abs(shown - still.frame.rgb).mean() < 3


# Floating point and odd samples


def float_tiff(values: np.ndarray) -> bytes:
    """A TIFF of floats, made of one of words by exchanging what it says of its samples."""
    height, width = values.shape[:2]
    count = 1 if values.ndim == 2 else values.shape[2]
    rows = {256: width, 257: height, 259: 1, 262: 1 if count == 1 else 2, 273: 8, 277: count, 278: height,
            279: values.nbytes, 284: 1}  # fmt: skip
    entries = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in rows.items()]
    at = 8 + values.nbytes
    behind = at + 2 + 12 * (len(rows) + 2) + 4
    bits = struct.pack(f"<{count}H", *[8 * values.itemsize] * count)
    kinds = struct.pack(f"<{count}H", *[3] * count)
    for tag, value in ((258, bits), (339, kinds)):
        if len(value) <= 4:
            entries.append(struct.pack("<HHI", tag, 3, count) + value.ljust(4, b"\0"))
        else:
            entries.append(struct.pack("<HHII", tag, 3, count, behind))
            behind += len(value)
    extra = b"".join(value for value in (bits, kinds) if len(value) > 4)
    in_order = sorted(entries, key=lambda row: int.from_bytes(row[:2], "little"))
    body = b"".join(in_order)
    return (
        b"II*\0" + struct.pack("<I", at) + values.tobytes() + struct.pack("<H", len(entries)) + body + bytes(4) + extra
    )


@pytest.mark.parametrize("channels", [1, 3])
def test_float_tiff_is_toned_to_16_bits(tmp_path: Path, channels: int) -> None:
    deep = deep_picture()
    values = (deep / 65535).astype(np.float32)
    (tmp_path / "in.tiff").write_bytes(float_tiff(values if channels == 3 else np.ascontiguousarray(values[..., 0])))
    still = read_still(tmp_path / "in.tiff")
    got, wanted = words(tmp_path / "in.tiff").astype(int), deep if channels == 3 else deep[..., :1]
    assert np.abs(got - wanted).max() <= 1
    assert "floating point" in still.info.notes[0]


def test_half_floats_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "in.tiff").write_bytes(float_tiff((deep_picture() / 65535).astype(np.float16)))
    with pytest.raises(MediaUnsupported, match="3 floating-point samples of 16 bits"):
        read_still(tmp_path / "in.tiff")


# Colour


@pytest.mark.parametrize("suffix", ["png", "tiff", "jpg", "webp", "avif"])
def test_a_profile_is_applied_and_the_output_says_srgb(tmp_path: Path, suffix: str) -> None:
    rgb = (deep_picture() >> 8).astype(np.uint8)
    Image.fromarray(rgb).save(tmp_path / "in.png", icc_profile=ADOBE)
    still = read_still(tmp_path / "in.png")
    assert np.abs(still.frame.rgb.astype(int) - through_littlecms(rgb, ADOBE)).max() <= 1
    assert still.info.notes == ("its colours are converted to sRGB",)
    write_still(tmp_path / f"out.{suffix}", still.frame, still)
    with Image.open(tmp_path / f"out.{suffix}") as written:
        assert written.info["icc_profile"] == srgb_profile()
    again = read_still(tmp_path / f"out.{suffix}")
    assert np.abs(again.frame.rgb.astype(int) - still.frame.rgb).mean() < 3


@pytest.mark.parametrize("suffix", ["png", "tiff", "avif"])
def test_a_deep_picture_stays_in_its_own_space(tmp_path: Path, suffix: str) -> None:
    deep = deep_picture()
    (tmp_path / "in.png").write_bytes(png16(deep, None, Descriptions(profile=ADOBE)))
    still = read_still(tmp_path / "in.png")
    seen = still.frame.rgb.astype(int)
    expected = through_littlecms(((deep.astype(int) + 128) // 257).astype(np.uint8), ADOBE)
    assert np.abs(seen - expected).mean() < 0.3
    write_still(tmp_path / f"out.{suffix}", still.frame, still)
    with Image.open(tmp_path / f"out.{suffix}") as written:
        assert written.info["icc_profile"] == ADOBE
    if suffix != "avif":
        np.testing.assert_array_equal(words(tmp_path / f"out.{suffix}"), deep)


def test_profiles_of_curves_agree_with_littlecms() -> None:
    rgb = np.random.default_rng(3).integers(0, 256, (40, 50, 3), np.uint8)
    space = space_of_icc(ADOBE)
    assert space is not None and not space.is_srgb
    ours = space.shown(rgb.astype(np.uint16) * np.uint16(257))
    assert np.abs(ours.astype(int) - through_littlecms(rgb, ADOBE)).max() <= 1
    srgb = space_of_icc(srgb_profile())
    assert srgb is not None and srgb.is_srgb
    for broken in (b"", b"nonsense" * 40, ADOBE[:200], ADOBE[:130] + b"\xff" * 300):
        assert space_of_icc(broken) is None


def test_png_gamma_and_chromaticities_are_obeyed(tmp_path: Path) -> None:
    rgb = (deep_picture() >> 8).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "PNG")
    linear = with_chunks(buffer.getvalue(), chunk(b"gAMA", struct.pack(">I", 100_000)))
    (tmp_path / "linear.png").write_bytes(linear)
    seen = read_still(tmp_path / "linear.png").frame.rgb[:, :, 0].astype(int)
    light = rgb[:, :, 0] / 255.0
    wanted = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055) * 255
    assert np.abs(seen - wanted).max() <= 1
    points = [round(value * 100_000) for value in (0.3127, 0.329, *ADOBE_XY)]
    stored = chunk(b"gAMA", struct.pack(">I", 45_470)) + chunk(b"cHRM", struct.pack(">8I", *points))
    (tmp_path / "adobe.png").write_bytes(with_chunks(buffer.getvalue(), stored))
    seen = read_still(tmp_path / "adobe.png").frame.rgb.astype(int)
    assert np.abs(seen - through_littlecms(rgb, ADOBE)).mean() < 2
    usual = with_chunks(buffer.getvalue(), chunk(b"gAMA", struct.pack(">I", 45_455)))
    (tmp_path / "usual.png").write_bytes(usual)
    np.testing.assert_array_equal(read_still(tmp_path / "usual.png").frame.rgb, rgb)


def test_a_deep_png_with_gamma_becomes_srgb_of_16_bits(tmp_path: Path) -> None:
    deep = deep_picture()
    stored = with_chunks(png16(deep, None, Descriptions()), chunk(b"gAMA", struct.pack(">I", 100_000)))
    (tmp_path / "in.png").write_bytes(stored)
    light = deep / 65535
    wanted = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055) * 65535
    got = words(tmp_path / "in.png").astype(float)
    assert np.abs(got - wanted)[light > 0.001].max() < 40
    still = read_still(tmp_path / "in.png")
    write_still(tmp_path / "out.png", still.frame, still)
    np.testing.assert_array_equal(words(tmp_path / "out.png"), codes(still))


def test_a_camera_that_says_adobe_rgb_in_exif_is_believed(tmp_path: Path) -> None:
    rgb = (deep_picture() >> 8).astype(np.uint8)
    tags = Image.Exif()
    tags.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.ColorSpace] = 65535
    tags.get_ifd(ExifTags.IFD.Exif)[ExifTags.IFD.Interop] = {1: "R03"}
    Image.fromarray(rgb).save(tmp_path / "a.jpg", exif=tags, quality=100, subsampling=0)
    seen = read_still(tmp_path / "a.jpg").frame.rgb.astype(int)
    assert np.abs(seen - through_littlecms(rgb, ADOBE)).mean() < 2


@pytest.mark.parametrize("suffix", ["jpg", "tiff"])
@pytest.mark.parametrize("progressive", [False, True])
def test_cmyk_becomes_the_right_rgb(tmp_path: Path, suffix: str, progressive: bool) -> None:
    rgb = (deep_picture() >> 8).astype(np.uint8)
    extra = {"quality": 97, "progressive": progressive} if suffix == "jpg" else {}
    Image.fromarray(rgb).convert("CMYK").save(tmp_path / f"a.{suffix}", **extra)
    still = read_still(tmp_path / f"a.{suffix}")
    assert np.abs(still.frame.rgb.astype(int) - rgb).mean() < 3
    assert "CMYK becomes sRGB" in still.info.notes


def test_a_profile_in_several_segments_is_put_together(tmp_path: Path) -> None:
    # 70 kB: more than one APP2 segment holds
    padded = bytearray(ADOBE + bytes(70_000))
    padded[0:4] = struct.pack(">I", len(padded))
    rgb = (deep_picture() >> 8).astype(np.uint8)
    Image.fromarray(rgb).save(tmp_path / "a.jpg", icc_profile=bytes(padded), quality=97, subsampling=0)
    assert (tmp_path / "a.jpg").read_bytes().count(b"ICC_PROFILE\0") == 2
    seen = read_still(tmp_path / "a.jpg").frame.rgb.astype(int)
    assert np.abs(seen - through_littlecms(rgb, ADOBE)).mean() < 2


# Several pictures in one file


def test_the_first_picture_of_a_phones_mpo_is_used(tmp_path: Path) -> None:
    pictures = [Image.fromarray(np.full((32, 48, 3), value, np.uint8)) for value in (200, 20)]
    pictures[0].save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=pictures[1:])
    still = read_still(tmp_path / "a.jpg")
    assert np.abs(still.frame.rgb.astype(int) - 200).max() <= 2
    assert still.info.format_name == "JPEG"
    assert "only the first of 2 pictures" in still.info.notes[0]
    write_still(tmp_path / "out.jpg", still.frame, still)
    content = (tmp_path / "out.jpg").read_bytes()
    assert content.count(b"\xff\xd8\xff") == 1 and b"MPF\0" not in content


def test_a_gain_map_behind_a_jpeg_is_left_out_with_a_note(tmp_path: Path) -> None:
    xmp = b"""<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" hdrgm:Version="1.0"/>
</rdf:RDF></x:xmpmeta>"""
    base, gain = io.BytesIO(), io.BytesIO()
    Image.fromarray((deep_picture() >> 8).astype(np.uint8)).save(base, "JPEG", xmp=xmp)
    Image.new("L", (16, 12), 77).save(gain, "JPEG")
    (tmp_path / "a.jpg").write_bytes(base.getvalue() + gain.getvalue())
    still = read_still(tmp_path / "a.jpg")
    assert still.info.notes == ("its HDR gain map is left out",)
    write_still(tmp_path / "out.jpg", still.frame, still, StillOptions(keep_metadata=True), xmp)
    content = (tmp_path / "out.jpg").read_bytes()
    assert gain.getvalue() not in content and content.count(b"hdrgm:Version") <= 1


def test_pages_of_a_tiff_are_said_to_be_left_out(tmp_path: Path) -> None:
    pages = [Image.fromarray(np.full((32, 48, 3), value, np.uint8)) for value in (200, 20)]
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:])
    still = read_still(tmp_path / "a.tiff")
    assert int(still.frame.rgb[0, 0, 0]) == 200
    assert still.info.notes == ("only the first of 2 pages is used",)


# What outputs keep of their input's coding


def test_gray_stays_gray_where_the_format_holds_it(tmp_path: Path) -> None:
    gray = (deep_picture()[..., 0] >> 8).astype(np.uint8)
    Image.fromarray(gray).save(tmp_path / "in.png")
    still = read_still(tmp_path / "in.png")
    for name, mode in (("a.png", "L"), ("a.jpg", "L"), ("a.tiff", "L"), ("a.webp", "RGB"), ("a.avif", "RGB")):
        write_still(tmp_path / name, still.frame, still)
        with Image.open(tmp_path / name) as written:
            assert written.mode == mode
    tinted = still.frame.rgb.copy()
    tinted[..., 2] //= 2
    write_still(tmp_path / "tinted.png", tinted, still)
    with Image.open(tmp_path / "tinted.png") as written:
        assert written.mode == "RGB"


def test_a_jpeg_is_written_about_as_well_as_it_was(tmp_path: Path) -> None:
    rgb = np.random.default_rng(5).integers(0, 256, (64, 64, 3), np.uint8)
    for quality, written_quality in ((40, 90), (93, 93), (100, 97)):
        Image.fromarray(rgb).save(tmp_path / "in.jpg", quality=quality)
        still = read_still(tmp_path / "in.jpg")
        assert still.coding.quality in (quality, quality - 1)
        write_still(tmp_path / "out.jpg", still.frame, still)
        assert read_still(tmp_path / "out.jpg").coding.quality == written_quality
    write_still(tmp_path / "out.jpg", still.frame, still, StillOptions(quality=30))
    assert read_still(tmp_path / "out.jpg").coding.quality == 30


def test_what_is_painted_on_a_transparent_ground_is_seen(tmp_path: Path) -> None:
    source = Image.new("RGBA", (40, 30), (9, 9, 9, 0))
    source.save(tmp_path / "a.png")
    still = read_still(tmp_path / "a.png")
    still.frame.show(Box(10, 10, 20, 20))
    write_still(tmp_path / "b.png", still.frame, still)
    alpha = read_still(tmp_path / "b.png").alpha
    assert alpha is not None
    assert (alpha[10:20, 10:20] == 255).all() and np.count_nonzero(alpha) == 100
