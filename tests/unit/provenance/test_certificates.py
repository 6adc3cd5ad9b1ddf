"""Keys and chains: what is made here, what is taken from an operator, and what is refused."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from secondface.errors import SigningUnavailable
from secondface.provenance.certificates import operators_key, own_key, own_roots, read_roots


def test_an_authority_is_made_once_and_its_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "signing"
    assert own_roots(folder) == b""
    first, again = own_key(folder), own_key(folder)
    assert first == again
    assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700  # whoever signs first makes the data folder
    assert sorted(each.name for each in folder.parent.iterdir()) == ["signing"]
    assert sorted(each.name for each in folder.iterdir()) == ["chain.pem", "key.pem", "root.pem"]
    assert own_roots(folder) in first.roots
    assert "PRIVATE" not in repr(first)
    leaf, root = x509.load_pem_x509_certificates(first.chain)
    leaf.verify_directly_issued_by(root)
    usage = leaf.extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert usage.value.digital_signature
    purposes = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.EMAIL_PROTECTION]


def test_of_many_that_start_at_once_all_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: own_key(tmp_path / "signing"), range(8)))
    assert len({key.key for key in keys}) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["signing"]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(SigningUnavailable, match="data"):
        own_key(tmp_path / "data" / "signing")


def test_a_key_that_was_damaged_is_not_replaced(tmp_path: Path) -> None:
    own_key(tmp_path / "signing")
    (tmp_path / "signing" / "key.pem").write_text("junk")
    with pytest.raises(SigningUnavailable, match="no private key"):
        own_key(tmp_path / "signing")
    assert (tmp_path / "signing" / "key.pem").read_text() == "junk"


def test_the_operators_own_chain_is_taken(tmp_path: Path) -> None:
    own_key(tmp_path / "signing")
    place = tmp_path / "signing"
    key = operators_key(place / "chain.pem", place / "key.pem")
    assert key == own_key(place)


class Issued:
    """A leaf that its own key issued, with something of it changed."""

    def __init__(
        self, *, name: str | None = "Example", ends_days: int = 10, is_authority: bool = False,
        purpose: x509.ObjectIdentifier = ExtendedKeyUsageOID.EMAIL_PROTECTION, critical: bool = True,
        curve: ec.EllipticCurve | None = None,
    ) -> None:  # fmt: skip
        self.key = ec.generate_private_key(curve or ec.SECP256R1())
        subject = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME if name else NameOID.ORGANIZATION_NAME, name or "x")]
        )
        begins, ends = (datetime.now(UTC) + timedelta(days=days) for days in (-20, ends_days))
        no = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign",
             "encipher_only", "decipher_only"), False
        )  # fmt: skip
        made = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(self.key.public_key())
            .serial_number(1).not_valid_before(begins).not_valid_after(ends)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=is_authority, **no), critical=critical)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        )  # fmt: skip
        self.leaf_pem = made.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM)
        self.key_pem = self.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


REFUSED = {
    "common name": Issued(name=None),
    "valid from": Issued(ends_days=-1),
    "authority": Issued(is_authority=True),
    "emailProtection": Issued(purpose=ExtendedKeyUsageOID.CODE_SIGNING),
    "critical": Issued(critical=False),
    "P-256": Issued(curve=ec.SECP384R1()),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_chain_that_c2pa_would_not_take_is_refused_with_its_reason(tmp_path: Path, reason: str) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(REFUSED[reason].leaf_pem)
    key.write_bytes(REFUSED[reason].key_pem)
    with pytest.raises(SigningUnavailable, match=reason):
        operators_key(chain, key)


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one, other = Issued(), Issued()
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(one.leaf_pem)
    key.write_bytes(one.key_pem)
    operators_key(chain, key)
    key.write_bytes(other.key_pem)
    with pytest.raises(SigningUnavailable, match="not that of the first"):
        operators_key(chain, key)
    chain.write_bytes(one.leaf_pem + other.leaf_pem)
    key.write_bytes(one.key_pem)
    with pytest.raises(SigningUnavailable, match="certificate 1 was not issued by certificate 2"):
        operators_key(chain, key)
    locked = one.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    foreign = rsa.generate_private_key(65_537, 2048)
    for content in (b"", locked, foreign.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())):
        chain.write_bytes(one.leaf_pem)
        key.write_bytes(content)
        with pytest.raises(SigningUnavailable, match=r"key\.pem"):
            operators_key(chain, key)
    with pytest.raises(SigningUnavailable, match=r"none\.pem"):
        operators_key(tmp_path / "none.pem", key)


def test_roots_are_certificates(tmp_path: Path) -> None:
    roots = tmp_path / "roots.pem"
    roots.write_bytes(Issued().leaf_pem)
    assert read_roots(roots) == roots.read_bytes()
    for content in (b"", b"junk"):
        roots.write_bytes(content)
        with pytest.raises(SigningUnavailable):
            read_roots(roots)
