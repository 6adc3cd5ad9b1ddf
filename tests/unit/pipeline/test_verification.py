"""The verifier on files of every format: whole, flipped, cut, encoded again, stripped, and signed by others."""

from __future__ import annotations

import io
import socket
from pathlib import Path

import av
import pytest
from c2pa import Builder, C2paSignerInfo, C2paSigningAlg, Signer
from PIL import Image, PngImagePlugin

from secondface.errors import FileUnreadable, MediaEmpty, MediaUnsupported, SecondfaceError
from secondface.media.images import write_still
from secondface.media.signatures import sniff
from secondface.pipeline import verification
from secondface.pipeline.sealing import statement_of
from secondface.pipeline.verification import verify_file
from secondface.provenance.certificates import SigningKey
from secondface.provenance.credentials import FORMATS, context_of
from secondface.provenance.signing import ContentSigner
from secondface.provenance.verdicts import TRACES, Verification
from secondface.provenance.xmp import DIGITAL_SOURCE_TYPE
from secondface.spec.schemas import RunRequest
from tests.sample_media import MEDIA, needs_media
from tests.signed_files import ANIMATIONS, PRODUCE_ID, SIGNED, STILLS, VIDEOS, key_in, marked, picture, plain_clip

CREDENTIALS_BYTES = 4_800
"""They are some less, with all their padding."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture(scope="module")
def roots(folder: Path) -> bytes:
    return key_in(folder).roots


@pytest.fixture(scope="module")
def outputs(folder: Path) -> dict[str, Path]:
    signer = ContentSigner(key_in(folder))
    names = (*STILLS, *ANIMATIONS, *VIDEOS)
    return {name: marked(folder / (name if "." in name else f"out.{name}"), signer) for name in names}


def changed(path: Path, content: bytes) -> Path:
    made = path.with_name(f"changed-{path.name}")
    made.write_bytes(content)
    return made


@pytest.mark.parametrize("name", SIGNED)
def test_every_layer_is_intact_and_the_signer_is_trusted_with_our_root(
    outputs: dict[str, Path], roots: bytes, name: str
) -> None:
    found = verify_file(outputs[name], roots)
    assert found.layers == {"watermark": "absent", "metadata": "intact", "signature": "intact"}, found
    assert (found.signed, found.ai_made, found.is_sound, found.problems) == ("trusted", True, True, ())
    assert (found.produce_id, found.job) == (PRODUCE_ID, "job_1")
    assert found.label is not None
    assert found.label.content_producer == "Example-Studio"
    assert found.credentials is not None
    assert found.credentials.actions == ("c2pa.opened", "c2pa.placed", "c2pa.edited")
    assert found.credentials.ingredients == ("target", "source")


@pytest.mark.parametrize("name", SIGNED)
def test_without_our_root_the_signature_is_valid_but_of_an_unknown_signer(
    outputs: dict[str, Path], tmp_path: Path, name: str
) -> None:
    for others in (b"", key_in(tmp_path).roots):
        found = verify_file(outputs[name], others)
        assert found.layers == {"watermark": "absent", "metadata": "intact", "signature": "intact"}
        assert (found.signed, found.is_sound, found.job) == ("unknown", True, None)


@pytest.mark.parametrize("name", ["mkv", "webm"])
def test_a_container_that_holds_no_signature_has_its_label(outputs: dict[str, Path], roots: bytes, name: str) -> None:
    found = verify_file(outputs[name], roots)
    assert found.layers == {"watermark": "absent", "metadata": "present", "signature": "impossible"}
    assert (found.signed, found.is_sound, found.produce_id, found.job) == (None, True, PRODUCE_ID, None)


def places_of_content(whole: bytes) -> list[int]:
    """Some from all over the file. Within the credentials are bytes of padding that C2PA does not cover."""
    begin = whole.index(TRACES[0])
    outside = [*range(64, begin - 64), *range(begin + CREDENTIALS_BYTES, len(whole))]
    return [outside[len(outside) * part // 4] for part in (1, 2, 3)] + [outside[-2]]


@pytest.mark.parametrize("name", SIGNED)
def test_a_flipped_bit_is_found(outputs: dict[str, Path], roots: bytes, name: str) -> None:
    whole = outputs[name].read_bytes()
    for place in places_of_content(whole):
        content = bytearray(whole)
        content[place] ^= 1
        found = verify_file(changed(outputs[name], bytes(content)), roots)
        assert found.layers["signature"] == "altered", (place, found)
        assert (found.signed, found.is_sound, found.job) == ("invalid", False, None)


@pytest.mark.parametrize("name", SIGNED)
def test_a_changed_statement_is_found(outputs: dict[str, Path], roots: bytes, name: str) -> None:
    content = outputs[name].read_bytes()
    assert b"job_1" in content
    found = verify_file(changed(outputs[name], content.replace(b"job_1", b"job_2")), roots)
    assert (found.layers["signature"], found.signed, found.job) == ("altered", "invalid", None)


@pytest.mark.parametrize("name", SIGNED)
def test_a_cut_file_is_found(outputs: dict[str, Path], roots: bytes, name: str) -> None:
    whole = outputs[name].read_bytes()
    for share in (0.7, 0.95):
        found = verify_file(changed(outputs[name], whole[: int(share * len(whole))]), roots)
        assert not found.is_sound
        assert found.signed != "trusted"
        # a file of which the end is gone may have lost its signature with it
        assert found.layers["signature"] in ("altered", "absent")
        assert found.layers["signature"] == "altered" or b"c2pa" not in whole[: int(share * len(whole))]


@pytest.mark.parametrize("name", SIGNED)
def test_something_added_behind_the_end_is_found(outputs: dict[str, Path], roots: bytes, name: str) -> None:
    found = verify_file(changed(outputs[name], outputs[name].read_bytes() + b"PK\x03\x04" * 20), roots)
    assert (found.layers["signature"], found.signed) == ("altered", "invalid")


@pytest.mark.parametrize("name", STILLS)
def test_a_still_that_was_encoded_again_has_lost_its_marks(
    outputs: dict[str, Path], roots: bytes, tmp_path: Path, name: str
) -> None:
    again = tmp_path / f"again.{name}"
    with Image.open(outputs[name]) as still:
        bare = Image.new("RGB", still.size)
        bare.paste(still.convert("RGB"))
    bare.save(again, quality=80)
    bare_of_marks(verify_file(again, roots))


@pytest.mark.parametrize("name", ["mp4", "mov"])
def test_a_video_that_was_encoded_again_has_lost_its_marks(
    outputs: dict[str, Path], roots: bytes, tmp_path: Path, name: str
) -> None:
    again = tmp_path / f"again.{name}"
    with av.open(str(outputs[name])) as given, av.open(str(again), "w") as made:
        stream = made.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        for frame in given.decode(video=0):
            made.mux(stream.encode(frame.reformat(format="yuv420p")))
        made.mux(stream.encode())
    bare_of_marks(verify_file(again, roots))


def bare_of_marks(found: Verification) -> None:
    assert found.layers == {"watermark": "absent", "metadata": "absent", "signature": "absent"}
    assert (found.ai_made, found.signed, found.produce_id, found.is_sound) == (False, None, None, False)


def test_a_stripped_signature_leaves_a_label_that_nothing_proves(
    outputs: dict[str, Path], roots: bytes, tmp_path: Path
) -> None:
    stripped = tmp_path / "stripped.png"
    with Image.open(outputs["png"]) as still:
        packet = still.info["XML:com.adobe.xmp"]
    words = PngImagePlugin.PngInfo()
    words.add_itxt("XML:com.adobe.xmp", packet)
    with Image.open(outputs["png"]) as still:
        still.save(stripped, pnginfo=words)
    found = verify_file(stripped, roots)
    assert found.layers == {"watermark": "absent", "metadata": "present", "signature": "absent"}
    assert (found.ai_made, found.signed, found.produce_id, found.job) == (True, None, PRODUCE_ID, None)


def test_a_label_under_another_picture_is_no_proof(outputs: dict[str, Path], roots: bytes, tmp_path: Path) -> None:
    forged = io.BytesIO()
    Image.new("RGB", (96, 64), "red").save(forged, "JPEG")
    signed = outputs["jpg"].read_bytes()
    head = signed[: signed.rindex(b"\xff\xdb")] if signed.count(b"\xff\xdb") else b""
    start = forged.getvalue().index(b"\xff\xdb")
    transplant = tmp_path / "transplant.jpg"
    transplant.write_bytes(head[: signed.index(b"\xff\xdb")] + forged.getvalue()[start:])
    found = verify_file(transplant, roots)
    assert (found.layers, found.signed) == (
        {"watermark": "absent", "metadata": "present", "signature": "altered"},
        "invalid",
    )


def test_what_cannot_be_looked_at_is_refused(tmp_path: Path, roots: bytes) -> None:
    empty, text = tmp_path / "empty.png", tmp_path / "text.png"
    empty.touch()
    text.write_text("nothing of ours\n" * 20)
    for path, error in ((empty, MediaEmpty), (text, MediaUnsupported), (tmp_path / "none.png", FileUnreadable)):
        with pytest.raises(error):
            verify_file(path, roots)


def test_an_ordinary_clip_has_no_marks(tmp_path: Path, roots: bytes) -> None:
    bare_of_marks(verify_file(plain_clip(tmp_path / "clip.mp4"), roots))


# ---- hostile files ---------------------------------------------------------------------------------------------------


def pointing_at(address: str, media_type: str, content: bytes, key: SigningKey) -> bytes:
    """A file whose credentials are to be fetched from an address."""
    created = {"action": "c2pa.created", "digitalSourceType": DIGITAL_SOURCE_TYPE}
    builder = Builder(
        {
            "format": media_type,
            "claim_generator_info": [{"name": "x", "version": "1"}],
            "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": [created]}}],
        },
        context=context_of(key.roots),
    )
    builder.set_no_embed()
    builder.set_remote_url(address)
    made = io.BytesIO()
    signer = Signer.from_info(C2paSignerInfo(C2paSigningAlg.ES256, key.chain, key.key, None))
    builder.sign(signer, media_type, io.BytesIO(content), made)
    assert address.encode() in made.getvalue()
    return made.getvalue()


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "avif", "gif", "tiff", "mp4"])
def test_nothing_leaves_the_process_for_a_file_that_points_at_an_address(
    tmp_path: Path, folder: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read in the cage, read without one, and taken as the target of an output that is then signed."""
    key = key_in(folder)
    path = tmp_path / f"hostile.{suffix}"
    if suffix == "mp4":
        plain_clip(path)
    else:
        write_still(path, picture())
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.3)
        address = f"http://127.0.0.1:{trap.getsockname()[1]}/manifest"
        path.write_bytes(pointing_at(address, FORMATS[sniff(path).format_name], path.read_bytes(), key))
        found = verify_file(path, key.roots)
        assert (found.layers["signature"], found.signed) == ("absent", None)
        assert any("never asked" in problem for problem in found.problems)
        monkeypatch.setattr(verification, "can_cage", lambda: False)
        assert verify_file(path, key.roots) == found
        request = RunRequest.of_files([], path, tmp_path / "out.jpg", pipeline="upscale:scale=2")
        said = statement_of(request, request.plan(), "run-1")
        marked(tmp_path / f"out.{suffix}", ContentSigner(key), said)
        with pytest.raises(TimeoutError):
            trap.accept()
    assert verify_file(tmp_path / f"out.{suffix}", key.roots).signed == "trusted"


@needs_media
@pytest.mark.parametrize("place", ["formats", "broken"])
def test_any_file_gets_a_verdict_or_a_refusal(place: str, roots: bytes) -> None:
    files = sorted(path for path in (MEDIA / place).iterdir() if path.is_file())
    assert files
    for path in files:
        try:
            found = verify_file(path, roots)
        except SecondfaceError as error:
            assert error.fault == "caller", path.name
        else:
            assert not found.is_sound, path.name
