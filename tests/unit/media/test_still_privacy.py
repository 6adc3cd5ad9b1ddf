"""What an input says beside its pixels never reaches an output, unless the caller asks to keep it."""

from __future__ import annotations

import io
import struct
import warnings
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import ExifTags, Image, PngImagePlugin, TiffImagePlugin

from secondface.media.animation_output import AnimationWords, AnimationWriter
from secondface.media.animations import AnimationReader
from secondface.media.deep_output import Descriptions, avif_deep, png16
from secondface.media.images import StillOptions, read_still, write_still
from secondface.media.marks import read_stored_marks
from secondface.media.png_chunks import chunk, with_chunks
from secondface.media.still_metadata import iptc_segment, merged_xmp
from secondface.media.tiff_output import tiff
from secondface.provenance.metadata import metadata_marks, read_marks

INPUTS = ("jpg", "png", "webp", "tiff", "avif", "heic", "gif", "deep.png", "deep.tiff", "deep.avif")
OUTPUTS = ("jpg", "png", "webp", "tiff", "avif", "gif")
SECRETS = (
    b"SecretCam", b"SN-1234567", b"MakersOwnNote", b"SecretComment", b"SecretPlace", b"SecretCaption", b"ThumbSecret",
    b"TailSecret",
)  # fmt: skip
MARKS = metadata_marks("job-1", "ACME")


def pixels(deep: bool = False) -> np.ndarray:
    x, y = np.meshgrid(np.linspace(0, 255, 48), np.linspace(0, 255, 32))
    rgb = np.stack([x, y, 255 - x], -1)
    return (rgb * 257).astype(np.uint16) if deep else rgb.astype(np.uint8)


def exif() -> bytes:
    tags = Image.Exif()
    tags.endian = "<"
    tags[ExifTags.Base.Orientation] = 1
    tags[ExifTags.Base.DateTime] = "2024:05:06 07:08:09"
    tags[ExifTags.Base.Make] = "SecretCam"
    tags[ExifTags.Base.ImageDescription] = "SecretComment in EXIF"
    inside = tags.get_ifd(ExifTags.IFD.Exif)
    inside[ExifTags.Base.BodySerialNumber] = "SN-1234567"
    inside[ExifTags.Base.MakerNote] = b"MakersOwnNote" * 5
    inside[ExifTags.Base.UserComment] = b"ASCII\0\0\0SecretComment of the user"
    place = tags.get_ifd(ExifTags.IFD.GPSInfo)
    place[ExifTags.GPS.GPSLatitudeRef] = "N"
    place[ExifTags.GPS.GPSLatitude] = (51.0, 28.0, 38.0)
    place[ExifTags.GPS.GPSAreaInformation] = b"SecretPlace"
    return tags.tobytes().removeprefix(b"Exif\0\0")


