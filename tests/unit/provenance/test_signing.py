"""Signing and reading again with the library's own reader; a timestamp server that answers, fails, or says nothing."""

from __future__ import annotations

import io
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from c2pa import Builder, C2paSignerInfo, C2paSigningAlg, Reader, Signer
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from PIL import Image

from secondface.errors import MarkMissing
from secondface.provenance.aigc import AigcLabel
from secondface.provenance.certificates import SigningKey, own_key
from secondface.provenance.credentials import context_of, read_credentials
from secondface.provenance.signing import NOTE_WITHOUT_TIMESTAMP, ContentSigner, Ingredient, Statement
from secondface.provenance.timestamps import TimestampRelay
from secondface.provenance.xmp import DIGITAL_SOURCE_TYPE

OLD = AigcLabel(content_producer="somebody-else", produce_id="old")
SAID = Statement(
    "run-1", "2026-11-30T04:00:00Z", ("face_swap",),
    (Ingredient("target", "image/jpeg", OLD), Ingredient("source", "image/png")), job="job_1",
)  # fmt: skip


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> SigningKey:
    return own_key(tmp_path_factory.mktemp("data") / "signing")


def still(kind: str = "JPEG") -> io.BytesIO:
    made = io.BytesIO()
    Image.effect_noise((64, 48), 40).convert("RGB").save(made, kind)
    return made


def signed(signer: ContentSigner, said: Statement = SAID) -> tuple[io.BytesIO, tuple[str, ...]]:
    made = io.BytesIO()
    notes = signer.sign("image/jpeg", still(), made, said)
    return made, notes


def read(made: io.BytesIO, key: SigningKey) -> dict[str, Any]:
    made.seek(0)
    with Reader("image/jpeg", made, context=context_of(key.roots)) as reader:
        assert reader.get_validation_state() == "Trusted"
        words = json.loads(reader.json())
        return words["manifests"][words["active_manifest"]]


def test_what_is_signed_says_what_was_done_and_shows_nobody(key: SigningKey) -> None:
    made, notes = signed(ContentSigner(key))
    manifest = read(made, key)
    assert notes == ()
    (actions,) = [each["data"]["actions"] for each in manifest["assertions"] if "actions" in each["label"]]
    assert [each["action"] for each in actions] == ["c2pa.opened", "c2pa.placed", "c2pa.edited"]
    assert actions[-1]["digitalSourceType"].endswith("compositeWithTrainedAlgorithmicMedia")
    assert manifest["claim_generator_info"][0]["name"] == "secondface"
    assert [(each["title"], each["relationship"]) for each in manifest["ingredients"]] == [
        ("target", "parentOf"),
        ("source", "componentOf"),
    ]
    assert "thumbnail" not in json.dumps(manifest)
    assert manifest["signature_info"]["alg"] == "Es256"


def test_the_label_that_an_input_came_with_is_kept_as_the_ingredients(key: SigningKey) -> None:
    target, source = read(signed(ContentSigner(key))[0], key)["ingredients"]
    assert target["metadata"]["TC260:AIGC"]["ContentProducer"] == "somebody-else"
    assert "metadata" not in source


def test_a_run_without_a_source_placed_nothing(key: SigningKey) -> None:
    made, _ = signed(ContentSigner(key), replace(SAID, inputs=SAID.inputs[:1]))
    made.seek(0)
    found = read_credentials(made, "image/jpeg", context_of(key.roots))
    assert found is not None
    assert (found.actions, found.ingredients) == (("c2pa.opened", "c2pa.edited"), ("target",))


def test_what_is_read_back_must_be_this_statement_signed_by_this_key(key: SigningKey, tmp_path: Path) -> None:
    signer = ContentSigner(key)
    made, _ = signed(signer)
    signer.require_signed("image/jpeg", made, SAID)
    with pytest.raises(MarkMissing, match="something else"):
        signer.require_signed("image/jpeg", made, replace(SAID, produce_id="run-2"))
    with pytest.raises(MarkMissing, match="something else"):
        ContentSigner(own_key(tmp_path / "other")).require_signed("image/jpeg", made, SAID)
    with pytest.raises(MarkMissing, match="missing"):
        signer.require_signed("image/jpeg", still(), SAID)
    content = bytearray(made.getvalue())
    content[-20] ^= 1
    with pytest.raises(MarkMissing, match="dataHash"):
        signer.require_signed("image/jpeg", io.BytesIO(content), SAID)


def test_what_cannot_be_signed_is_not_handed_out(key: SigningKey) -> None:
    with pytest.raises(MarkMissing):
        ContentSigner(key).sign("video/webm", still(), io.BytesIO(), SAID)


def test_threads_share_a_signer(key: SigningKey) -> None:
    signer = ContentSigner(key)
    with ThreadPoolExecutor(4) as pool:
        for made, _ in pool.map(lambda _: signed(signer), range(12)):
            signer.require_signed("image/jpeg", made, SAID)


# ---- timestamps ------------------------------------------------------------------------------------------------------


@contextmanager
def server(answer: Callable[[bytes], tuple[int, bytes]]) -> Generator[tuple[str, list[bytes]]]:
    """A timestamp server on this machine; what it was asked."""
    asked: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])))
            status, content = answer(asked[-1])
            self.send_response(status)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Nobody reads it."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}/tsa", asked
    finally:
        listener.shutdown()
        listener.server_close()


