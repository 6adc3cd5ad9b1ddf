"""The key that outputs are signed with, and the certificates that say whose it is.

Decides what a chain must be like before anything is signed with it, and makes an authority of this machine's own where
the operator has none. Must not know what is signed.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from secondface.errors import SigningUnavailable

_ROOT, _CHAIN, _KEY = "root.pem", "chain.pem", "key.pem"
_YEARS = 365 * timedelta(days=1)
_LEAF_LIFE, _ROOT_LIFE = 10 * _YEARS, 20 * _YEARS
"""Without a timestamp a signature is good for as long as its certificate, so this one outlives what it signs."""
_CLOCKS_DIFFER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key, its chain with the leaf first, and the last of it, in which those who verify here trust; PEM."""

    chain: bytes
    key: bytes = field(repr=False)
    roots: bytes
    owner: str
    """Whose it is: the common name of the leaf."""
    ends: datetime
    """When the leaf expires."""


def own_key(folder: Path) -> SigningKey:
    """The key of this machine's own authority in `folder`, made there when there is none. Raises SigningUnavailable.

    Of several processes that start at once one makes it, and all get the same.
    """
    try:
        if not folder.exists():
            _make(folder)
        return _checked((folder / _CHAIN).read_bytes(), (folder / _KEY).read_bytes(), place=str(folder))
    except OSError as error:
        raise SigningUnavailable(f"{error.filename or folder}: {error.strerror}") from error


def operators_key(chain_file: Path, key_file: Path) -> SigningKey:
    """The operator's own key, from two PEM files. Raises SigningUnavailable, which says what is wrong with them."""
    try:
        chain, key = chain_file.read_bytes(), key_file.read_bytes()
    except OSError as error:
        raise SigningUnavailable(f"{error.filename}: {error.strerror}") from error
    return _checked(chain, key, place=str(chain_file), key_place=str(key_file))


def read_roots(path: Path) -> bytes:
    """Certificates of authorities that are trusted, as PEM. Raises SigningUnavailable."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SigningUnavailable(f"{path}: {error.strerror}") from error
    return _pem(_certificates(text, str(path)))


def own_roots(folder: Path) -> bytes:
    """The root of this machine's own authority, as PEM; empty where there is none yet."""
    try:
        return (folder / _ROOT).read_bytes()
    except OSError:
        return b""


def _checked(chain: bytes, key: bytes, *, place: str, key_place: str = "") -> SigningKey:
    certificates, private = _certificates(chain, place), _private_key(key, key_place or place)
    leaf = certificates[0]
    reason = _unfit_reason(leaf) or _broken_reason(certificates)
    if reason is None and _spki(leaf.public_key()) != _spki(private.public_key()):
        reason = "the key is not that of the first certificate"
    if reason is not None:
        raise SigningUnavailable(f"{place}: {reason}")
    return SigningKey(
        chain=_pem(certificates),
        key=private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        roots=_pem(certificates[-1:]),
        owner=str(leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value),
        ends=leaf.not_valid_after_utc,
    )


def _certificates(text: bytes, place: str) -> Sequence[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(text)
    except ValueError as error:
        raise SigningUnavailable(f"{place}: no certificates in PEM") from error


def _private_key(text: bytes, place: str) -> ec.EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(text, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SigningUnavailable(f"{place}: no private key in PEM without a password") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise SigningUnavailable(f"{place}: the key is not one of the curve P-256 (ES256)")
    return key


def _unfit_reason(leaf: x509.Certificate) -> str | None:
    """Why C2PA would not take the leaf."""
    begins, ends = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if not begins <= datetime.now(UTC) <= ends:
        return f"the certificate is valid from {begins:%Y-%m-%d} to {ends:%Y-%m-%d}"
    if not leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        return "the certificate has no common name"
    return _misuse_reason(leaf.extensions)


def _misuse_reason(found: x509.Extensions) -> str | None:
    with suppress(x509.ExtensionNotFound):
        if found.get_extension_for_class(x509.BasicConstraints).value.ca:
            return "the first certificate is an authority's, not a signer's"
    try:
        usage = found.get_extension_for_class(x509.KeyUsage)
        purposes = found.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return "the certificate has no keyUsage or no extendedKeyUsage"
    if not usage.critical or not usage.value.digital_signature:
        return "the certificate's keyUsage is not digitalSignature, critical"
    if ExtendedKeyUsageOID.EMAIL_PROTECTION not in purposes:
        return "the certificate's extendedKeyUsage lacks emailProtection"
    return None


def _broken_reason(chain: Sequence[x509.Certificate]) -> str | None:
    for number, (lower, upper) in enumerate(pairwise(chain), 1):
        try:
            lower.verify_directly_issued_by(upper)
        except (ValueError, TypeError, InvalidSignature):
            return f"certificate {number} was not issued by certificate {number + 1}; the leaf comes first"
    return None


def _spki(key: object) -> bytes | None:
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return None
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _pem(certificates: Sequence[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def _make(folder: Path) -> None:
    """A new authority, whole or not at all. Its own key is forgotten, so that nobody can issue more by it."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # the data folder, where no service made it before
    fresh = folder.with_name(f"{folder.name}.{secrets.token_hex(8)}.new")
    fresh.mkdir(mode=0o700)
    try:
        leaf_key, leaf, root = _issued(secrets.token_hex(4))
        secret = leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        _write(fresh / _KEY, secret, 0o600)
        _write(fresh / _CHAIN, _pem([leaf, root]), 0o644)
        _write(fresh / _ROOT, _pem([root]), 0o644)
        try:
            fresh.rename(folder)  # a folder with something in it is not replaced: the first one stays
        except OSError:
            if not (folder / _KEY).exists():
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _issued(mark: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate, x509.Certificate]:
    """A leaf with its key, and the root that issued it; `mark` tells authorities of several machines apart."""
    begins = datetime.now(UTC) - _CLOCKS_DIFFER
    root_key, leaf_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name, leaf_name = _name(f"secondface root {mark}"), _name(f"secondface {mark}")
    root_id = x509.SubjectKeyIdentifier.from_public_key(root_key.public_key())
    root = (
        _certificate(root_name, root_name, root_key.public_key(), begins, _ROOT_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(issues=True), critical=True)
        .add_extension(root_id, critical=False)
        .sign(root_key, hashes.SHA256())
    )
    leaf = (
        _certificate(leaf_name, root_name, leaf_key.public_key(), begins, _LEAF_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(issues=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(leaf_key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(root_id), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    return leaf_key, leaf, root


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, begins: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
        .serial_number(x509.random_serial_number()).not_valid_before(begins).not_valid_after(begins + life)
    )  # fmt: skip


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "secondface, self-hosted"),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _usage(*, issues: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not issues, key_cert_sign=issues, crl_sign=issues, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