def xmp() -> bytes:
    return b"""<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:aux="http://ns.adobe.com/exif/1.0/aux/"
 xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:e="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" xmlns:a="http://www.tc260.org.cn/ns/AIGC/1.0/"
 aux:SerialNumber="SN-1234567" tiff:Orientation="6" a:AIGC="{}"
 e:DigitalSourceType="http://cv.iptc.org/newscodes/digitalsourcetype/digitalCapture">
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">SecretCaption</rdf:li></rdf:Alt></dc:description>
<xmp:Thumbnails><rdf:Alt><rdf:li>ThumbSecret</rdf:li></rdf:Alt></xmp:Thumbnails>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""


def iptc() -> bytes:
    return b"\x1c\x02\x78" + struct.pack(">H", 13) + b"SecretCaption"


def exif_with_thumbnail() -> bytes:
    """exif() with a second directory that points at a small JPEG."""
    content = bytearray(exif())
    thumbnail = b"\xff\xd8ThumbSecret\xff\xd9"
    at = len(content) + len(content) % 2
    content = content.ljust(at, b"\0")
    start = struct.unpack_from("<I", content, 4)[0]
    count = struct.unpack_from("<H", content, start)[0]
    struct.pack_into("<I", content, start + 2 + 12 * count, at)
    rows = ((0x0103, 3, 6), (0x0201, 4, at + 2 + 36 + 4), (0x0202, 4, len(thumbnail)))
    content += struct.pack("<H", 3) + b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in rows)
    return bytes(content + bytes(4) + thumbnail)


def make(path: Path) -> None:
    """A file of the kind of its name with all the secrets that this kind can hold."""
    buffer = io.BytesIO()
    picture = Image.fromarray(pixels())
    whole = b"Exif\0\0" + exif_with_thumbnail()
    match "".join(path.suffixes[-2:]):
        case ".jpg":
            picture.save(buffer, "JPEG", exif=whole, xmp=xmp(), comment=b"SecretComment", extra=iptc_segment(iptc()))
        case ".png":
            text = PngImagePlugin.PngInfo()
            text.add_text("Comment", "SecretComment")
            text.add_text("Author", "SecretCam owner" * 40, zip=True)
            text.add_itxt("Title", "SecretCaption", zip=True)
            text.add_itxt("XML:com.adobe.xmp", xmp().decode())
            picture.save(buffer, "PNG", exif=whole, pnginfo=text)
        case ".webp":
            picture.save(buffer, "WEBP", exif=whole, xmp=xmp())
        case ".tiff":
            tags = TiffImagePlugin.ImageFileDirectory_v2()
            tags[270], tags[271], tags[306] = "SecretComment", "SecretCam", "2024:05:06 07:08:09"
            tags[700] = xmp()
            tags[33723] = iptc()
            picture.save(buffer, "TIFF", tiffinfo=tags)
        case ".avif":
            picture.save(buffer, "AVIF", exif=whole, xmp=xmp())
        case ".heic":
            heif = pillow_heif.from_pillow(picture)
            heif.info["exif"], heif.info["xmp"] = whole, xmp()
            heif.save(buffer, quality=90)
        case ".gif":
            picture.save(buffer, "GIF", comment=b"SecretComment")
        case ".deep.png":
            about = Descriptions(exif_with_thumbnail(), xmp(), texts=(("Comment", "SecretComment"),))
            buffer.write(png16(pixels(deep=True), None, about))
        case ".deep.tiff":
            tags = {700: (1, xmp()), 33723: (7, iptc())}
            buffer.write(tiff(pixels(deep=True), None, tags, exif()))
        case _:
            about = Descriptions(exif_with_thumbnail(), xmp())
            buffer.write(avif_deep(pixels(deep=True), None, about, 10, 90))
    path.write_bytes(buffer.getvalue() + b"PK\x03\x04TailSecret")


def test_the_inputs_hold_the_secrets(tmp_path: Path) -> None:
    for kind in INPUTS:
        make(tmp_path / f"in.{kind}")
        content = (tmp_path / f"in.{kind}").read_bytes()
        assert sum(secret in content for secret in SECRETS) >= (2 if kind == "gif" else 5), kind


@pytest.mark.parametrize("ending", OUTPUTS)
@pytest.mark.parametrize("kind", INPUTS)
def test_nothing_of_the_input_reaches_an_output(tmp_path: Path, kind: str, ending: str) -> None:
    make(tmp_path / f"in.{kind}")
    still = read_still(tmp_path / f"in.{kind}")
    out = tmp_path / f"out.{ending}"
    write_still(out, still.frame, still, xmp=MARKS.xmp)
    content = out.read_bytes()
    assert [secret for secret in SECRETS if secret in content] == []
    assert b"PK\x03\x04" not in content
    if kind != "gif" and ending != "gif":
        # the time of capture is no secret
        assert b"2024:05:06 07:08:09" in content
        with Image.open(out) as written:
            assert not written.getexif().get_ifd(ExifTags.IFD.GPSInfo)
    stored = read_stored_marks(out)
    assert read_marks(stored.xmp, stored.tags).label == MARKS.label


@pytest.mark.parametrize("ending", OUTPUTS)
@pytest.mark.parametrize("kind", INPUTS)
def test_what_is_asked_for_is_kept(tmp_path: Path, kind: str, ending: str) -> None:
    make(tmp_path / f"in.{kind}")
    still = read_still(tmp_path / f"in.{kind}")
    out = tmp_path / f"out.{ending}"
    notes = write_still(out, still.frame, still, StillOptions(keep_metadata=True), xmp=MARKS.xmp)
    content = out.read_bytes()
    stored = read_stored_marks(out)
    marks = read_marks(stored.xmp, stored.tags)
    assert marks.label == MARKS.label and not marks.problems
    assert marks.digital_source_type is not None and marks.digital_source_type.endswith("AlgorithmicMedia")
    assert b"TailSecret" not in content and b"ThumbSecret" not in content
    if kind == "gif":
        assert (b"SecretComment" in content) == (ending in ("jpg", "png", "gif"))
        return
    assert stored.xmp is not None and b"SecretCaption" in stored.xmp and b"Orientation" not in stored.xmp
    if ending == "gif":
        assert any("EXIF" in note for note in notes)
        return
    with Image.open(out) as written:
        kept = written.getexif()
        assert kept.get(ExifTags.Base.Make) == "SecretCam"
        assert kept.get(ExifTags.Base.Orientation, 1) == 1
        if kind not in ("tiff",):
            assert kept.get_ifd(ExifTags.IFD.GPSInfo)[ExifTags.GPS.GPSLatitude] == (51.0, 28.0, 38.0)
            assert kept.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.BodySerialNumber] == "SN-1234567"
    np.testing.assert_array_equal(read_still(out).frame.rgb.shape, still.frame.rgb.shape)


def test_comments_and_iptc_are_kept_where_they_fit(tmp_path: Path) -> None:
    make(tmp_path / "in.jpg")
    still = read_still(tmp_path / "in.jpg")
    options = StillOptions(keep_metadata=True)
    assert write_still(tmp_path / "out.jpg", still.frame, still, options, MARKS.xmp) == ()
    with Image.open(tmp_path / "out.jpg") as written:
        assert written.info["comment"] == b"SecretComment"
        assert written.info["photoshop"][0x0404] == iptc()
    notes = write_still(tmp_path / "out.webp", still.frame, still, options, MARKS.xmp)
    assert notes == ("WEBP has no place for IPTC and comments: not kept",)


def test_metadata_too_long_for_a_jpeg_is_left_out_with_a_note(tmp_path: Path) -> None:
    long = xmp().replace(b"SecretCaption", b"SecretCaption" * 6000)
    tags = Image.Exif()
    tags[ExifTags.Base.ImageDescription] = "SecretComment" * 6000
    Image.fromarray(pixels()).save(tmp_path / "in.webp", xmp=long, exif=tags)
    still = read_still(tmp_path / "in.webp")
    notes = write_still(tmp_path / "out.jpg", still.frame, still, StillOptions(keep_metadata=True), MARKS.xmp)
    assert notes == ("its XMP is too long for a JPEG: not kept", "its EXIF is too long for a JPEG: not kept")
    stored = read_stored_marks(tmp_path / "out.jpg")
    assert read_marks(stored.xmp, stored.tags).label == MARKS.label


def test_a_text_of_another_name_never_stands_for_our_packet(tmp_path: Path) -> None:
    """Pillow has one place for the XMP of a PNG and for a text that is called like it."""
    source, goal = tmp_path / "in.png", tmp_path / "out.png"
    words = PngImagePlugin.PngInfo()
    words.add_itxt("XML:com.adobe.xmp", xmp().decode())
    words.add_text("xmp", "<not-the-packet/>")
    Image.fromarray(pixels()).save(source, pnginfo=words)
    assert b"SecretCaption" in (read_stored_marks(source).xmp or b"")
    still = read_still(source)
    write_still(goal, still.frame, still, StillOptions(keep_metadata=True), xmp=MARKS.xmp)
    assert read_marks(read_stored_marks(goal).xmp, {}).label == MARKS.label


@pytest.mark.parametrize("behind_pixels", [False, True])
def test_a_text_called_xmp_is_a_text(tmp_path: Path, behind_pixels: bool) -> None:
    source, goal = tmp_path / "in.png", tmp_path / "out.png"
    Image.fromarray(pixels()).save(source)
    content = source.read_bytes()
    at = content.index(b"IEND" if behind_pixels else b"IDAT") - 4
    source.write_bytes(content[:at] + chunk(b"tEXt", b"xmp\0SecretWords") + content[at:])
    still = read_still(source)
    assert np.array_equal(still.frame.rgb, pixels())
    write_still(goal, still.frame, still, StillOptions(keep_metadata=True), xmp=MARKS.xmp)
    assert read_marks(read_stored_marks(goal).xmp, {}).label == MARKS.label


@pytest.mark.parametrize("broken", [
    b"no xml", b"<a/>", xmp()[:400], b'<!DOCTYPE a [<!ENTITY b "c">]>' + xmp(), b"<a>" * 5000, xmp() + bytes(2_000_000),
])  # fmt: skip
def test_an_unusable_packet_is_replaced_by_ours(tmp_path: Path, broken: bytes) -> None:
    assert merged_xmp(MARKS.xmp, broken) is None or b"SecretCaption" in broken
    Image.fromarray(pixels()).save(tmp_path / "in.webp", xmp=broken)
    still = read_still(tmp_path / "in.webp")
    write_still(tmp_path / "out.png", still.frame, still, StillOptions(keep_metadata=True), MARKS.xmp)
    stored = read_stored_marks(tmp_path / "out.png")
    assert read_marks(stored.xmp, stored.tags).label == MARKS.label


@pytest.mark.parametrize("ending", ["gif", "webp", "png"])
@pytest.mark.parametrize("keep", [False, True])
def test_animations_say_nothing_of_their_input_either(tmp_path: Path, ending: str, keep: bool) -> None:
    frames = [Image.fromarray(np.roll(pixels(), step, 1)) for step in (0, 5)]
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", "SecretComment")
    text.add_itxt("XML:com.adobe.xmp", xmp().decode())
    source = tmp_path / "in.png"
    frames[0].save(source, save_all=True, append_images=frames[1:], duration=80, pnginfo=text, exif=exif())
    source.write_bytes(with_chunks(source.read_bytes(), chunk(b"tEXt", b"Author\0SecretCam")))
    reader = AnimationReader(source)
    kept = reader.kept
    words = AnimationWords(MARKS.xmp)
    if keep:
        words = AnimationWords(merged_xmp(MARKS.xmp, kept.xmp), kept.exif, kept.comment, kept.texts)
    out = tmp_path / f"out.{ending}"
    with AnimationWriter(out, (48, 32), 0, words=words) as writer:
        for frame, delay in zip(reader.frames(), reader.timing.delays, strict=True):
            writer.write(frame, delay)
        writer.close()
    found = [secret for secret in SECRETS if secret in out.read_bytes()]
    assert bool(found) == keep
    stored = read_stored_marks(out)
    assert stored.xmp is not None and read_marks(stored.xmp, {}).label == MARKS.label


@pytest.mark.parametrize("name", ["in.jpg", "in.png", "in.webp"])
def test_damaged_exif_is_not_remarked_upon(tmp_path: Path, name: str) -> None:
    # a maker's name that lies outside, and a directory that is cut
    entries = struct.pack("<H", 2) + struct.pack("<HHIIHHII", 0x10F, 2, 400, 26, 0x8769, 4, 1, 60)
    exif = b"II*\0\x08\0\0\0" + entries + bytes(14) + bytes(12) + struct.pack("<H", 50) + b"\xff" * 20
    header = b"Exif\0\0" if name.endswith("jpg") else b""
    Image.new("RGB", (40, 30), "red").save(tmp_path / name, exif=header + exif)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        still = read_still(tmp_path / name)
        write_still(tmp_path / "out.jpg", still.frame, still, StillOptions(keep_metadata=True))
    assert [str(each.message) for each in said] == []