@pytest.mark.parametrize("status", [200, 404, 500])
def test_a_timestamp_server_that_fails_leaves_a_signature_without_a_timestamp(key: SigningKey, status: int) -> None:
    with server(lambda _: (status, b"junk")) as (address, asked):
        signer = ContentSigner(key, address)
        made, notes = signed(signer)
    assert asked
    assert notes == (NOTE_WITHOUT_TIMESTAMP,)
    signer.require_signed("image/jpeg", made, SAID)


def test_a_timestamp_server_that_is_not_there_or_says_nothing_holds_nobody_up(key: SigningKey) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        relay = TimestampRelay(f"http://127.0.0.1:{silent.getsockname()[1]}/", wait_s=0.3)
        relay.start()
        signer = ContentSigner(key, relay.address)
        began_s = time.monotonic()
        made, notes = signed(signer)
        assert time.monotonic() - began_s < 20
        relay.close()
    assert notes == (NOTE_WITHOUT_TIMESTAMP,)
    signer.require_signed("image/jpeg", made, SAID)
    assert signed(ContentSigner(key, "http://127.0.0.1:1/"))[1] == (NOTE_WITHOUT_TIMESTAMP,)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here: apt-get install openssl")
def test_a_timestamp_is_in_the_signature(key: SigningKey, tmp_path: Path) -> None:
    with server(Authority(tmp_path).answer) as (address, asked):
        signer = ContentSigner(key, address)
        made, notes = signed(signer)
    assert asked
    assert notes == ()
    signer.require_signed("image/jpeg", made, SAID)
    made.seek(0)
    found = read_credentials(made, "image/jpeg", context_of(key.roots))
    assert found is not None
    assert found.signed_at.startswith("20")


class Authority:
    """A timestamp authority: openssl answers with a certificate of a root of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        root = certificate("root", "root", root_key.public_key(), root_key, is_authority=True)
        leaf = certificate("stamps", "root", key.public_key(), root_key, is_authority=False)
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        for name, content in (("root.pem", root), ("leaf.pem", leaf), ("key.pem", secret), ("serial", b"01")):
            (folder / name).write_bytes(content)
        (folder / "tsa.cnf").write_text(
            "[tsa]\ndefault_tsa=t\n[t]\nserial=serial\nsigner_digest=sha256\ndefault_policy=1.2.3.4\n"
            "digests=sha256,sha384,sha512\nordering=no\ntsa_name=no\ness_cert_id_alg=sha256\n"
        )

    def answer(self, query: bytes) -> tuple[int, bytes]:
        (self._folder / "query").write_bytes(query)
        subprocess.run(
            ["openssl", "ts", "-reply", "-queryfile", "query", "-signer", "leaf.pem", "-inkey", "key.pem", "-chain",
             "root.pem", "-out", "reply", "-config", "tsa.cnf"], cwd=self._folder, check=True, capture_output=True,
        )  # fmt: skip
        return 200, (self._folder / "reply").read_bytes()


def certificate(
    name: str, issuer: str, key: ec.EllipticCurvePublicKey, by: ec.EllipticCurvePrivateKey, *, is_authority: bool
) -> bytes:  # fmt: skip
    subject, issuing = (
        x509.Name(
            [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Test"), x509.NameAttribute(NameOID.COMMON_NAME, each)]
        )
        for each in (name, issuer)
    )
    no = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
         "decipher_only"), False
    )  # fmt: skip
    usage = x509.KeyUsage(digital_signature=not is_authority, key_cert_sign=is_authority, crl_sign=is_authority, **no)
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuing).public_key(key)
        .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2)).add_extension(usage, critical=True)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
    )  # fmt: skip
    if not is_authority:
        made = made.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING]), critical=True)
    return made.sign(by, hashes.SHA256()).public_bytes(Encoding.PEM)


# ---- hostile files ---------------------------------------------------------------------------------------------------


def test_credentials_at_an_address_are_never_fetched(key: SigningKey) -> None:
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.2)
        place = f"http://127.0.0.1:{trap.getsockname()[1]}/manifest"
        created = {"action": "c2pa.created", "digitalSourceType": DIGITAL_SOURCE_TYPE}
        builder = Builder(
            {
                "format": "image/jpeg",
                "claim_generator_info": [{"name": "x", "version": "1"}],
                "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": [created]}}],
            },
            context=context_of(key.roots),
        )
        builder.set_no_embed()
        builder.set_remote_url(place)
        info = C2paSignerInfo(C2paSigningAlg.ES256, key.chain, key.key, None)
        made = io.BytesIO()
        builder.sign(Signer.from_info(info), "image/jpeg", still(), made)
        assert place.encode() in made.getvalue()
        made.seek(0)
        with pytest.raises(ValueError, match="never asked"):
            read_credentials(made, "image/jpeg", context_of(key.roots))
        with pytest.raises(TimeoutError):
            trap.accept()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "TIFF", "WEBP"])
def test_a_file_without_credentials_has_none(key: SigningKey, kind: str) -> None:
    made = still(kind)
    made.seek(0)
    assert read_credentials(made, f"image/{kind.lower()}", context_of(key.roots)) is None
